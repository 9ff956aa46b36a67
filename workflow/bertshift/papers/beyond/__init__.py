"""Questions of the papers, put to other models than BERT: figures of ours, and the tables that they read."""

from bertshift.papers.room import Figure
from bertshift.papers.tables import alone, both, probed, with_own_base

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
    "lora": Figure(
        "Full fine-tuning and LoRA", both(with_own_base("rsa", "js", "spectra"), alone("scores"), probed),
        "Full fine-tuning beside low-rank adapters (LoRA, merged after training), each compared with the checkpoint that it was "
        "fine-tuned from; above each pair of rows the scores on the development set. First row, by layer: representational "
        "similarity (RSA) of the tokens of Wikipedia sentences, 0 is the embeddings; Jensen-Shannon divergence of attention on "
        "the task's development set, in nats; the Frobenius norm of the change of the query, key, value and output matrices, as a "
        "share of the old matrix's, mean of the four; and their intruder dimensions: of the 10 leading left singular vectors of "
        "the new matrix, how many have no cosine above 0.5 with any of the old one's. Second row, by matrix: the leading 64 "
        "singular values of the change, as shares of the old matrix's Frobenius norm, mean over layers; those that are rounding "
        "(below 1e-6) are not drawn. Where there is a third row: the change of F1 of edge probes. Bands and bars are over "
        "replicates.",
    ),
}  # fmt: skip
