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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations
from bertshift.activations.words import shares_of_tokens, words_of
from bertshift.errors import UserError
from bertshift.metrics.pairs import Pair, matched_layers, opened
from bertshift.rows.blocks import LEVEL

KEYS = ["model", "init", "seed"]
TEXT_COLUMNS = [*KEYS, "position", "layer", "value"]
WORD_COLUMNS = [*KEYS, "position", "word", "value"]
FEWEST = 3  # texts that a word needs for a test


def _no_rows(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(columns=columns)


@dataclass(frozen=True)
class TextChanges:
    """texts: the change of each text (`position`, from 0) and layer; words: the mean change of
    each word in each text, in the last layer. Of every replicate, and of each draw of noise."""

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


def compare(pairs: Sequence[Pair], rows: Sequence[Mapping]) -> TextChanges:
    """Measure each text and word in each pair.

    rows: the texts. UserError for models of different widths.
    """
    texts, words = [], []
    for pair, model, reference in opened("text_change", list(pairs)):
        if model.width != reference.width:
            raise UserError(
                f"the states of one model are {model.width} wide and those of the other"
                f" {reference.width}, so no state is another one's change."
            )
        keys = {key: pair.keys[key] for key in KEYS}
        positions = np.flatnonzero(~is_special_or_first(model.special, model.offsets))
        text_of = model.example_of_token()[positions]
        for layer, ref_layer in matched_layers(model.layers, reference.layers):
            of_tokens = changes(
                model.states(layer, positions), reference.states(ref_layer, positions)
            )
            means = pd.Series(of_tokens).groupby(text_of).mean()
            frame = pd.DataFrame({"position": means.index, "layer": layer, "value": means.array})
            texts.append(frame.assign(**keys))
        last = np.full(len(model.special), np.nan)
        last[positions] = of_tokens
        words.append(pd.DataFrame(_words(model, last, rows)).assign(**keys))
    return TextChanges(
        pd.concat(texts, ignore_index=True)[TEXT_COLUMNS],
        pd.concat(words, ignore_index=True).reindex(columns=WORD_COLUMNS),
    )


def _words(model: Activations, of_tokens: np.ndarray, rows: Sequence[Mapping]) -> Iterator[dict]:
    """Yield the mean change of each word in each text, from those of all tokens."""
    texts = [words_of(row) for row in rows]
    for position, shares in enumerate(shares_of_tokens(model, texts)):
        start, end = model.offsets[position : position + 2]
        by_word: dict[str, list[float]] = {}
        for word, share in zip(texts[position], shares, strict=True):
            values = of_tokens[start:end][share > 0]
            values = values[~np.isnan(values)]
            if len(values):
                by_word.setdefault(spelling(word.text), []).append(values.mean())
        for word, values in by_word.items():
            yield {"position": position, "word": word, "value": float(np.mean(values))}


def spelling(word: str) -> str:
    """Spell a word without signs around it, in lower case; signs alone stay."""
    return word.strip(string.punctuation).lower() or word


def summarise_texts(own: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """Tabulate texts, [texts, layers]: the mean change over replicates of each layer, with
    columns `layer_0` and so on, and with noise `noise`, its mean over draws in the last layer.
    Sorted by the last layer, the largest first."""
    by_layer = own.groupby(["position", "layer"])["value"].mean().unstack()
    last = by_layer.columns[-1]
    table = by_layer.add_prefix("layer_").rename_axis(columns=None)
    if len(noise):
        of_last = noise[noise["layer"] == last]
        table["noise"] = of_last.groupby("position")["value"].mean()
    return table.sort_values(f"layer_{last}", ascending=False, kind="stable").reset_index()


def summarise_words(own: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """Tabulate word types: word, n (texts), value, low, high and, with noise, noise, p, q.

    own, noise: columns position, word and value, one row for each text and word

    value: the mean over texts, with its t interval. p: of "no more than by noise", by a one-sided
    t test of the differences in the same texts; q: corrected for all words that are tested
    (Benjamini and Hochberg 1995). Words of fewer than FEWEST texts have no interval and no test.
    Sorted by value, the largest first.
    """
    words = own.groupby("word")["value"].agg(n="count", value="mean", sd="std")
    error = words["sd"] / np.sqrt(words["n"])
    t = stats.t.ppf((1 + LEVEL) / 2, words["n"] - 1) * error
    is_tested = words["n"] >= FEWEST
    words["low"] = (words["value"] - t).clip(lower=0).where(is_tested)
    words["high"] = (words["value"] + t).clip(upper=2).where(is_tested)
    columns = ["word", "n", "value", "low", "high"]
    if len(noise):
        keys = ["position", "word"]
        beside = own.merge(noise, on=keys, suffixes=("", "_noise"))
        words["noise"] = beside.groupby("word")["value_noise"].mean()
        more = beside.assign(more=beside["value"] - beside["value_noise"]).groupby("word")["more"]
        statistic = more.mean() / (more.std() / np.sqrt(more.count()))
        p = pd.Series(stats.t.sf(statistic, more.count() - 1), statistic.index)
        words["p"] = p.where(is_tested)
        tested = words["p"].dropna()
        words["q"] = pd.Series(stats.false_discovery_control(tested), tested.index)
        columns += ["noise", "p", "q"]
    return words.sort_values("value", ascending=False, kind="stable").reset_index()[columns]
