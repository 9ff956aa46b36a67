"""BERT Goes to College 2020: its figures and the tables that each figure reads."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from bertshift.errors import UserError
from bertshift.papers.figure import Figure
from bertshift.papers.tables import per_model, plain_names


def _name_chains(wanted: Mapping) -> dict[str, str]:
    """Name each model after fine-tuning on the task of each other, with each kind of head: {chain:
    the model alone}."""
    models = plain_names(wanted)
    chains = {}
    for head in wanted.get("heads", ["fresh"]):
        for final, first in product(models, repeat=2):
            if first != final:
                chain = replace(final, tasks=first.tasks + final.tasks)
                chains[str(chain.plus("carry") if head == "carry" else chain)] = str(final)
    if not chains:
        raise UserError("an intermediate task is one of several; list at least two models.")
    return chains


def _name_losses(wanted: Mapping) -> list[str]:
    models = [*wanted["models"], *_name_chains(wanted)]
    return [f"results/losses/{model}.tsv" for model in models]


def _name_gains(wanted: Mapping) -> list[str]:
    """Name the tables of scores of each model alone, and of each chain's gain over it."""
    chains = _name_chains(wanted)
    gains = [f"results/gains/{chain}_vs_{model}.tsv" for chain, model in chains.items()]
    return per_model("results/scores/{model}.tsv")(wanted) + gains


def _describe_heads(key: str, task: str) -> Figure:
    """Describe the figure of the differences of single heads."""
    return Figure(
        f"One head re-initialised ({task} in the report)",
        per_model("results/reinit_heads/{model}.tsv"),
        "Score with one head re-initialised before fine-tuning, minus the plain model's. Green is"
        " better. Our plain score is the mean of the baselines: the plain model with other seeds,"
        " of the same pretraining run and on the same samples. One star: the chance that one more"
        " such seed differs as much is at most .05 (t test, n − 1 degrees of freedom). Two stars:"
        " the same at a false discovery rate of .05 among the heads shown. With several"
        " pretraining runs, a star needs all of them.",
        "reinitialised_heads",
        {"key": key},
    )


def _describe_summary(key: str, task: str, differences: str, unit: str) -> Figure:
    """Describe the figure that summarises the figure of `differences`, by `layer` or by `head`."""
    shown = differences.replace("figure", "Figure ")
    return Figure(
        f"One head re-initialised, by {unit} ({task} in the report)",
        per_model("results/reinit_heads/{model}.tsv"),
        f"The differences of {shown}, summarised by {unit}. Each replicate is summarised, and"
        " several give the mean of their summaries: the least and the largest lie farther out"
        f" than in {shown}, whose cells are means over replicates. Standard deviations divide by"
        " n − 1, quartiles are linear, of four numbers or more. Green is better than the plain"
        " model.",
        "reinitialised_heads.draw_summaries",
        {"key": key, "differences": differences, "unit": unit},
    )


_REINITIALISED = (
    "Layers from k up are drawn anew before fine-tuning. Dotted: the majority class. Dashed: no"
    " layer re-initialised."
)

NAME = "BERT Goes to College 2020"
FIGURES = {
    "figure1": Figure(
        "Training loss after an intermediate task",
        _name_losses,
        "Training loss of the last stage on each of four tasks, directly and after each of the"
        " others as an intermediate task: the moving average (decay 0.98) of the loss of every"
        " step. Behind the end of each curve stands the interval of its last step. Each panel has"
        " its own axis, which does not begin at 0. Every stage begins a new optimiser and"
        " schedule. The paper draws curves without numbers.",
        "losses.figure1",
    ),
    "figure2": Figure(
        "Scores after an intermediate task",
        _name_gains,
        "Development scores of four tasks, fine-tuned directly (boxed) and after each of the"
        " others as an intermediate task. Each cell has the mean over replicates and Δ, its"
        " difference to direct fine-tuning. Blue is a gain, orange a loss, and both are full at"
        " 0.1. * the examples tell the two models apart in every replicate (exact McNemar test of"
        " accuracy, paired bootstrap of other scores). † the replicates tell them apart (paired t"
        " test). Each is at a false discovery rate of 5% over all chains of a panel. All runs"
        " count, also those that score no more than the majority class. Best of 2: what the better"
        " of two runs scores on average; the paper prints the better of two runs. Grey: the paper,"
        " with the binomial standard error of its accuracies.",
    ),
    "figure3": Figure(
        "Scores with the upper layers re-initialised",
        per_model("results/sweeps/{model}.reinit.tsv"),
        "Scores of fine-tuned models whose upper layers were re-initialised, by task; the last"
        " place is the plain model. Dots are replicates; bands, or bars where a panel has several"
        " lines, are intervals. " + _REINITIALISED,
        "reinitialised_layers.figure3",
    ),
    "table_mrpc": Figure(
        "MRPC with the upper layers re-initialised",
        per_model("results/sweeps/{model}.reinit.tsv"),
        "MRPC by the first re-initialised layer k: accuracy, F1, the mean of both and the training"
        " loss of the last epoch. The last row is the majority class.",
        "reinitialised_layers.table_mrpc",
    ),
    "schemes": Figure(
        "Ways to re-initialise layers",
        per_model(
            *(f"results/sweeps/{{model}}.{kind}.tsv" for kind in ("reinit", "reinitb", "reinitd"))
        ),
        "A control of ours: three ways to read how the report drew its weights anew. A: BERT's own"
        " truncated normal, as the report's section 4.4 says. B: the call that its section 5.3.2"
        " prints, as scipy reads its bounds. D: code of the same group, which writes weights of"
        " almost 0. Dots are replicates, bars are intervals. " + _REINITIALISED,
        "reinitialised_layers.schemes",
    ),
    "figure4": Figure(
        "Training loss with layers re-initialised",
        per_model("results/sweeps/{model}.reinit.losses.tsv"),
        "Training loss of models whose layers from k up were re-initialised. Thick: its moving"
        " average (decay 0.98). Faint: the loss itself. Black, dashed: no layer re-initialised."
        " The paper's curves carry no numbers.",
        "losses.figure4",
    ),
    "figure5": _describe_heads("figure5", "CoLA"),
    "figure6": _describe_heads("figure6", "STS-B"),
    "figure7": _describe_summary("figure7", "CoLA", differences="figure5", unit="layer"),
    "figure8": _describe_summary("figure8", "STS-B", differences="figure6", unit="layer"),
    "figure9": _describe_summary("figure9", "CoLA", differences="figure5", unit="head"),
    "figure10": _describe_summary("figure10", "STS-B", differences="figure6", unit="head"),
}
