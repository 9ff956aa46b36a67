"""How much heads attend to kinds of tokens (Kovaleva et al. 2019, sections 4.4 and 4.5, figures 6
and 7).

For each example, layer and head:

    received   m_j = 1/L sum_i A_ij   by all L queries, special tokens among them: the text's sum
                                      over queries, normalised by length (figure 6)
    from_cls   A_0j                   by the first token alone; not normalised, in spite of figure
                                      7's caption

The value is the largest over the tokens j of a kind, as in the text and in the code behind the
figures, and its mean is taken over the examples that have such a token. Kinds are roles: `cls` is
the first token, special or not, and of no other kind; `sep` are the other special tokens, which a
decoder may lack. `sep_sum` adds the separators up instead: the larger of two is less than a single
one. A decoder's first token sees itself alone, so from_cls is meaningless there. Variants *_norm
weigh a token by the vector that the head moves, m_j ||f_j|| (`attention_norms`); *_norm_share
divide that by its sum over all tokens of the example, which for attention itself is 1.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from transformers import PreTrainedModel

from bertshift.activations.rerun import Rerun
from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations, Maps
from bertshift.errors import UserError
from bertshift.metrics.attention_norms import value_norms
from bertshift.metrics.pairs import Pair, frame, head_rows, opened
from bertshift.models.loading import load_encoder
from bertshift.rows.table import Table

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
) -> Table:
    """Tabulate attention, one row for each model, layer, head (0: their mean), kind of token
    (`token`) and variant.

    sd and n are over examples. In rows of the reference, column `model` names the reference. Kinds
    that no example has are reported on stderr.

    annotations: for each input set, the rows of `annotations.annotate` and their source (column
        `annotation`)
    folders: the model folder behind each activation file

    UserError where annotations are of other inputs.
    """
    rows = []
    done = set()
    for pair, model, reference in opened("attention_to", pairs):
        texts, annotation = annotations[pair.stimuli]
        tokens = token_kinds(model, texts)
        if missing := [kind for kind, positions in tokens.items() if not len(positions)]:
            print(
                f"attention_to: no input of '{pair.stimuli}' has: {', '.join(missing)}.",
                file=sys.stderr,
            )
        for keys, activations in (
            (pair.keys, model),
            (_name_reference(pair.keys), reference),
        ):
            if activations.path in done:
                continue
            done.add(activations.path)
            keys = keys | {"annotation": annotation}
            encoder = load_encoder(folders[activations.path])
            rows += [keys | row for row in _model_rows(activations, encoder, tokens)]
    return frame(rows, extra=("token", "annotation"))


def _name_reference(keys: Mapping) -> dict:
    """Name the reference in the columns of the model."""
    columns = {"model": "reference", "init": "ref_init", "seed": "ref_seed"}
    result = dict(keys)
    for key, column in columns.items():
        if column in keys:
            result[key] = keys[column]
    return result


def _model_rows(
    activations: Activations, encoder: PreTrainedModel, tokens: Mapping[str, np.ndarray]
) -> Iterator[dict]:
    example = activations.example_of_token()
    examples = {kind: np.unique(example[positions]) for kind, positions in tokens.items()}
    examples["sep_sum"] = examples["sep"]
    rerun = Rerun(encoder, activations)
    for layer in range(1, activations.layers + 1):
        norms = value_norms(rerun, layer, activations.hidden(layer - 1))
        attention = per_kind(activations.attention(layer), norms, tokens)
        for (kind, variant), values in attention.items():
            keys = {"token": kind, "variant": variant, "layer": layer, "ref_layer": layer}
            yield from head_rows(values, activations.examples, examples[kind], **keys)


def per_kind(
    maps: Maps, norms: np.ndarray, tokens: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], np.ndarray]:
    """Measure attention to each kind of token: (kind, variant) -> [examples with it, heads].

    A kind that no example has is left out.

    maps: one layer's, which are read once
    norms: [heads, N] of `value_norms`
    tokens: positions of each kind, from `token_kinds`
    """
    example = np.repeat(np.arange(len(maps)), maps.lengths)
    starts = np.cumsum(maps.lengths) - maps.lengths
    received, from_cls = column_weights(maps)
    variants = {}
    for name, weights in (("received", received), ("from_cls", from_cls)):
        lengths = weights * norms
        totals = np.add.reduceat(lengths, starts, axis=1)
        variants[name] = weights
        variants[f"{name}_norm"] = lengths
        variants[f"{name}_norm_share"] = lengths / totals[:, example]
    combinations = [(kind, kind, np.maximum) for kind in tokens]
    combinations.append(("sep_sum", "sep", np.add))
    attention = {}
    for name, kind, combine in combinations:
        positions = tokens[kind]
        if len(positions):
            _, firsts = np.unique(example[positions], return_index=True)
            for variant, values in variants.items():
                combined = combine.reduceat(values[:, positions], firsts, axis=1)
                attention[name, variant] = combined.T
    return attention


def column_weights(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """Measure the weight that every head gives every token: [heads, N] float64, the mean over
    queries; and the same for the first query alone."""
    received = np.empty((maps.heads, maps.lengths.sum()))
    from_cls = np.empty_like(received)
    start = 0
    for attention in maps:
        end = start + attention.shape[-1]
        attention.mean(axis=1, dtype=np.float64, out=received[:, start:end])
        from_cls[:, start:end] = attention[:, 0]
        start = end
    return received, from_cls


def token_kinds(activations: Activations, texts: Sequence[Mapping]) -> dict[str, np.ndarray]:
    """Find the sorted positions of each kind's tokens. A word piece has the kinds of the word in
    which it begins."""
    segments = [text.get(segment, {}) for text in texts for segment in SEGMENTS]
    spellings = np.char.lower(_join_column(segments, "words"))
    spellings = np.char.replace(spellings, "’", "'")
    upos = _join_column(segments, "upos")
    relations = np.char.partition(_join_column(segments, "deprels"), ":")[:, 0]
    word_kinds = {
        "punct": upos == "PUNCT",
        "noun": np.isin(upos, NOUNS),
        "verb": np.isin(upos, VERBS),
        "pron": upos == "PRON",
        "subj": np.isin(relations, SUBJECTS),
        "obj": np.isin(relations, OBJECTS),
        "neg": np.isin(spellings, NEGATIONS),
    }
    word = word_of_token(activations, texts)
    first = is_special_or_first(np.zeros(len(word), bool), activations.offsets)
    word[first] = -1
    kinds = {
        "cls": np.flatnonzero(first),
        "sep": np.flatnonzero(activations.special & ~first),
    }
    for kind, is_kind in word_kinds.items():
        # The value at the end is for tokens without a word, -1.
        kinds[kind] = np.flatnonzero(np.append(is_kind, False)[word])
    return kinds


def _join_column(segments: Sequence[Mapping], name: str) -> np.ndarray:
    """Join a column of annotations of all words, as strings."""
    values = []
    for segment in segments:
        values += segment.get(name, ())
    return np.array(values, str)


def word_of_token(activations: Activations, texts: Sequence[Mapping]) -> np.ndarray:
    """Find the number [N] of the word in which each token begins, counted through all texts; -1
    for special tokens.

    A piece of spaces at a text's end belongs to the word before it. Pieces of a text without words
    get -1, and their number is reported on stderr. UserError where `texts` are not those of the
    activations.
    """
    if [str(text["id"]) for text in texts] != activations.ids.tolist():
        raise UserError(
            f"{activations.path} and its annotations hold different inputs: delete"
            " results/annotations and run again."
        )
    ordinary = ~activations.special
    word = np.full(len(ordinary), -1)
    counted = 0  # words of the segments before
    for text, (start, end) in zip(texts, pairwise(activations.offsets), strict=True):
        tokens = np.arange(start, end)
        for number, segment in enumerate(SEGMENTS):
            starts = text.get(segment, {}).get("start", ())
            if not len(starts):
                continue
            is_inside = (activations.segment[tokens] == number) & ordinary[tokens]
            inside = tokens[is_inside]
            before = np.searchsorted(starts, activations.char_start[inside], side="right") - 1
            word[inside] = counted + np.maximum(before, 0)
            counted += len(starts)
    if lost := int(np.sum((word < 0) & ordinary)):
        print(
            f"attention_to: {lost} of {len(word)} word pieces are of a text without words.",
            file=sys.stderr,
        )
    return word
