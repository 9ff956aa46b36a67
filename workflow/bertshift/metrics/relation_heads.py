"""Attention between predicates and their arguments (Kovaleva et al. 2019, section 4.2, figure
3).

    score(layer, head) = mean over sentences of the largest A[query, key]

over pairs of a piece of an argument (in FrameNet: a core frame element) and a piece of the
predicate (the frame-evoking word).

Readings: "max_fe_to_lu", the text's, takes all pairs with the argument as query, as the figure
does; "max_lu_to_fe" those with the predicate as query, which the text mentions; "max_both" all of
these. "code_zip" is the calculation of the paper's notebook, and of the published figure: the k-th
piece of the arguments with the k-th of the predicate while there are both, each taken where such a
piece first occurs in the sentence. (The notebook also cuts sentences after 17 pieces, which takes
the end of 3 of 473, but no predicate or element; here they are complete.)

Null: the score of the same positions if nothing related them. It takes, for each sentence, the
same pairs of positions in another sentence of as many tokens, where they do not join a predicate
and its argument. Distance, position in the sentence and number of pairs are the same, so a head
that looks at positions alone scores as in its null. `null` is the mean over all such sentences;
`null_99` the 99th percentile of 1000 nulls with one sentence drawn for each. A sentence without
any such sentence counts with its own score, which only raises the null; `null_n` counts those that
have one.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

import numpy as np
import pandas as pd

from bertshift.activations.store import Activations, Maps
from bertshift.errors import UserError
from bertshift.metrics.pairs import head_rows
from bertshift.rows.table import Table, concat
from bertshift.seeds import seed_from

DRAWS = 1000
PERCENTILE = 99
# The paper's; another vocabulary's sentences have their own.
EXAMPLE = "He was becoming agitated ."
EXAMPLE_HEADS = 2
FIRST, SEPARATOR = "[first]", "[separator]"  # names of special tokens, for any tokenizer
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


@dataclass(frozen=True)
class MarkedSentence:
    """An example of an activation file: its index there, and the pieces of its arguments and
    predicate."""

    example: int
    arguments: np.ndarray
    predicate: np.ndarray
    token_ids: np.ndarray


def _pair_fe_to_lu(sentence: MarkedSentence) -> Pairs:
    queries = np.repeat(sentence.arguments, len(sentence.predicate))
    keys = np.tile(sentence.predicate, len(sentence.arguments))
    return queries, keys


def _pair_lu_to_fe(sentence: MarkedSentence) -> Pairs:
    keys, queries = _pair_fe_to_lu(sentence)
    return queries, keys


def _pair_all(sentence: MarkedSentence) -> Pairs:
    queries, keys = _pair_fe_to_lu(sentence)
    return np.append(queries, keys), np.append(keys, queries)


def _zip_pieces(sentence: MarkedSentence) -> Pairs:
    count = min(len(sentence.arguments), len(sentence.predicate))
    # The first position of the same piece as at each position.
    first = np.argmax(sentence.token_ids[:, None] == sentence.token_ids, axis=0)
    return first[sentence.arguments[:count]], first[sentence.predicate[:count]]


READINGS: dict[str, Callable[[MarkedSentence], Pairs]] = {
    "max_fe_to_lu": _pair_fe_to_lu,
    "max_lu_to_fe": _pair_lu_to_fe,
    "max_both": _pair_all,
    "code_zip": _zip_pieces,
}
HEADLINE = "max_fe_to_lu"


@dataclass(frozen=True)
class SentencePairs:
    """The pairs of a sentence under one reading; `substitutes` are the sentences of its group that
    its null takes."""

    queries: np.ndarray
    keys: np.ndarray
    substitutes: np.ndarray
    drawn: np.ndarray  # [DRAWS] of `substitutes`


def sentences(activations: Activations, relations: Sequence[Mapping]) -> list[MarkedSentence]:
    """Find the pieces that overlap the spans of each example's predicate and arguments, arguments
    in the order given.

    A sentence that lost an argument or its predicate, because max_length cut it or the tokenizer
    leaves nothing of it, is left out and reported. UserError where the file holds other sentences,
    and where none is left.
    """
    if [str(row["id"]) for row in relations] != activations.ids.tolist():
        raise UserError(
            f"{activations.path} does not hold these relations' sentences; run its rule again."
        )
    complete = []
    for example, row in enumerate(relations):
        start, end = activations.offsets[example : example + 2]
        char_start = activations.char_start[start:end]
        char_end = activations.char_end[start:end]
        spans = [row["predicate"], *(argument["span"] for argument in row["arguments"])]
        # Special tokens have the span 0, 0.
        predicate, *arguments = [
            np.flatnonzero((char_start < last) & (char_end > first)) for first, last in spans
        ]
        if len(predicate) and all(len(argument) for argument in arguments):
            token_ids = activations.token_ids[start:end]
            complete.append(
                MarkedSentence(example, np.concatenate(arguments), predicate, token_ids)
            )
    if not complete:
        raise UserError(
            f"{activations.path}: no sentence has its predicate and arguments within max_length."
        )
    if len(complete) < len(relations):
        print(
            f"{activations.path}: {len(relations) - len(complete)} sentences lack a span",
            file=sys.stderr,
        )
    return complete


def group_pairs(group: Sequence[MarkedSentence], reading: str) -> list[SentencePairs]:
    """Find the pairs of each sentence of `group`, whose sentences have the same number of
    tokens."""
    length = len(group[0].token_ids)
    related = np.zeros((len(group), length, length), bool)
    for number, sentence in enumerate(group):
        queries, keys = _pair_all(sentence)
        related[number, queries, keys] = True
    pairs = []
    for number, sentence in enumerate(group):
        queries, keys = READINGS[reading](sentence)
        is_substitute = ~related[:, queries, keys].any(axis=1)
        is_substitute[number] = False
        substitutes = np.flatnonzero(is_substitute)
        generator = np.random.default_rng(seed_from("relation heads", reading, length, number))
        drawn = generator.choice(substitutes if len(substitutes) else [number], DRAWS)
        pairs.append(SentencePairs(queries, keys, substitutes, drawn))
    return pairs


def score_layer(
    maps: Maps,
    groups: Sequence[Sequence[MarkedSentence]],
    pairs: Sequence[Sequence[SentencePairs]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score one layer's heads in one reading: (scores [n, heads], null [n, heads], nulls
    [DRAWS, heads]) in float64.

    The n sentences are in the order of `groups`; `nulls` are means over sentences.
    """
    scores, null, nulls = [], [], 0.0
    for group, pairs_of_group in zip(groups, pairs, strict=True):
        stacked = np.stack([maps[sentence.example] for sentence in group])
        for number, sentence_pairs in enumerate(pairs_of_group):
            attention = stacked[:, :, sentence_pairs.queries, sentence_pairs.keys]
            values = attention.max(axis=2).astype(np.float64)
            score = values[number]
            substitutes = sentence_pairs.substitutes
            scores.append(score)
            null.append(values[substitutes].mean(axis=0) if len(substitutes) else score)
            nulls = nulls + values[sentence_pairs.drawn]
    return np.array(scores), np.array(null), nulls / len(scores)


