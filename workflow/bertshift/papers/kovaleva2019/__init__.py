"""Kovaleva et al. 2019, Revealing the dark secrets of BERT: its figures and the tables that each
figure reads."""

from collections.abc import Mapping

from bertshift.papers.figure import Figure
from bertshift.papers.tables import beside_nulls, combined, per_model, plain_names


def _name_tables_by_start(wanted: Mapping) -> list[str]:
    """Name the tables of each model's scores, of the same model's from random weights, and of its
    start as it is."""
    paths = []
    for model in plain_names(wanted):
        paths.append(f"results/scores/{model}.tsv")
        paths.append(f"results/scores/{model.plus('random')}.tsv")
        paths.append(f"results/frozen/{model}.tsv")
    return paths


_COSINE = per_model("results/cosine/{model}_vs_{reference}.tsv")
_MARKS = (
    "White dots: different from nothing disabled in every replicate, at a false discovery rate of"
    " 5%. The test is the exact McNemar test for accuracy and a paired bootstrap for other scores."
    " Orange: the score with nothing disabled. Each panel has its own colours; lighter is worse."
)
_SHARE_A_NUMBER = "Heads of different pretraining runs share a number, nothing more."
_FIRST_RUN = (
    f"{_SHARE_A_NUMBER} Each cell is of the first pretraining run from which fine-tuning learned"
    " its task: the mean over its fine-tuning seeds, or the one that there is."
)

