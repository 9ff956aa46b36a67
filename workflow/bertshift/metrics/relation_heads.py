"""Attention between predicates and their arguments (Kovaleva et al. 2019, section 4.2, figure
3).

    score(layer, head) = mean over sentences of the largest A[query, key]

over pairs of a piece of an argument (in FrameNet: a core frame element) and a piece of the
predicate (the frame-evoking word).

Readings: "max_fe_to_lu", the text's, takes all pairs with the argument as query, as the figure
does; "max_lu_to_fe" those with the predicate as query, of which the text speaks; "max_both" all of
these. "code_zip" is what the paper's notebook calculates, and the published figure: the k-th piece
of the arguments with the k-th of the predicate while there are both, each taken where such a piece
first occurs in the sentence. (It also cuts sentences after 17 pieces, which takes the end of 3 of
473, but no predicate or element; here they are whole.)

Null: what would the same places give if nothing related them? For each sentence the same pairs of
positions in another sentence of as many tokens, where they do not join a predicate and its
argument. Distance, place in the sentence and number of pairs are the same, so a head that looks at
positions alone scores as in its null. `null` is the mean over all such sentences; `null_99` the
99th percentile of 1000 nulls with one sentence drawn for each. A sentence without any such other
counts with its own score, which only raises the null; `null_n` counts those that have one.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.store import Activations, Maps
from bertshift.errors import UserError
from bertshift.metrics.pairs import head_rows
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, in_columns
from bertshift.seeds import seed_from

DRAWS = 1000
PERCENTILE = 99
EXAMPLE = (  # the paper's; another vocabulary's sentences have their own
    "He was becoming agitated ."
)
EXAMPLE_HEADS = 2
FIRST, SEPARATOR = "[first]", "[separator]"  # what special tokens are called, whatever they are
COLUMNS = [
    "metric",
    "model",
    "stimuli",
    "init",
    "seed",
    "variant",
    "layer",
    "head",
    "value",
    "sd",
    "n",
    "rank",
    "heads_99",
    "null",
    "null_99",
    "null_n",
    "example",
    "query",
    "key",
    "query_token",
    "key_token",
    "query_part",
    "key_part",
]

Pairs = tuple[np.ndarray, np.ndarray]  # queries and keys, positions within a sentence


def _fe_to_lu(arguments: np.ndarray, predicate: np.ndarray, token_ids: np.ndarray) -> Pairs:
    return np.repeat(arguments, len(predicate)), np.tile(predicate, len(arguments))


def _lu_to_fe(arguments: np.ndarray, predicate: np.ndarray, token_ids: np.ndarray) -> Pairs:
    return _fe_to_lu(predicate, arguments, token_ids)


def _both(arguments: np.ndarray, predicate: np.ndarray, token_ids: np.ndarray) -> Pairs:
    one, other = _fe_to_lu(arguments, predicate, token_ids)
    return np.append(one, other), np.append(other, one)


def _zip(arguments: np.ndarray, predicate: np.ndarray, token_ids: np.ndarray) -> Pairs:
    count = min(len(arguments), len(predicate))
    # Where the piece at a position first occurs.
    first = np.argmax(token_ids[:, None] == token_ids, axis=0)
    return first[arguments[:count]], first[predicate[:count]]


READINGS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Pairs]] = {
    "max_fe_to_lu": _fe_to_lu,
    "max_lu_to_fe": _lu_to_fe,
    "max_both": _both,
    "code_zip": _zip,
}
HEADLINE = next(iter(READINGS))


@dataclass(frozen=True)
class Sentence:
    """An example of an activation file: its index there, and the pieces of its arguments and
    predicate."""

    example: int
    arguments: np.ndarray
    predicate: np.ndarray
    token_ids: np.ndarray


@dataclass(frozen=True)
class Place:
    """The pairs of a sentence under one reading; `others` are the sentences of its group that can
    stand in for it."""

    queries: np.ndarray
    keys: np.ndarray
    others: np.ndarray
    drawn: np.ndarray  # [DRAWS] of `others`


def sentences(activations: Activations, relations: Sequence[Mapping]) -> list[Sentence]:
    """Find the pieces that overlap the spans of each example's predicate and arguments, arguments
    in the order given.

    A sentence that lost an argument or its predicate, because max_length cut it or the tokenizer
    leaves nothing of it, is left out and reported. Raises UserError where the file holds other
    sentences, and where none is left.
    """
    if [str(row["id"]) for row in relations] != activations.ids.tolist():
        raise UserError(
            f"{activations.path} does not hold these relations' sentences; run its rule again."
        )
    found = []
    for example, row in enumerate(relations):
        own = slice(*activations.offsets[example : example + 2])
        start, end = activations.char_start[own], activations.char_end[own]
        # Special tokens have the span 0, 0.
        pieces = [
            np.flatnonzero((start < last) & (end > first))
            for first, last in [row["predicate"], *(each["span"] for each in row["arguments"])]
        ]
        if all(map(len, pieces)):
            found.append(
                Sentence(
                    example, np.concatenate(pieces[1:]), pieces[0], activations.token_ids[own]
                )
            )
    if not found:
        raise UserError(
            f"{activations.path}: no sentence has its predicate and arguments within max_length."
        )
    if len(found) < len(relations):
        print(
            f"{activations.path}: {len(relations) - len(found)} sentences lack a span",
            file=sys.stderr,
        )
    return found


def places(group: Sequence[Sentence], reading: str) -> list[Place]:
    """Build a Place for each sentence of `group`. All sentences have the same number of tokens."""
    pairs = [READINGS[reading](each.arguments, each.predicate, each.token_ids) for each in group]
    length = len(group[0].token_ids)
    related = np.zeros((len(group), length, length), bool)
    for own, each in zip(related, group, strict=True):
        own[_both(each.arguments, each.predicate, each.token_ids)] = True
    found = []
    for number, (queries, keys) in enumerate(pairs):
        free = ~related[:, queries, keys].any(axis=1)
        free[number] = False
        others = np.flatnonzero(free)
        generator = np.random.default_rng(seed_from("relation heads", reading, length, number))
        drawn = generator.choice(others if len(others) else [number], DRAWS)
        found.append(Place(queries, keys, others, drawn))
    return found


def on_layer(maps: Maps, groups: Sequence[Sequence[Sentence]], placed: Sequence[Sequence[Place]]):
    """Score one layer's heads in one reading: (own [n, heads], null [n, heads], nulls [DRAWS,
    heads]) in float64.

    The n sentences are in the order of `groups`; `nulls` are means over sentences.
    """
    own, null, nulls = [], [], 0.0
    for group, found in zip(groups, placed, strict=True):
        stacked = np.stack([maps[each.example] for each in group])
        for number, place in enumerate(found):
            values = stacked[:, :, place.queries, place.keys].max(axis=2).astype(np.float64)
            own.append(values[number])
            null.append(values[place.others].mean(axis=0) if len(place.others) else values[number])
            nulls = nulls + values[place.drawn]
    return np.array(own), np.array(null), nulls / len(own)


def measure(
    model: str, dumps: Mapping[tuple[int, int], Path], relations: Sequence[Mapping]
) -> pd.DataFrame:
    """Tabulate COLUMNS, and values without each block of sentences, for every replicate of
    `model`.

    dumps: {(init, seed): activation file} of the replicates. Metric "relation_heads" has a row for
    each reading (variant), layer and head (0: the mean over heads). sd and n are over sentences,
    `rank` is among all heads (1 the highest), `heads_99` is the 99th percentile of all heads'
    scores; for the null see above. Metric "relation_map" has the attention of one sentence, token
    by token, in the two heads with the highest headline score. The sentence is the paper's, if it
    is among the sentences, else the one on which the two heads together score highest.
    """
    parts = []
    for number, ((init, seed), path) in enumerate(dumps.items(), 1):
        print(f"relation_heads: {number}/{len(dumps)}: {path}", file=sys.stderr)
        activations = Activations(path)
        table, own, order = _scores(activations, sentences(activations, relations))
        rows = pd.concat([table, _example(activations, relations, table, own, order)])
        parts.append(rows.assign(model=model, stimuli="relations", init=init, seed=seed))
    return pd.concat(parts, ignore_index=True).reindex(columns=[*COLUMNS, *JACKKNIFE_COLUMNS])


def _scores(activations: Activations, found: Sequence[Sentence]):
    """Return the rows of metric "relation_heads", headline scores [layers, n, heads] and the n
    sentences in order."""
    lengths = np.array([len(each.token_ids) for each in found])
    groups = [
        [found[i] for i in np.flatnonzero(lengths == length)] for length in np.unique(lengths)
    ]
    order = [each for group in groups for each in group]
    place = np.array([each.example for each in order])
    parts, headline = [], []
    for reading in READINGS:
        placed = [places(group, reading) for group in groups]
        keys = {"metric": "relation_heads", "variant": reading}
        keys["null_n"] = sum(len(place.others) > 0 for each in placed for place in each)
        rows = []
        for layer in range(1, activations.layers + 1):
            own, null, nulls = on_layer(activations.attention(layer), groups, placed)
            expected = _with_mean(null).mean(axis=0)
            largest = np.percentile(_with_mean(nulls), PERCENTILE, axis=0)
            for row in head_rows(own, activations.examples, place, **keys, layer=layer):
                head = row["head"]
                rows.append(row | {"null": expected[head], "null_99": largest[head]})
            if reading == HEADLINE:
                headline.append(own)
        parts.append(_ranked(pd.DataFrame(rows)))
    return pd.concat(parts), np.array(headline), order


def _with_mean(heads: np.ndarray) -> np.ndarray:
    """Put the mean over heads before the heads, as `head_rows` counts them: [..., heads] -> [...,
    1 + heads]."""
    return np.concatenate([heads.mean(axis=-1, keepdims=True), heads], axis=-1)


def _ranked(rows: pd.DataFrame) -> pd.DataFrame:
    heads, without = rows.loc[rows["head"] > 0, "value"], in_columns(rows.pop("jackknife"))
    rows = pd.concat([rows, without], axis=1)
    return rows.assign(
        rank=heads.rank(ascending=False, method="first"), heads_99=np.percentile(heads, PERCENTILE)
    )


def _example(
    activations: Activations,
    relations: Sequence[Mapping],
    table: pd.DataFrame,
    own: np.ndarray,
    order: Sequence[Sentence],
) -> pd.DataFrame:
    best = table[table["variant"] == HEADLINE].nsmallest(EXAMPLE_HEADS, "rank")
    heads = list(zip(best["layer"], best["head"], strict=True))
    texts = [relations[each.example]["text"].strip() for each in order]
    summed = sum(own[layer - 1, :, head - 1] for layer, head in heads)
    sentence = order[texts.index(EXAMPLE) if EXAMPLE in texts else int(summed.argmax())]
    tokens, parts = _tokens(activations, relations[sentence.example]["text"], sentence)
    query, key = (axis.ravel() for axis in np.indices([len(tokens)] * 2))
    return pd.concat(
        pd.DataFrame(
            {
                "metric": "relation_map",
                "variant": HEADLINE,
                "layer": layer,
                "head": head,
                "n": 1,
                "value": (
                    activations.attention(layer)[sentence.example][head - 1]
                    .ravel()
                    .astype(np.float64)
                ),
                "example": relations[sentence.example]["id"],
                "query": query + 1,
                "key": key + 1,
                "query_token": tokens[query],
                "key_token": tokens[key],
                "query_part": parts[query],
                "key_part": parts[key],
            }
        )
        for layer, head in heads
    )


def _tokens(
    activations: Activations, text: str, sentence: Sentence
) -> tuple[np.ndarray, np.ndarray]:
    """Name each token of a sentence for a reader, and the part of the relation that it belongs
    to."""
    own = slice(*activations.offsets[sentence.example : sentence.example + 2])
    spans = zip(activations.char_start[own], activations.char_end[own], strict=True)
    tokens = np.array([text[start:end] for start, end in spans], object)
    special = activations.special[own]
    tokens[special] = SEPARATOR
    tokens[:1][special[:1]] = FIRST
    parts = np.full(len(tokens), "", object)
    parts[sentence.arguments], parts[sentence.predicate] = "argument", "predicate"
    return tokens, parts
