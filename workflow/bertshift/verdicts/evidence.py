"""The numbers of one replicate in the tables of one figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bertshift.errors import UserError
from bertshift.naming import Name
from bertshift.rows import labelling, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS


class NotTestableError(Exception):
    """The tables cannot decide a claim; the message says what is missing."""


def ratio(value: float, to: float, what: str) -> float:
    """Express `value` as a share or a multiple of `to`; NotTestableError, which calls it `what`,
    where `to` is 0."""
    if abs(to) < statistics.EQUAL:
        raise NotTestableError(f"{what} is 0, and nothing is a share or a multiple of that")
    return value / to


def rank_correlation(values: Sequence[float], others: Sequence[float], what: str) -> float:
    """Compute Spearman's rank correlation; NotTestableError, which calls both `what`, where either
    is constant."""
    if min(np.ptp(values), np.ptp(others)) < statistics.EQUAL:
        raise NotTestableError(
            f"{what} does not differ between layers, so that there is no rank correlation"
        )
    return float(spearmanr(values, others).statistic)


class Depth(NamedTuple):
    """Layers `first` to `last` of the paper's model of `of` layers, for a model of `layers`
    layers."""

    first: int
    last: int
    of: int
    layers: int


def layers_in_words(first: int, last: int, of: int) -> str:
    """Name some layers of a model: `layer 6 of 6`, `layers 11 to 12 of 12`."""
    return f"layer {first} of {of}" if first == last else f"layers {first} to {last} of {of}"


@dataclass(frozen=True)
class Curve:
    """One replicate's value per layer, and the number of layers (without embeddings) of its model.

    `asked` collects the layers of the paper's model that were asked for, with those of ours that
    lie at the same depth.
    """

    values: Mapping[int, float]
    layers: int
    asked: dict["Depth", list[int]] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, layer: int) -> float:
        if layer not in self.values:
            raise NotTestableError(f"nothing measured at {layer} of {self.layers} layers")
        return self.values[layer]

    def __sub__(self, other: "Curve") -> "Curve":
        if self.layers != other.layers:
            raise NotTestableError(
                f"models of {self.layers} and of {other.layers} layers are not compared"
            )
        return self.of({layer: self[layer] - other[layer] for layer in self.values})

    def of(self, values: Mapping[int, float]) -> "Curve":
        """Make the curve of other values of the same model."""
        return replace(self, values=values)

    def part(self, first: int, last: int, of: int) -> list[int]:
        """List our layers whose share of the depth is wholly within layers first..last of the
        paper's `of` layers."""
        low, high = (first - 1) / of - 1e-9, last / of + 1e-9
        n = self.layers
        inside = [k for k in range(1, n + 1) if low <= (k - 1) / n and k / n <= high]
        if not inside:
            raise NotTestableError(
                f"no layer of {self.layers} lies within layers {first} to {last} of {of}"
            )
        self.asked[Depth(first, last, of, n)] = inside
        return inside

    def mean(self, first: int, last: int, of: int) -> float:
        return float(np.mean([self[k] for k in self.part(first, last, of)]))

    def at(self, layer: int, of: int) -> int:
        """Find our layer at the same relative depth as `layer` of the paper's `of` layers, if
        there is one."""
        if layer * self.layers % of:
            raise NotTestableError(
                f"layer {layer} of {of} falls between two layers of {self.layers}"
            )
        found = layer * self.layers // of
        self.asked[Depth(layer, layer, of, self.layers)] = [found]
        return found

    def exactly(self, of: int) -> "Curve":
        """Return the curve itself, if its model has `of` layers: for statements about a level or a
        layer number, which another depth cannot confirm or refute."""
        if self.layers != of:
            raise NotTestableError(f"about a model of {of} layers; this one has {self.layers}")
        return self

    @property
    def peak(self) -> int:
        return max(range(1, self.layers + 1), key=lambda k: self[k])