NAME = "Kovaleva et al. 2019"
FIGURES = {
    "table1": Figure(
        "Scores by initialisation",
        _name_tables_by_start,
        "Scores on the development sets, in points, by how the encoder starts. The pretrained"
        " encoder as it is stands under heads that were never trained and under linear probes. The"
        " fine-tuned encoder begins with random weights or with the pretrained ones. The majority"
        " class stands beside both. Grey: the paper. The last columns check the fine-tuned models:"
        " the paper's own models of Figures 8 and 9, whose scores are not those of its table, and"
        " published scores of the same checkpoint. Random heads: mean ± sd, [least, most]. Others:"
        " mean, [interval]. † marks the score of one answer to every input; a number behind † says"
        " in how many heads or runs. Blue is above the majority class, orange below, and both are"
        " full at 50 points. The mean gain is of accuracy and, for STS-B, of the mean of both"
        " correlations; the paper has one correlation there and does not say which. The optimiser"
        " as published (.bertadam) is not shown.",
    ),
    "figure1": Figure(
        "Typical attention maps",
        per_model("results/patterns/maps/{model}.tsv"),
        "A typical attention map of each of five classes. Of all maps of the fine-tuned models,"
        " over all inputs, layers, heads and runs, it is the one that the classifier puts in the"
        " class with the highest probability p. Queries run down, keys right. Each map has its own"
        " scale, from 0. The paper chose its maps by eye.",
        "attention_maps.figure1",
    ),
    "figure2": Figure(
        "Shares of five classes of attention maps",
        per_model("results/patterns/{model}.tsv"),
        "Shares of five classes of attention maps over all heads and layers, by task. Bars stand"
        " side by side: as the classifier answers, and corrected for its cross-validated errors."
        " Below, class by class, stand the same shares with intervals, and those of the rule that"
        " proposes labels; each class has its own axis. The classifier learns from labelled maps."
        " Unless a person has corrected the labels, they are that rule's. The correction takes the"
        " cross-validated confusion; for classes with few labels it says little. Columns of"
        " separators make a map vertical, so this figure and Figure 6 are not independent.",
        "attention_maps.figure2",
    ),
    "figure3": Figure(
        "Heads for predicates and arguments",
        per_model("results/relation_heads/{model}.tsv"),
        "Heads that relate frame-evoking words to core elements of their frame. A head's score on"
        " a sentence is the largest weight from a piece of a frame element to one of the"
        " frame-evoking word, averaged over sentences of FrameNet (in the demo: from arguments to"
        " predicates of generated sentences). Beside all heads stand the maps of the two best for"
        " one sentence. Below: the paper's heads, ours calculated as in its notebook, and every"
        " score against its null. The null is the score of the same pairs of positions in other"
        f" sentences of as many tokens. {_SHARE_A_NUMBER} Drawn are those of the first one.",
    ),
    "figure5": Figure(
        "How much each head's attention changes",
        combined(
            beside_nulls(_COSINE, "cosine"),
            per_model("results/cosine_padded/{model}_vs_{reference}.tsv"),
        ),
        "Cosine similarity of every head's attention maps before and after fine-tuning, averaged"
        " over examples. Columns are heads, rows are layers, layer 1 is on top, and darker means"
        " more change. The top maps are of the real tokens alone. Below them are maps of inputs"
        " filled up to one length, with the rows of padded queries. At the bottom is the mean over"
        " heads and runs by layer. " + _FIRST_RUN,
        "change.figure5",
    ),
    "figure8": Figure(
        "Scores with one head disabled",
        per_model("results/ablation/{model}.tsv"),
        "Score of a fine-tuned model with one attention head disabled: its tokens attend alike to"
        " all tokens. Columns are heads, layer 1 is on top."
        " Best: the largest gain, in points. Other half: the gain of the head that is best on one"
        " half of the examples, taken on the other. " + _MARKS + " " + _FIRST_RUN,
        "ablations.figure8",
    ),
    "figure9": Figure(
        "Scores with one layer disabled",
        per_model("results/ablation/{model}.tsv"),
        "Score of a fine-tuned model with all heads of one layer disabled: its tokens attend alike"
        " to all tokens. Mean over replicates; layer 1 is on top. " + _MARKS,
        "ablations.figure9",
    ),
    "figure6": Figure(
        "Attention to separators and to the first token",
        per_model("results/attention_to/{model}_vs_{reference}.tsv"),
        "Attention to the separators and to the first token (BERT's [SEP] and [CLS]) by every"
        " head, before and after fine-tuning. Mean over queries and examples. Rows are layers,"
        " layer 1 is on top, columns are heads, and darker means more. Where an input has several"
        " separators, the largest attention counts. The scale of colours is not linear: a linear"
        " one, as the paper's, shows little of heads that spread their attention. " + _FIRST_RUN,
        "attention_to.figure6",
    ),
    "figure7": Figure(
        "What the first token attends to in the last layer",
        per_model("results/attention_to/{model}_vs_{reference}.tsv"),
        "What the last layer's heads attend to for the first token (BERT's [CLS]), before and"
        " after fine-tuning. Columns are heads. Of each kind the token that gets most counts: mean"
        " over the examples that have one. Blank: no example has one, or none is published."
        " Punctuation is ours. " + _FIRST_RUN,
        "attention_to.figure7",
    ),
    "linguistic": Figure(
        "Attention to kinds of words, and its weight",
        per_model("results/attention_to/{model}_vs_{reference}.tsv"),
        "A control of ours; the paper tells of it in words alone (section 4.4). Attention to kinds"
        " of words beside attention to special tokens, before and after fine-tuning, over all"
        " layers and heads. Of each kind the token that gets most counts: mean over queries and"
        " over examples that have one. Below, attention is multiplied by the length of the vector"
        " that the head hands over for the token, as a share of the sum over the input's tokens.",
        "attention_to.linguistic",
    ),
    "figure10": Figure(
        "All attention maps of one input",
        per_model("results/patterns/maps/{model}.tsv"),
        "The attention maps of all heads (columns) in all layers (rows, layer 1 on top) for one"
        " development example of a task, drawn at random. In each cell queries run down, keys"
        " right. All maps have one scale.",
        "attention_maps.figure10",
    ),
    "steps": Figure(
        "Step sizes by layer beside the change of attention",
        combined(per_model("results/steps/{model}.tsv"), _COSINE),
        "A control of ours, not a figure of the paper. It asks whether the last layers change most"
        " because their steps are larger. By layer: the mean gradient of a step before clipping,"
        " the mean update of a step, and how far the weights W end from their start W₀. Each is an"
        " L2 norm over all weights of the layer, as a share of that of its weights before"
        " fine-tuning. Layer 0 is the embeddings, which have no attention. Below is the change of"
        " attention of Figure 5, mean over heads. If its curve does not follow the others, the"
        " size of steps alone does not explain which of these layers change most.",
        "change.steps",
    ),
    "own_or_inherited": Figure(
        "Change of attention and hidden states by a layer's own weights and by its input",
        beside_nulls(
            per_model("results/own_or_inherited/{model}_vs_{reference}.tsv"), "own_or_inherited"
        ),
        "A control of ours, not a figure of the paper. Change of each layer's attention, mean over"
        " heads, and of its hidden states where these are drawn, if the layer's weights, its"
        " input, or both are those of the fine-tuned model. The rest is the pretrained model's."
        " The two parts need not add up to the whole.",
        "change.own_or_inherited",
    ),
}
