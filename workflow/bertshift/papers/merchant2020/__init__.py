"""Merchant et al. 2020, What happens to BERT embeddings during fine-tuning?: its figures and the
tables that they read."""

from bertshift.papers.figure import Figure
from bertshift.papers.tables import beside_nulls, combined, per_model, with_reference

_EDGE_PROBES = combined(
    with_reference("edge_probes", ".random"),
    per_model("results/edge_probes/{model}_vs_{reference}.tsv"),
)
_CELLS = (
    "Below each mean stands its interval or, if there is one run, the sd between probes. Blue is a"
    " gain, orange a loss, and both are full at 5 points. * p < .05 in every replicate, ** also"
    " after Holm's correction for all tests of the table (paired bootstrap over test sentences;"
    " baselines are not tested). Below: selectivity, F1 minus F1 of the same probe on control"
    " labels."
)
_NO_NUMBERS = "The paper draws curves without numbers."

NAME = "Merchant et al. 2020"
FIGURES = {
    "table1": Figure(
        "Edge probes before and after fine-tuning",
        _EDGE_PROBES,
        "F1 in points, micro-averaged over all labels, of edge probes on a learned mix of all"
        " layers. First the pretrained model, then differences from it: of its embedding output"
        " (lexical), of word embeddings without positions (word only), of weights that were never"
        " trained (randomized), and of the fine-tuned models. Grey: the paper, on its own"
        " corpora. " + _CELLS,
        "edge_probes",
        {"variant": "mix"},
    ),
    "figure1": Figure(
        "Structural probes by layer",
        with_reference("structural_probes"),
        "Structural probes on every layer of the pretrained and the fine-tuned models, on dev."
        " Above: Spearman correlation of predicted with true depths and distances in the"
        " dependency tree, mean over sentence lengths of 5 to 50 words. Below: the share of roots"
        " and of undirected attachments that the same probes find, because correlation and"
        " recovered trees need not agree (Hall Maudslay et al. 2020). Layer 0 is the embedding"
        " output. Bands are over replicates. " + _NO_NUMBERS,
    ),
    "figure2": Figure(
        "Similarity to the pretrained model on Wikipedia",
        beside_nulls(per_model("results/rsa/{model}_vs_{reference}.tsv"), "rsa"),
        "Representational similarity (RSA, cosine kernel) of each fine-tuned model to its own"
        " pretrained parent on Wikipedia sentences, by layer. Layer 0 is the embedding output."
        " Special tokens are left out; lower means more change. Bands are over replicates. The"
        " paper's curves carry no numbers.",
        "rsa.figure2",
    ),
    "figure3": Figure(
        "Scores with the lower layers frozen",
        per_model("results/sweeps/{model}.freeze.tsv"),
        "Scores after fine-tuning with the embeddings and the lower layers frozen, in points and"
        " in percent of the score with nothing frozen. The axis is the paper's: it counts layers"
        " from 0 and marks nothing frozen by −1. Embeddings are frozen with every layer. Hollow"
        " markers: only the embeddings frozen. Bands are over replicates. " + _NO_NUMBERS,
        "scores_by_depth.figure3",
    ),
    "figure4": Figure(
        "Scores with the upper layers removed",
        per_model("results/sweeps/{model}.keep.tsv"),
        "Scores after fine-tuning the first layers alone, the others removed, in points and in"
        " percent of the gain from no layer to all of them. Bands are over replicates. "
        + _NO_NUMBERS,
        "scores_by_depth.figure4",
    ),
    "figure5": Figure(
        "Similarity inside and outside the training domain",
        per_model("results/rsa/{model}_vs_{reference}.tsv"),
        "Representational similarity (RSA) to the pretrained parent by layer, for inputs of the"
        " model's own kind (thick), of the other task, and from Wikipedia. Special tokens are left"
        " out; lower means more change. Thin lines are controls: premises or questions alone,"
        " inputs from the training set, and Wikipedia in the format or in the lengths of the"
        " model's own inputs. Bands are over replicates. " + _NO_NUMBERS,
        "rsa.figure5",
    ),
    "appendix_a": Figure(
        "Edge probes on the top layer",
        _EDGE_PROBES,
        "F1 in points, micro-averaged over all labels, of edge probes that see the last layer"
        " only, in the layout of Table 1: the pretrained model, then differences from it. Grey:"
        " the same of probes on a mix of all layers, as in Table 1. The appendix's own numbers are"
        " not at hand. " + _CELLS,
        "edge_probes",
        {"variant": "top"},
    ),
    "appendix_b": Figure(
        "Description length of edge probes",
        with_reference("mdl"),
        "Above: the bits that it takes to send the training labels of an edge-probing task, given"
        " a fine-tuned model's representations, with the online code (Voita and Titov 2020). They"
        " are divided by those of the model's own pretrained parent, whose kilobits stand beside"
        " the task. Below 1 is easier to learn. Early stopping on dev is not charged. Below: F1 on"
        " test by number of training examples. It is not the F1 of Table 1, also of all examples:"
        " these probes learn to tell apart the labels of a target, stop by the bits on dev, and"
        " name the likeliest label; those of Table 1 learn to say yes or no to each label, stop by"
        " F1 on dev, and name all labels with p > .5. Where a target may have several labels, here"
        " too all with p > .5 are named. Intervals and bands are over replicates. The appendix's"
        " numbers are not at hand.",
    ),
}