def labelled(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put all rows together. `name` says of which model a row is: its tasks (`mrpc`,
    `mrpc.random`, `wnli+mrpc`), `base` or `randomized`; `rte-mnli` of two fine-tuned models that
    are compared.

    Where two models of one metric share a name, the first listed stands for it.
    """
    parts, first = [], {}
    for path, table in tables.items():
        # Which is what its blocks are of.
        if "delta" in table and {"before", "baseline"} & {*table}:
            table = table.assign(value=table["delta"])
        for model, rows in table.groupby("model", sort=False):
            name = _name(labelling.role_of(model, rows["seed"]))
            if "ref_seed" in rows and rows["ref_seed"].gt(0).any():
                name += f"-{labelling.task_of(rows['reference'].iloc[0])}"
            # The models of a sweep are variants of one.
            one = path if "position" in rows else model
            if first.setdefault((rows["metric"].iloc[0], name), one) == one:
                parts.append(rows.assign(name=name))
    if not parts:
        raise UserError(
            "claims need the tables of at least one model; list models under 'figures'."
        )
    table = pd.concat(parts, ignore_index=True)
    # Texts side by side in one array: rows are taken thousands of times, and an array for each
    # column takes most of that time.
    return table.astype(dict.fromkeys(table.select_dtypes("str"), object)).copy()


def _name(role: str) -> str:
    name = Name.of(role)
    return str(Name(name.stages, ("random",) if name.variant("random") else ()))


# Rows of runs that did not fail to train; name and statistics.RUN (0 where there is none) of those
# that did.
Trained = tuple[pd.DataFrame, frozenset[tuple]]


def _divided(rows: pd.DataFrame, bad: np.ndarray) -> Trained:
    if not bad.any():
        return rows, frozenset()
    runs = rows[bad].reindex(columns=["name", *statistics.RUN]).fillna(0)
    return rows[~bad], frozenset(runs.itertuples(index=False, name=None))


class Results:
    """Rows of `labelled`, of one replicate or of all. Claims share it: what several of them ask
    for is looked up once.

    `left_out` has the values without each block of inputs, under the labels of the rows that have
    them; `failed` says by label which rows are of runs that failed to train.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        left_out: pd.DataFrame | None = None,
        failed: np.ndarray | None = None,
    ):
        self.table = table.drop(columns=JACKKNIFE_COLUMNS, errors="ignore")
        self._left_out, self._failed = left_out, failed
        if left_out is None:
            self._left_out = (
                table.reindex(columns=JACKKNIFE_COLUMNS).dropna(axis=1, how="all").dropna()
            )
            self._failed = statistics.failures(table).to_numpy()
        self._chosen: dict[tuple, pd.DataFrame] = {}
        self._trained: dict[tuple, Trained] = {}

    @cached_property
    def models(self) -> dict[str, pd.DataFrame]:
        return dict(list(self.table.groupby("name")))

    @cached_property
    def pretraining_runs(self) -> dict[int, "Results"]:
        return {init: self.part(rows) for init, rows in self.table.groupby("init", sort=False)}

    @cached_property
    def seeds(self) -> dict[str, "Results"]:
        """Split one pretraining run's results into those of each fine-tuning seed, or pair of
        seeds. Rows of a pretrained model belong to every one, but its probes are divided among
        them (`statistics.is_own_probe`)."""
        table = statistics.with_replicates(self.table)
        shared = self.table[table["seed"] == 0]
        parts, seeds = {}, table["seed"].max()
        for name, rows in table[table["seed"] != 0].groupby("replicate", sort=False):
            parents = statistics.of_own_probes(shared, rows["seed"].iloc[0], seeds)
            chosen = self.table.index.isin(parents.index.union(rows.index))
            parts[name] = self.part(self.table[chosen])
        return parts

    def part(self, rows: pd.DataFrame) -> "Results":
        left_out = self._left_out.loc[self._left_out.index.intersection(rows.index)]
        return Results(rows, left_out, self._failed)

    def without_blocks(self, names: set[str]) -> list["Results"]:
        """List these results without each block of inputs; empty if the models of these names have
        no such values."""
        return [] if names.isdisjoint(self._with_blocks) else self._changed

    @cached_property
    def _with_blocks(self) -> set[str]:
        return set(self.table.loc[self.table.index.intersection(self._left_out.index), "name"])

    @cached_property
    def _changed(self) -> list["Results"]:
        return [_Changed(self, self._left_out[block]) for block in self._left_out]

    def has_seed_of(self, names: set[str]) -> bool:
        """Tell whether some model of these names is fine-tuned."""
        return any((self.models[name]["seed"] != 0).any() for name in names if name in self.models)

    def rows(self, name: str, **where) -> pd.DataFrame:
        """Select the rows of the model `name` that have these values; NotTestableError if there
        are none."""
        key = (name, *where.items())
        if key not in self._chosen:
            self._chosen[key] = self._choose(name, where)
        return self._chosen[key]

    def _choose(self, name: str, where: Mapping) -> pd.DataFrame:
        if name not in self.models:
            raise NotTestableError(f"no results for {labelling.label_of(name)}")
        rows = self.models[name]
        found = np.arange(len(rows))
        for column, value in where.items():
            found = found[rows[column].to_numpy()[found] == value]
            if not len(found):
                raise NotTestableError(
                    f"no {NOUNS.get(column, column)} '{value}' for {labelling.label_of(name)}"
                )
        return rows.iloc[found] if where else rows

    def trained(self, name: str, **where) -> Trained:
        """Divide `rows` into those of runs that trained and the runs that failed to."""
        key = (name, *where.items())
        if key not in self._trained:
            self._trained[key] = self._divide(name, where)
        return self._trained[key]

    def _divide(self, name: str, where: Mapping) -> Trained:
        rows = self.rows(name, **where)
        return _divided(rows, self._failed[rows.index])


