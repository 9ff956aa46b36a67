"""How much heads attend to kinds of tokens (Kovaleva et al. 2019, sections 4.4 and 4.5, figures 6
and 7).

Of each example, layer and head:

    received   m_j = 1/L sum_i A_ij   by all L queries, special tokens among them: the text's sum
                                      over queries, normalised by length (figure 6)
    from_cls   A_0j                   by the first token alone; not normalised, in spite of figure
                                      7's caption

The value is the largest over the tokens j of a kind, as in the text and in the code behind the
figures, and its mean is taken over the examples that have such a token. Kinds are roles: `cls` is
the first token, special or not, and of no other kind; `sep` are the other special tokens, of which
a decoder may have none. `sep_sum` adds the separators up instead: the larger of two is less than
one alone. A decoder's first token sees itself alone, so from_cls says nothing there. Variants
*_norm weigh a token by what the head hands over, m_j ||f_j|| (`attention_norms`); *_norm_share
divide that by its sum over all tokens of the example, which for attention itself is 1.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.rerun import Rerun
from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations, Maps
from bertshift.errors import UserError
from bertshift.metrics.attention_norms import value_norms
from bertshift.metrics.pairs import Pair, frame, head_rows, opened
from bertshift.models.loading import load_encoder

# Universal tags and relations, where the paper takes spaCy's: its objects include predicate nouns
# ("attr", which heads its clause here), its subjects the agents of passives (here "obl"), its
# verbs no modals, its pronouns only personal ones.
NOUNS, VERBS = ("NOUN", "PROPN"), ("VERB", "AUX")
SUBJECTS, OBJECTS = ("nsubj", "csubj", "expl"), ("obj", "iobj")
# The paper's 17 words, whose ten contractions are one word here: n't.
NEGATIONS = ("neither", "nor", "not", "never", "none", "nothing", "nowhere", "n't")
SEGMENTS = ("text_a", "text_b")


def compare(
    pairs: list[Pair],
    annotations: Mapping[str, tuple[Sequence[Mapping], str]],
    folders: Mapping[Path, Path],
) -> pd.DataFrame:
    """Tabulate attention, one row for each model, layer, head (0: their mean), kind of token
    (`token`) and variant.

    sd and n are over examples. In rows of the reference, column `model` names the reference.
    annotations: of each input set, the rows of `annotations.annotate` and who made them (column
    `annotation`); folders: the model folder behind each activation file. Kinds that no example has
    are told on stderr. Raises UserError where annotations are of other inputs.
    """
    rows, done = [], set()
    for pair, model, reference in opened("attention_to", pairs):
        texts, annotation = annotations[pair.stimuli]
        tokens = token_kinds(model, texts)
        present = {
            kind: np.unique(model.example_of_token()[places]) for kind, places in tokens.items()
        }
        present["sep_sum"] = present["sep"]
        missing = [kind for kind, places in tokens.items() if not len(places)]
        if missing:
            print(
                f"attention_to: no input of '{pair.stimuli}' has: {', '.join(missing)}.",
                file=sys.stderr,
            )
        for keys, one in ((pair.keys, model), (_of_reference(pair.keys), reference)):
            if one.path in done:
                continue
            done.add(one.path)
            keys = keys | {"annotation": annotation}
            rerun = Rerun(load_encoder(folders[one.path]), one)
            for layer in range(1, one.layers + 1):
                norms = value_norms(rerun, layer, one.hidden(layer - 1))
                for (token, variant), values in per_kind(
                    one.attention(layer), norms, tokens
                ).items():
                    place = {
                        "token": token,
                        "variant": variant,
                        "layer": layer,
                        "ref_layer": layer,
                    }
                    rows += head_rows(values, one.examples, present[token], **keys, **place)
    return frame(rows, extra=("token", "annotation"))


def _of_reference(keys: Mapping) -> dict:
    own = {"model": "reference", "init": "ref_init", "seed": "ref_seed"}
    return {**keys, **{key: keys[other] for key, other in own.items() if other in keys}}


def per_kind(
    maps: Maps, norms: np.ndarray, tokens: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], np.ndarray]:
    """Measure attention to each kind of token: (kind, variant) -> [examples that have the kind,
    heads].

    The layer's maps are read once. norms [heads, N]: of `value_norms`; tokens: positions of each
    kind, as of `token_kinds`. A kind that no example has is left out.
    """
    example = np.repeat(np.arange(len(maps)), maps.lengths)
    starts = np.cumsum(maps.lengths) - maps.lengths
    variants = {}
    for name, weights in zip(("received", "from_cls"), column_weights(maps), strict=True):
        moved = weights * norms
        total = np.add.reduceat(moved, starts, axis=1)
        variants |= {
            name: weights,
            f"{name}_norm": moved,
            f"{name}_norm_share": moved / total[:, example],
        }
    kinds = {kind: (places, np.maximum) for kind, places in tokens.items()} | {
        "sep_sum": (tokens["sep"], np.add)
    }
    found = {}
    for kind, (places, combine) in kinds.items():
        if len(places):
            _, firsts = np.unique(example[places], return_index=True)
            for variant, values in variants.items():
                found[kind, variant] = combine.reduceat(values[:, places], firsts, axis=1).T
    return found


def column_weights(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """Measure the weight that every head gives every token: its mean over queries, and that of the
    first query. Either is [heads, N] float64."""
    received = np.empty((maps.heads, maps.lengths.sum()))
    from_cls = np.empty_like(received)
    end = 0
    for one in maps:
        start, end = end, end + one.shape[-1]
        one.mean(axis=1, dtype=np.float64, out=received[:, start:end])
        from_cls[:, start:end] = one[:, 0]
    return received, from_cls


def token_kinds(activations: Activations, texts: Sequence[Mapping]) -> dict[str, np.ndarray]:
    """Find the sorted positions of each kind's tokens. A word piece has the kinds of the word in
    which it begins."""
    word = word_of_token(activations, texts)
    columns = {
        name: np.array(
            [
                value
                for text in texts
                for part in SEGMENTS
                for value in text.get(part, {}).get(name, ())
            ]
        )
        for name in ("words", "upos", "deprels")
    }
    relation = np.char.partition(columns["deprels"].astype(str), ":")[:, 0]
    spelled = np.char.replace(np.char.lower(columns["words"].astype(str)), "’", "'")
    kinds = {
        "punct": columns["upos"] == "PUNCT",
        "noun": np.isin(columns["upos"], NOUNS),
        "verb": np.isin(columns["upos"], VERBS),
        "pron": columns["upos"] == "PRON",
        "subj": np.isin(relation, SUBJECTS),
        "obj": np.isin(relation, OBJECTS),
        "neg": np.isin(spelled, NEGATIONS),
    }
    first = is_special_or_first(np.zeros(len(word), bool), activations.offsets)
    special = {"cls": first, "sep": activations.special & ~first}
    word[first] = -1
    # -1: no word.
    ordinary = {kind: np.append(of_word, False)[word] for kind, of_word in kinds.items()}
    return {kind: np.flatnonzero(places) for kind, places in (special | ordinary).items()}


def word_of_token(activations: Activations, texts: Sequence[Mapping]) -> np.ndarray:
    """Find the number [N] of the word in which each token begins, counted through all texts; -1
    for special tokens.

    A piece of spaces at a text's end belongs to the word before it. Pieces of a text without words
    get -1, and their number is told on stderr. Raises UserError where `texts` are not those of the
    activations.
    """
    if [str(text["id"]) for text in texts] != activations.ids.tolist():
        raise UserError(
            f"{activations.path} and its annotations hold different inputs: delete"
            " results/annotations and run again."
        )
    found, passed = np.full(len(activations.special), -1), 0
    for example, text in enumerate(texts):
        tokens = np.arange(*activations.offsets[example : example + 2])
        for segment, part in enumerate(SEGMENTS):
            starts = np.array(text.get(part, {}).get("start", ()), int)
            own = tokens[(activations.segment[tokens] == segment) & ~activations.special[tokens]]
            if len(starts):
                word = np.searchsorted(starts, activations.char_start[own], side="right") - 1
                found[own] = passed + np.maximum(word, 0)
            passed += len(starts)
    if lost := int(np.sum((found < 0) & ~activations.special)):
        print(
            f"attention_to: {lost} of {len(found)} word pieces are of a text without words.",
            file=sys.stderr,
        )
    return found
