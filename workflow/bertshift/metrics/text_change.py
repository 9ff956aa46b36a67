"""How much do the hidden states of each text, and of each word, change?

For token t of two models with states x_t and y_t, and the means x and y over all content tokens,

    change_t = 1 - cos(x_t - x, y_t - y)

from 0 to 2. The means are taken off, as states have a large part in common (Ethayarajh 2019,
section 4.1) that would make all cosines near 1. It is the cosine distance of a state and what it
was, so that both models must be of one width, and of one parent. A text's change is the mean over
its content tokens, a word's the mean over those that share a character with it
(`activations.words`).
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse, stats

from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations
from bertshift.activations.words import shares_of_tokens, words_of
from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair, matched_layers, opened
from bertshift.rows.blocks import LEVEL

# Whose change a row has: of the model, and of what it stands beside.
MODEL, NOISE, SEEDS = "model", "noise", "seeds"
TEXT_COLUMNS = ["of", "position"]
WORD_COLUMNS = ["of", "position", "number", "segment", "written", "word"]
FEWEST = 3  # texts that a word needs for a test


def _no_rows(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(columns=columns)


@dataclass(frozen=True)
class TextChanges:
    """The changes of texts and words in each layer, columns `layer_0` and so on, of every
    replicate (`of` is MODEL), every draw of noise (NOISE) and every two seeds of one reference
    (SEEDS); of the last two in the last layer alone.

    texts: one row a text, `position` from 0; words: one row a word at its place, `number` from 0
    in the text, as `written` and as spelled (`word`), in `segment` 0 or 1 of a pair. NaN for words
    without a content token.
    """

    texts: pd.DataFrame = field(default_factory=partial(_no_rows, TEXT_COLUMNS))
    words: pd.DataFrame = field(default_factory=partial(_no_rows, WORD_COLUMNS))


def changes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Calculate the change of each token [tokens] from states x and y [tokens, width]. NaN for a
    state that is the mean of all."""
    x = x - x.mean(axis=0, dtype=np.float64)
    y = y - y.mean(axis=0, dtype=np.float64)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1 - np.einsum("ij,ij->i", x, y) / lengths
    is_same = (x == y).all(axis=1)
    return np.where(is_same & (lengths > 0), 0.0, found)


def two_seeds(pairs: Sequence[Pair]) -> list[Pair]:
    """Pair each two seeds of one reference with each other."""
    return [
        Pair(one.model, other.model)
        for one, other in combinations(pairs, 2)
        if one.reference == other.reference and one.model != other.model
    ]


def compare(pairs: Mapping[str, Sequence[Pair]], rows: Sequence[Mapping]) -> TextChanges:
    """Measure each text and word in each pair.

    pairs: by MODEL, NOISE and SEEDS. rows: the texts. UserError for models of different widths.
    """
    places = _Places(Activations(pairs[MODEL][0].model), rows)
    texts, words = [], []
    for of, of_one in pairs.items():
        layers = slice(None) if of == MODEL else slice(-1, None)
        for _, model, reference in opened("text_change", list(of_one)):
            by_token = _by_token(model, reference, layers)
            texts.append(places.means_of_texts(by_token).assign(of=of))
            words.append(places.means_of_words(by_token).assign(of=of))
    return TextChanges(_stack(texts, TEXT_COLUMNS), _stack(words, WORD_COLUMNS))


def _by_token(model: Activations, reference: Activations, layers: slice) -> pd.DataFrame:
    """Calculate the change of each token in some layers, [tokens, layers]. NaN for those that are
    no content tokens. UserError for models of different widths."""
    if model.width != reference.width:
        raise UserError(
            f"the states of one model are {model.width} wide and those of the other"
            f" {reference.width}, so no state is another one's change."
        )
    positions = np.flatnonzero(~is_special_or_first(model.special, model.offsets))
    found = {
        f"layer_{layer}": changes(
            model.states(layer, positions), reference.states(ref_layer, positions)
        )
        for layer, ref_layer in matched_layers(model.layers, reference.layers)[layers]
    }
    return pd.DataFrame(found, positions).reindex(range(len(model.special)))