class _Changed(Results):
    """The rows of other results with other values, found where those are found."""

    def __init__(self, of: Results, values: pd.Series):
        changed = values.reindex(of.table.index).fillna(of.table["value"])
        super().__init__(of.table.assign(value=changed), of._left_out[:0], of._failed)
        self.of = of
        # By label, without looking these up: rows are taken thousands of times.
        self._by_label = np.full(of.table.index.max() + 1, np.nan)
        self._by_label[of.table.index] = changed

    def _choose(self, name: str, where: Mapping) -> pd.DataFrame:
        return self._with_values(self.of.rows(name, **where))

    def _divide(self, name: str, where: Mapping) -> Trained:
        rows, failed = self.of.trained(name, **where)
        return self._with_values(rows), failed

    def _with_values(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Give rows of the other results the changed values; they share all other columns."""
        return rows.assign(value=self._by_label[rows.index])


class Evidence:
    """The numbers that a claim reads. Each number is a mean over the rows that it is about.

    NotTestableError says which rows are missing. `read` collects the names of the models that were
    asked for. `failed` collects their runs that failed to train and are left out, as `Trained` has
    them. `asked` collects the layers that the curves were asked for.
    """

    def __init__(self, results: Results):
        self.results = results
        self.read: set[str] = set()
        self.failed: set[tuple] = set()
        self.asked: dict[Depth, list[int]] = {}

    def layers_here(self) -> Iterator[str]:
        """Say in a sentence which of our layers stand for the paper's, for models of another
        depth."""
        for depth, here in self.asked.items():
            if depth.layers != depth.of:
                theirs = layers_in_words(*depth[:3])
                ours = layers_in_words(here[0], here[-1], depth.layers)
                yield f"{theirs.capitalize()}: here {ours}."

    def _by(self, column: str, rows: pd.DataFrame) -> Curve:
        """Average rows by the numbers in a column, the largest of which is the number of
        layers."""
        means = {int(key): value for key, value in rows.groupby(column)["value"].mean().items()}
        return Curve(means, max(means), self.asked)

    def curve(self, task: str, variant: str, stimuli: str | None = None) -> Curve:
        """Read head 0 by layer, of the model of `task`, on `stimuli` or else on the first that its
        table lists."""
        where = {"head": 0, "variant": variant}
        stimuli = stimuli or self.every_row(task, **where)["stimuli"].iloc[0]
        return self.by_layer(task, **where, stimuli=stimuli)

    def by_layer(self, name: str, **where) -> Curve:
        """Average `rows` by layer."""
        return self._by("layer", self.rows(name, **where))

    def spearman(self, name: str, kind: str) -> Curve:
        """Read the Spearman correlation of a structural probe (`depth`, `distance`) on dev by
        layer, at the highest rank that was trained."""
        where = {"metric": "structural_probe", "measure": "spearman", "split": "dev"}
        rows = self.rows(name, **where, kind=kind)
        return self._by("layer", rows[rows["rank"] == rows["rank"].max()])

    def edge_probes(self, name: str, variant: str, **where) -> pd.DataFrame:
        """Read the micro-F1 of edge probes over all labels, from 0 to 1."""
        return self.rows(name, metric="edge_probe", view="micro_all", variant=variant, **where)

    def ablations(self, task: str, metric: str = "ablation") -> pd.DataFrame:
        """Read the headline rows of heads (or, head 0, layers) that attend alike to all tokens.
        `delta`, in points, is to the score with nothing disabled.

        What was run on a sample and again on the complete development set has its complete row
        alone.
        """
        rows = self.rows(task, metric=metric, variant="uniform", headline=True)
        rows = rows.sort_values("sample", kind="stable")  # complete, sample
        rows, run = (
            rows.drop_duplicates(["init", "seed", "layer", "head"]),
            ["init", "seed", "sample"],
        )
        delta = rows["delta"]
        if metric == "ablation":  # values may be those without a block of inputs
            base = self.rows(task, metric=metric, variant="none", headline=True).set_index(run)[
                "value"
            ]
            delta = rows["value"] - base[pd.MultiIndex.from_frame(rows[run])].to_numpy()
        return rows.assign(delta=statistics.POINTS * delta)

    def relation_heads(self, name: str, variant: str) -> pd.DataFrame:
        """Read every head's score for predicates and their arguments, with its rank and its
        null."""
        rows = self.every_row(name, metric="relation_heads", variant=variant)
        return rows[rows["head"] > 0]

    def attention_to(
        self, task: str, token: str, variant: str = "received", before: bool = False
    ) -> pd.DataFrame:
        """Read every head's attention (0: their mean) to a kind of token on the task's inputs, of
        its model or of what that was before fine-tuning."""
        name = "base" if before else task
        return self.rows(name, metric="attention_to", stimuli=task, token=token, variant=variant)

    def scores(self, name: str) -> pd.DataFrame:
        """Read every metric of a fine-tuned model, in points; `mrpc.random` began with random
        weights."""
        rows = self.every_row(name).dropna(subset="majority")
        rows = rows.assign(score=rows["metric"], majority=statistics.POINTS * rows["majority"])
        return statistics.in_points(rows)

    def sweep(self, task: str) -> Curve:
        """Read the headline score, in points, by position on the sweep's axis.

        Where layers are frozen or dropped, a replicate whose complete run failed to train has
        nothing to compare with.
        """
        rows = statistics.in_points(self.every_row(task, headline=True))
        rows = rows.assign(failed=statistics.failed_wholes(rows, ["init", "seed"]))
        rows = self._without_failures(task, _divided(rows, statistics.failures(rows).to_numpy()))
        return replace(self._by("position", rows), layers=int(rows["layers"].iloc[0]))

    def reinitialised_heads(self, task: str) -> pd.DataFrame:
        """Read each re-initialised head's headline rows, by layer and head; `delta` is to the
        plain model's seeds."""
        rows = self.every_row(task, metric="reinit_head", headline=True)
        for row in rows.drop_duplicates("init").itertuples():
            self.failed |= {
                (task, row.init, f"baseline {n}", 0, 0) for n in range(row.baseline_left_out)
            }
        return rows.assign(delta=rows["value"])

    def rows(self, name: str, **where) -> pd.DataFrame:
        """Read the rows of the model `name` that have these values, without those of runs that
        failed to train."""
        trained = self.results.trained(name, **where)
        self.read.add(name)
        return self._without_failures(name, trained)

    def _without_failures(self, name: str, trained: Trained) -> pd.DataFrame:
        """Return the rows of a model's runs that did not fail to train, and collect in `failed`
        those that did."""
        rows, failed = trained
        self.failed |= failed
        if rows.empty:
            raise NotTestableError(f"every run of {labelling.label_of(name)} failed to train")
        return rows

    def every_row(self, name: str, **where) -> pd.DataFrame:
        """Read the rows of the model `name` with those of runs that failed, for numbers of which a
        failure is a result or does not matter."""
        rows = self.results.rows(name, **where)
        self.read.add(name)
        return rows


NOUNS = {
    "stimuli": "inputs",
    "task": "probe of",
    "head": "mean over heads",
    "token": "attention to",
}


def of_checkpoint(rows: pd.DataFrame, checkpoint: str) -> pd.DataFrame:
    """Select the rows of this checkpoint alone, for what a paper says of heads by number;
    NotTestableError if there are none."""
    same = rows[rows["checkpoint"].str.contains(checkpoint, regex=False)]
    if same.empty:
        other = rows["checkpoint"].iloc[0]
        raise NotTestableError(f"about heads of {checkpoint}, which have other numbers in {other}")
    return same


def of_bert_base(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of bert-base-uncased alone."""
    shape = f"{rows['layer'].max():.0f}x{rows['head'].max():.0f}"
    if shape != "12x12":
        raise NotTestableError(f"about heads of a 12x12 model; this one is {shape}")
    return of_checkpoint(rows, "bert-base-uncased")