def measure(
    model: str, dumps: Mapping[tuple[int, int], Path], relations: Sequence[Mapping]
) -> Table:
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
        complete = sentences(activations, relations)
        order = sorted(complete, key=lambda sentence: len(sentence.token_ids))
        table, headline = _score_heads(activations, order)
        example = _example_map(activations, relations, table.rows, headline, order)
        both = concat([table, Table.of(example)])
        parts.append(both.assign(model=model, stimuli="relations", init=init, seed=seed))
    complete_table = concat(parts)
    return complete_table.keep(complete_table.rows.reindex(columns=COLUMNS))


def _score_heads(
    activations: Activations, order: Sequence[MarkedSentence]
) -> tuple[Table, np.ndarray]:
    """Return the rows of metric "relation_heads", and headline scores [layers, n, heads] of the n
    sentences, which are in the order of their lengths."""
    groups = [list(group) for _, group in groupby(order, lambda sentence: len(sentence.token_ids))]
    present = np.array([sentence.example for sentence in order])
    tables, headline = [], []
    for reading in READINGS:
        pairs = [group_pairs(group, reading) for group in groups]
        null_n = sum(len(sentence.substitutes) > 0 for sentence in chain(*pairs))
        keys = {"metric": "relation_heads", "variant": reading, "null_n": null_n}
        rows = []
        for layer in range(1, activations.layers + 1):
            scores, null, nulls = score_layer(activations.attention(layer), groups, pairs)
            null_mean = _prepend_mean(null).mean(axis=0)
            null_99 = np.percentile(_prepend_mean(nulls), PERCENTILE, axis=0)
            for row in head_rows(scores, activations.examples, present, **keys, layer=layer):
                head = row["head"]
                rows.append(row | {"null": null_mean[head], "null_99": null_99[head]})
            if reading == HEADLINE:
                headline.append(scores)
        tables.append(_rank_heads(Table.of_records(rows)))
    return concat(tables), np.array(headline)


