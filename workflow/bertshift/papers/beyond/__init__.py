"""Questions of the papers, put to other models than BERT: figures of ours, and the tables that
they read."""

from bertshift.models.headless import lacking
from bertshift.papers.figure import Figure
from bertshift.papers.tables import (
    beside_nulls,
    combined,
    grounded,
    over_training,
    per_model,
    probed,
    with_own_base,
)

_CHANGE = with_own_base("js", "rsa", "svcca")


def _shows(which: str, more: str = "") -> str:
    return (
        f"{which}: each fine-tuned model is compared with the checkpoint that it was fine-tuned"
        " from, layer by layer, and its line has that checkpoint's name. Layers"
        " stand at their share of the model's depth; 0 is the embeddings. Left: Jensen-Shannon"
        " divergence of attention on the task's development set, in nats, averaged over heads,"
        " tokens and examples. Middle: representational similarity (RSA) of the tokens of"
        " Wikipedia sentences. Right: SVCCA distance of hidden states on the task's development"
        " set; dotted, the distance of independent representations of the same ranks and number"
        " of tokens. Bands are over replicates. Models cut words differently, so lines can be"
        f" compared in form alone.{more}"
    )


NAME = "Beyond the papers"
FIGURES = {
    "encoders": Figure("Change by depth in encoders", _CHANGE, _shows("Encoders"), "depth"),
    "decoders": Figure(
        "Change by depth in decoders",
        _CHANGE,
        _shows(
            "Decoders beside an encoder",
            " In a decoder a token sees the tokens before it alone, and the last one is"
            " classified.",
        ),
        "depth",
    ),
    "grounding": Figure(
        "Which measure tracks behaviour",
        grounded,
        "Does a distance between two models tell how differently they behave? Spearman's rank"
        " correlation, over all pairs of runs of a task, of the distance by each measure with the"
        " difference in behaviour on the development set: the share of examples predicted"
        " otherwise, the difference of scores, and the divergence (JS) of output distributions,"
        " which for a regression is the mean difference of outputs. Last: distance in the last"
        " layer; mean: over all layers. 1: the further apart two runs are, the more differently"
        " they behave. Runs are seeds of the plain model and of models that were fine-tuned on"
        " another task before, frozen, shortened or re-initialised; both runs of a pair have the"
        " same pretraining run. One star: p of at most .05 by a one-sided Mantel test, which"
        " permutes the kinds (models) as wholes, and the seeds alike in all kinds: runs of a kind"
        " and runs of a seed are similar, and this alone gives no star. Two stars: the same at a"
        " false discovery rate of .05 within the task. Too few runs to test: there are fewer than"
        " 20 orders, so p cannot be .05. A dash: no correlation, as all pairs are alike or runs"
        " are too few. Blue is a positive correlation, orange a negative one. Measures that rank"
        " high here say more of behaviour in these runs; a pair of runs may differ in other ways.",
    ),
    "where": Figure(
        "Every layer with every layer",
        beside_nulls(with_own_base("layer_cka"), "layer_cka"),
        "Which layers are alike: linear CKA (debiased) of each layer with each other, over content"
        " tokens of the task's development set. Layer 0 is the embeddings. Before: the pretrained"
        " model with itself. After: the fine-tuned model with itself. Across: the fine-tuned model"
        " with the pretrained one. Bright squares along the diagonal are groups of like layers"
        " (Phang, Liu and Bowman 2021). Δ is the mean CKA of two layers of the upper third, minus"
        " the mean CKA of a layer of the upper and one of the lower third, [interval].",
    ),
    "planted": Figure(
        "Which measure finds which change",
        per_model("results/planted/{model}.tsv"),
        "Changes of known place and size, planted in a checkpoint, and the measures that find"
        " them. Each change stands on noise as large as the change by fine-tuning. A measure finds"
        " a change if its largest value over layers (or heads) lies above that of all backgrounds,"
        " models with such noise alone; it places the change if that value is at the layer (or the"
        " head) that was changed. Left: the smallest size, as a share of the weights' norm, at"
        " which half of the changes or more are found. Middle: the share placed, at the largest"
        " size; the embeddings of words are layer 0. Right: the share of models that are found"
        " though their outputs are those of their background: without a change, or with"
        " feed-forward units, or heads, of one layer in another order. With 19 backgrounds, 5 % of"
        " these are found by chance. Made: each layer on the checkpoint's own input. Matched:"
        " heads paired within a layer by what they attend to. Darker: smaller sizes, larger"
        " shares. Intervals are in the table.",
    ),
    "forgetting": Figure(
        "What was forgotten",
        combined(per_model("results/forgetting/{model}.tsv"), with_own_base("rsa")),
        "What fine-tuning made models forget of pretraining: the pretrained head on the fine-tuned"
        " encoder, on Wikipedia sentences of which 15 % of the words are hidden (a decoder"
        " predicts as many words from those before). Above: the loss in nats, less the loss of the"
        " pretrained model; a dot a run. Left, beside the"
        " similarity (RSA) of the last layer to the pretrained model's. Right, beside the distance"
        " of the encoder's weights from the pretrained ones, relative to their size. Below: the"
        " same head on the output of each layer, a panel a checkpoint. Dashed, the pretrained"
        " model; dotted, a model that knows how frequent words are and nothing else. Models cut"
        " words differently, so losses of different checkpoints do not compare.",
        lacking=lacking,
    ),
    "lora": Figure(
        "Full fine-tuning and LoRA",
        combined(
            beside_nulls(with_own_base("rsa", "js", "spectra"), "rsa", "js"),
            per_model("results/scores/{model}.tsv"),
            probed,
        ),
        "Full fine-tuning beside low-rank adapters (LoRA, merged after training), each compared"
        " with the checkpoint that it was fine-tuned from; above each pair of rows the scores on"
        " the development set. First row, by layer: representational similarity (RSA) of the"
        " tokens of Wikipedia sentences, 0 is the embeddings; Jensen-Shannon divergence of"
        " attention on the task's development set, in nats; the Frobenius norm of the change of"
        " the query, key, value and output matrices, as a share of the old matrix's, mean of the"
        " four; and their intruder dimensions: of the 10 leading left singular vectors of the new"
        " matrix, how many have no cosine above 0.5 with any of the old one's. Second row, by"
        " matrix: the leading 64 singular values of the change, as shares of the old matrix's"
        " Frobenius norm, mean over layers; those that are rounding (below 1e-6) are not drawn."
        " Where there is a third row: the change of F1 of edge probes. Bands and bars are over"
        " replicates.",
    ),
    "when": Figure(
        "Change over the course of training",
        over_training("rsa", "svcca", "js"),
        "Models after shares of their training steps (0: the checkpoint under a new head),"
        " compared with the checkpoint that they were fine-tuned from. The axis is linear up to"
        " the first share above 0, and logarithmic from there. Above: the score on the"
        " development set, and the training loss (a moving average with weight 0.98), each task on"
        " its own axis. Heat maps: representational similarity (RSA) of the tokens of Wikipedia"
        " sentences, SVCCA distance and Jensen-Shannon divergence of attention on the"
        " task's development set, by layer (0: the embeddings). Below: the share of the steps"
        " after which a layer has made half of its final change, that is of 1 − RSA or of the"
        " distance, with straight lines between shares. A layer has no point where its final"
        " change has an interval with 0. Bands are over replicates.",
    ),
}
