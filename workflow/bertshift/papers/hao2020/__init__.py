"""Hao et al. 2020, Investigating learning dynamics of BERT fine-tuning: its figures and the tables
that each one reads."""

from bertshift.papers.figure import Figure
from bertshift.papers.tables import beside_nulls, between_tasks, per_model

_DOTTED = (
    "Dotted: the distance of independent representations of the same ranks and number of tokens."
)
_TUNED = "the pretrained and the fine-tuned model"
_SEEDS = "two models that differ in the seed of fine-tuning alone"
_TASKS = "models fine-tuned on two tasks"
_OWN = "Both models see the task's development set."
_SAMPLE = (
    "The inputs are a sample of both tasks' development sets (MNLI: matched), as many of each. The"
    " sample is drawn once, by the names of the tasks, and is the same for every replicate."
    " Dashed: the same between two seeds of one task on its own development set"
)
_OTHER_INPUTS = "These are other inputs, so that two tasks may lie below two seeds."
_NO_NUMBERS = "The paper draws curves without numbers."
_RUNS = f"Bands are over replicates. {_NO_NUMBERS}"
_PAIRS = f"Means and bands are over all pairs of seeds. {_NO_NUMBERS}"


def _attention(models: str) -> str:
    return (
        f"Jensen-Shannon divergence of attention between {models}, by layer, in nats, averaged"
        " over heads, tokens and examples. Two disjoint rows of attention would give ln 2 = 0.693"
        " nats."
    )


def _hidden_states(models: str) -> str:
    return (
        f"SVCCA distance of hidden states between {models}, on the same tokens, by layer."
        f" {_DOTTED}"
    )


NAME = "Hao et al. 2020"
FIGURES = {
    "figure1": Figure(
        "Change of attention by layer",
        beside_nulls(per_model("results/js/{model}_vs_{reference}.tsv"), "js"),
        f"{_attention(_TUNED)} {_RUNS}",
        "change.attention",
    ),
    "figure2": Figure(
        "Change of hidden states by layer",
        beside_nulls(per_model("results/svcca/{model}_vs_{reference}.tsv"), "svcca"),
        f"{_hidden_states(_TUNED)} {_RUNS}",
        "change.hidden_states",
    ),
    "similarity": Figure(
        "Change of hidden states by other measures",
        beside_nulls(per_model("results/similarity/{model}_vs_{reference}.tsv"), "similarity"),
        "A control of ours for Figure 2. Distance between the hidden states of the pretrained and"
        " the fine-tuned model by layer, by SVCCA, PWCCA (weighted by the pretrained model),"
        " debiased CKA and Procrustes distance. Each is divided by what the same tokens give when"
        " those of one model are permuted (unrelated). Rows tell all tokens, content tokens, first"
        " tokens and separators apart. A first token that is alike in all embeddings has no point"
        " there; canonical correlations are drawn where tokens are more than the directions of"
        " both models. Bands are over replicates. The table holds distances and nulls, too.",
    ),
    "figure3": Figure(
        "Output and score with one layer restored",
        per_model("results/restored/{model}.tsv"),
        "Each layer of a fine-tuned model gets back, alone, the weights that it was fine-tuned"
        " from; embeddings, pooler and head stay. Left: SVCCA distance between the last hidden"
        f" states of the model and of the changed model, on the same development inputs. {_DOTTED}"
        f" Right: the task's score with that layer restored; dashed, with none. {_RUNS}",
        "change.restored",
    ),
    "figure4": Figure(
        "Attention of two seeds",
        per_model("results/js/{model}_vs_{model}.tsv"),
        f"{_attention(_SEEDS)} {_OWN} {_PAIRS}",
        "change.attention",
    ),
    "figure5": Figure(
        "Hidden states of two seeds",
        per_model("results/svcca/{model}_vs_{model}.tsv"),
        f"{_hidden_states(_SEEDS)} {_OWN} {_PAIRS}",
        "change.hidden_states",
    ),
    "figure6": Figure(
        "Attention of models of two tasks",
        between_tasks("js"),
        f"{_attention(_TASKS)} {_SAMPLE}. {_OTHER_INPUTS} {_NO_NUMBERS}",
        "change.attention",
    ),
    "figure7": Figure(
        "Hidden states of models of two tasks",
        between_tasks("svcca"),
        f"{_hidden_states(_TASKS)} {_SAMPLE}. {_OTHER_INPUTS} {_NO_NUMBERS}",
        "change.hidden_states",
    ),
}