def _prepend_mean(heads: np.ndarray) -> np.ndarray:
    """Put the mean over heads before the heads, as `head_rows` counts them: [..., heads] ->
    [..., 1 + heads]."""
    return np.concatenate([heads.mean(axis=-1, keepdims=True), heads], axis=-1)


def _rank_heads(table: Table) -> Table:
    heads = table.where(table["head"] > 0)["value"]
    ranks = heads.rank(ascending=False, method="first")
    return table.assign(rank=ranks, heads_99=np.percentile(heads, PERCENTILE))


def _example_map(
    activations: Activations,
    relations: Sequence[Mapping],
    table: pd.DataFrame,
    headline: np.ndarray,
    order: Sequence[MarkedSentence],
) -> pd.DataFrame:
    """Return the rows of metric "relation_map"."""
    best = table[table["variant"] == HEADLINE].nsmallest(EXAMPLE_HEADS, "rank")
    heads = list(zip(best["layer"], best["head"], strict=True))
    texts = [relations[sentence.example]["text"].strip() for sentence in order]
    if EXAMPLE in texts:
        number = texts.index(EXAMPLE)
    else:
        total = sum(headline[layer - 1, :, head - 1] for layer, head in heads)
        number = int(total.argmax())
    sentence = order[number]
    relation = relations[sentence.example]
    tokens, parts = _name_tokens(activations, relation["text"], sentence)
    query, key = np.indices((len(tokens), len(tokens))).reshape(2, -1)
    maps = []
    for layer, head in heads:
        attention = activations.attention(layer)[sentence.example][head - 1]
        columns = {
            "metric": "relation_map",
            "variant": HEADLINE,
            "layer": layer,
            "head": head,
            "n": 1,
            "value": attention.ravel().astype(np.float64),
            "example": relation["id"],
            "query": query + 1,
            "key": key + 1,
            "query_token": tokens[query],
            "key_token": tokens[key],
            "query_part": parts[query],
            "key_part": parts[key],
        }
        maps.append(pd.DataFrame(columns))
    return pd.concat(maps, ignore_index=True)


def _name_tokens(
    activations: Activations, text: str, sentence: MarkedSentence
) -> tuple[np.ndarray, np.ndarray]:
    """Name each token of a sentence for a reader, and its part in the relation."""
    start, end = activations.offsets[sentence.example : sentence.example + 2]
    spans = zip(activations.char_start[start:end], activations.char_end[start:end], strict=True)
    tokens = np.array([text[first:last] for first, last in spans], object)
    special = activations.special[start:end]
    tokens[special] = SEPARATOR
    if special[0]:
        tokens[0] = FIRST
    parts = np.full(len(tokens), "", object)
    parts[sentence.arguments] = "argument"
    parts[sentence.predicate] = "predicate"
    return tokens, parts