class _Places:
    """Which tokens each text and each word has."""

    def __init__(self, model: Activations, rows: Sequence[Mapping]):
        texts = [words_of(row) for row in rows]
        self._text_of_token = model.example_of_token()
        self._words = pd.DataFrame(
            [
                (position, number, word.segment, word.text, spelling(word.text))
                for position, words in enumerate(texts)
                for number, word in enumerate(words)
            ],
            columns=WORD_COLUMNS[1:],
        )
        owners, tokens, first = [], [], 0
        for start, shares in zip(model.offsets[:-1], shares_of_tokens(model, texts), strict=True):
            own, inside = np.nonzero(shares)
            owners.append(first + own)
            tokens.append(start + inside)
            first += len(shares)
        places = np.concatenate(owners), np.concatenate(tokens)
        shape = len(self._words), len(model.special)
        self._is_inside = sparse.csr_array((np.ones(len(places[0])), places), shape)

    def means_of_texts(self, by_token: pd.DataFrame) -> pd.DataFrame:
        means = by_token.groupby(self._text_of_token).mean().dropna(how="all")
        return means.rename_axis("position").reset_index()

    def means_of_words(self, by_token: pd.DataFrame) -> pd.DataFrame:
        values = by_token.to_numpy()
        is_measured = ~np.isnan(values)
        sums = self._is_inside @ np.where(is_measured, values, 0)
        with np.errstate(invalid="ignore"):
            means = sums / (self._is_inside @ is_measured.astype(float))
        return pd.concat([self._words, pd.DataFrame(means, columns=by_token.columns)], axis=1)


def _stack(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    stacked = pd.concat(tables, ignore_index=True)
    return stacked[[*columns, *layers_of(stacked)]]


def layers_of(table: pd.DataFrame) -> list[str]:
    """List a table's columns of layers, by rising layer."""
    return [column for column in table if column.startswith("layer_")]


def spelling(word: str) -> str:
    """Spell a word without signs around it, in lower case; signs alone stay."""
    return word.strip(string.punctuation).lower() or word


def summarise_texts(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate texts from `TextChanges.texts`: position, the mean change over replicates of each
    layer, and noise and seeds, where there are any: their means in the last layer. Sorted by the
    last layer, the largest first."""
    layers = layers_of(rows)
    means = rows.groupby(["of", "position"])[layers].mean()
    table = means.loc[MODEL].copy()
    for null in (NOISE, SEEDS):
        if null in means.index.levels[0]:
            table[null] = means.loc[null][layers[-1]]
    return table.sort_values(layers[-1], ascending=False, kind="stable").reset_index()


def summarise_words(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate word types: word, n (texts), value, low, high and, where there are any, noise, p, q
    and seeds.

    rows: of, position, word, value, one row for each word in a text at least

    value: the mean over texts, with its t interval; noise and seeds: theirs. p: of "no more than
    by noise", by a one-sided t test of the differences in the same texts; q: corrected for all
    words that are tested (Benjamini and Hochberg 1995). Words of fewer than FEWEST texts have no
    interval and no test. Sorted by value, the largest first.
    """
    in_texts = rows.groupby(["of", "word", "position"])["value"].mean().dropna()
    beside = in_texts.unstack("of").reindex(columns=[MODEL, NOISE, SEEDS])
    words = beside[MODEL].groupby("word").agg(n="count", value="mean", sd="std")
    error = words["sd"] / np.sqrt(words["n"])
    t = stats.t.ppf((1 + LEVEL) / 2, words["n"] - 1) * error
    is_tested = words["n"] >= FEWEST
    words["low"] = (words["value"] - t).clip(lower=0).where(is_tested)
    words["high"] = (words["value"] + t).clip(upper=2).where(is_tested)
    columns = ["n", "value", "low", "high"]
    if beside[NOISE].notna().any():
        words[NOISE] = beside[NOISE].groupby("word").mean()
        more = (beside[MODEL] - beside[NOISE]).groupby("word")
        statistic = more.mean() / (more.std() / np.sqrt(more.count()))
        p = pd.Series(stats.t.sf(statistic, more.count() - 1), statistic.index)
        words["p"] = p.where(is_tested)
        tested = words["p"].dropna()
        words["q"] = pd.Series(stats.false_discovery_control(tested), tested.index)
        columns += [NOISE, "p", "q"]
    if beside[SEEDS].notna().any():
        words[SEEDS] = beside[SEEDS].groupby("word").mean()
        columns.append(SEEDS)
    words = words.sort_values("value", ascending=False, kind="stable")
    return words.rename_axis(columns=None)[columns].reset_index()
