"""Questions of the papers, put to other models than BERT: figures of ours, and the tables that they read."""

from bertshift.papers.room import Figure
from bertshift.papers.tables import over_training, with_own_base

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
    "when": Figure(
        "Change over the course of training", over_training("rsa", "svcca", "js"),
        "When fine-tuning changes the layers: models are compared with the checkpoint that they were fine-tuned from, after "
        "shares of their training steps (0: the checkpoint under a new head). Their axis is linear up to the first share above 0, "
        "and logarithmic from there. Above: the score on the development set, and the training loss (a moving average "
        "with weight 0.98). Heat maps: representational similarity (RSA) of the tokens of Wikipedia sentences, SVCCA "
        "distance and Jensen-Shannon divergence of attention on the task's development set, by layer (0: the "
        "embeddings). Below: the share of the steps after which a layer has made half of its final change, that is of "
        "1 − RSA or of the distance, with straight lines between shares. A layer that does not change has no point. "
        "Bands are over replicates.",
    ),
}  # fmt: skip
