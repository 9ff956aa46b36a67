"""docs/families.md: what can be done with each family, found by doing it to a tiny model."""

import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from disabling import disabled
from made_encoders import FAMILIES, WITHOUT_ROW, model_of
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from bertshift.errors import UserError
from bertshift.models.ablate import Ablation
from bertshift.models.biaffine import DependencyParser
from bertshift.models.check import check
from bertshift.models.family import family_of, output_columns
from bertshift.models.freeze import freeze
from bertshift.models.heads import SequenceClassifier, SpanClassifier, TokenClassifier
from bertshift.models.language_head import LanguageHead, load_language_model
from bertshift.models.lora import add_adapters
from bertshift.models.reinitialise import reinitialise_head, reinitialise_layers
from bertshift.models.restore import every_restoration
from bertshift.models.truncate import keep_layers

HEADING = """\
# Families of models

What can be done with each family of transformers. Every cell was found by doing it to a tiny random model of the family
(`tests/made_families.py`), and `tests/models/test_families.py` compares the results with calculations by hand.
To make this page again: `PYTHONPATH=workflow:tests python -m made_families > docs/families.md`.

"""
NOTES = """
- **One layer**: ALBERT runs one layer again and again, so no layer has weights of its own. A head is still disabled in
  one place only.
- **Heads share keys**: one head's rows of key and value weights serve other heads, whose maps would change too.
- **A norm joins heads**: queries and keys are normed over all heads of a layer together.
- **Unknown weights**: the family has no row in `workflow/bertshift/models/families.py`. Its layers are found in one forward
  pass, and everything else works. A row adds what is missing.
- **No head alone**: the head of pretraining cannot be run on hidden states alone, so nothing tells what was forgotten.
- **Decoder**: a word has not read the words behind it. Sentences are classified by their last token.
- **From 1 layer**: what is left must have a layer.

Families that are not listed can be tried. How many positions a model has, and whether it reads which text of a pair a token is
of, is seen in its first forward pass; where the second cannot be seen, pairs are refused. A model of any family whose tokenizer
gives both texts one type reads pairs so too. When a checkpoint is read, its attention is compared with the attention that
transformers computes; a model whose attention cannot be seen, or is seen wrong, is refused with a sentence that says why.
"""
REASONS = {
    "runs one layer": "one layer",
    "serve others": "heads share keys",
    "a norm over all heads": "a norm joins heads",
    "is not known": "unknown weights",
    "needs an encoder": "decoder",
    "keep0": "from 1 layer",
    "cannot be run alone": "no head alone",
}


def first_that_works(
    **tried: Callable[[PreTrainedModel], object],
) -> Callable[[PreTrainedModel], str]:
    """The word of the first of these that raises no UserError; else why the first does not
    work."""

    def attempt(model: PreTrainedModel) -> str:
        reasons = []
        for word, operation in tried.items():
            try:
                operation(model)
                return word.replace("_", " ")
            except UserError as error:
                reasons += [short for said, short in REASONS.items() if said in str(error)]
        return reasons[0]

    return attempt


def read_words(model: PreTrainedModel) -> None:
    """The head with which the family is pretrained, alone on the last states, says what the whole
    model says."""
    kind = AutoModelForCausalLM if family_of(model).causal else AutoModelForMaskedLM
    with TemporaryDirectory() as folder:
        kind.from_config(deepcopy(model.config)).save_pretrained(folder)
        whole = load_language_model(Path(folder), model)
    ids = model.dummy_inputs["input_ids"][:1]
    with torch.no_grad():
        expected = whole(ids).logits[0]
        states = whole.base_model(ids)[0][0]
        assert torch.allclose(LanguageHead(whole)(states), expected, atol=1e-5)


def ablate(model: PreTrainedModel) -> None:
    for variant in ("uniform", "zero"):
        with disabled(model, Ablation(variant, 2, 1)):
            model(**model.dummy_inputs)


OPERATIONS = {
    "states, maps": first_that_works(yes=lambda model: check(model, Path("here"))),
    "heads disabled": first_that_works(yes=ablate),
    "value norms": first_that_works(yes=lambda model: output_columns(model, 2, 1, "this")),
    "freezing": first_that_works(
        yes=lambda model: freeze(model, 1), embeddings_alone=lambda model: freeze(model, "E")
    ),
    "truncation": first_that_works(
        yes=lambda model: keep_layers(model, 0), from_1_layer=lambda model: keep_layers(model, 1)
    ),
    "LoRA": first_that_works(
        yes=lambda model: add_adapters(model, 2, alpha=16, dropout=0.0, seed=1)
    ),
    "fresh layers": first_that_works(yes=lambda model: reinitialise_layers(model, 3)),
    "one fresh head": first_that_works(yes=lambda model: reinitialise_head(model, 2, 1)),
    "layers restored": first_that_works(yes=lambda model: every_restoration(model, model)),
    "forgetting": first_that_works(yes=read_words),
    "classes, regression": first_that_works(yes=lambda model: SequenceClassifier(model, 2)),
    "spans": first_that_works(yes=SpanClassifier),
    "tags": first_that_works(yes=lambda model: TokenClassifier(model, "ab")),
    "parsing": first_that_works(yes=lambda model: DependencyParser(model, "ab")),
}


def page() -> str:
    lines = [["family", *OPERATIONS], ["---"] * (1 + len(OPERATIONS))]
    for kind in FAMILIES:
        causal = " (decoder)" if family_of(model_of(kind)).causal else ""
        row = "" if kind not in WITHOUT_ROW else ", no row"
        lines.append(
            [
                f"{kind}{causal}{row}",
                *(operation(model_of(kind)) for operation in OPERATIONS.values()),
            ]
        )
    return HEADING + "".join(f"| {' | '.join(cells)} |\n" for cells in lines) + NOTES


if __name__ == "__main__":
    sys.stdout.write(page())
