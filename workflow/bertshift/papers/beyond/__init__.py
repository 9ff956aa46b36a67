"""Questions of the papers, put to other models than BERT: figures of ours, and the tables that they read."""

from bertshift.papers.room import Figure
from bertshift.papers.tables import grounded, with_own_base

_CHANGE = with_own_base("js", "rsa", "svcca")


def _shows(which: str, more: str = "") -> str:
    return (
        f"What fine-tuning changes in {which}: each model is compared with the checkpoint that it was fine-tuned from, layer by "
        "layer, and its line has that checkpoint's name. Layers stand at their share of the model's depth; 0 is the embeddings. Left: Jensen-Shannon divergence of "
        "attention on the task's development set, in nats, averaged over heads, tokens and examples. Middle: "
        "representational similarity (RSA) of the tokens of Wikipedia sentences. Right: SVCCA distance of hidden states on "
        "the task's development set; dotted, the distance of independent representations of the same ranks and number of "
        f"tokens. Bands are over replicates. Models cut words differently, so lines can be compared in form alone.{more}"
    )


NAME = "Beyond the papers"
FIGURES = {
    "encoders": Figure("Change by depth in encoders", _CHANGE, _shows("encoders"), "depth"),
    "decoders": Figure(
        "Change by depth in decoders", _CHANGE,
        _shows("a decoder, beside BERT", " In a decoder a token sees the tokens before it alone, and the last one is classified."),
        "depth",
    ),
    "grounding": Figure(
        "Which measure tracks behaviour", grounded,
        "Does a distance between two models tell how differently they behave? Spearman's rank correlation, over all pairs of "
        "runs of a task, of the distance by each measure with the difference in behaviour on the development set: the share of "
        "examples predicted otherwise, the difference of scores, and the divergence (JS) of output distributions, which for a "
        "regression is the mean difference of outputs. Last: distance in the last layer; mean: over all layers. 1: the further "
        "apart two runs are, the more differently they behave. Runs are seeds of the plain model and of models that were "
        "fine-tuned on another task before, frozen, or re-initialised; both runs of a pair have the same pretraining run. "
        "One star: p of at most .05 by a one-sided Mantel test, which permutes whole runs. Two stars: the same at a false "
        "discovery rate of .05 within the task. A dash: no correlation, as all pairs are alike or runs are too few. "
        "Measures that rank high here say more of behaviour in these runs; a pair of runs may differ in other ways.",
    ),
}  # fmt: skip
