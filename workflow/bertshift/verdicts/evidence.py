"""The numbers of one replicate in the tables of one figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bertshift.errors import UserError
from bertshift.naming import Model
from bertshift.rows import labelling, statistics
from bertshift.rows.replicate import Replicate
from bertshift.rows.table import Table, concat


class NotTestableError(Exception):
    """The tables cannot decide a claim; the message says what is missing."""


def ratio(value: float, to: float, what: str) -> float:
    """Express `value` as a share or a multiple of `to`; NotTestableError, which calls `to` by the
    name `what`, where it is 0."""
    if abs(to) < statistics.EQUAL:
        raise NotTestableError(f"{what} is 0, and nothing is a share or a multiple of that")
    return value / to


def with_both_signs(numbers: Mapping) -> dict[tuple, float]:
    """List numbers and their negatives: all are below a bound where no number is farther from
    0."""
    signs = {"above": 1.0, "below": -1.0}
    return {
        (label, side): sign * number
        for label, number in numbers.items()
        for side, sign in signs.items()
    }


class Profiles(NamedTuple):
    """Two measures of the same layers, or of other positions in order, [layers] each, which go
    along with each other or do not. Where one is constant, `constant` is their correlation."""

    first: Sequence[float]
    second: Sequence[float]
    constant: float = np.nan

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation."""
        if min(np.ptp(self.first), np.ptp(self.second)) < statistics.EQUAL:
            if np.isnan(self.constant):
                raise NotTestableError(
                    "it does not differ between layers, so that there is no rank correlation"
                )
            return self.constant
        return float(spearmanr(self.first, self.second).statistic)


class Depth(NamedTuple):
    """Layers `first` to `last` of the paper's model of `total` layers, for a model of `layers`
    layers."""

    first: int
    last: int
    total: int
    layers: int


def name_layers(first: int, last: int, total: int) -> str:
    """Name some layers of a model: `layer 6 of 6`, `layers 11 to 12 of 12`."""
    if first == last:
        return f"layer {first} of {total}"
    return f"layers {first} to {last} of {total}"


@dataclass(frozen=True)
class Curve:
    """One replicate's value per layer, and the number of layers (without embeddings) of its model.

    `layers_read` collects the layers of the paper's model that a claim read, with those of ours
    at the same depth.
    """

    values: Mapping[int, float]
    layers: int
    layers_read: dict[Depth, list[int]] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, layer: int) -> float:
        if layer not in self.values:
            raise NotTestableError(f"nothing measured at {layer} of {self.layers} layers")
        return self.values[layer]

    def __sub__(self, other: "Curve") -> "Curve":
        if self.layers != other.layers:
            raise NotTestableError(
                f"models of {self.layers} and of {other.layers} layers are not compared"
            )
        return self.with_values({layer: self[layer] - other[layer] for layer in self.values})

    def with_values(self, values: Mapping[int, float]) -> "Curve":
        """Make the curve of other values of the same model."""
        return replace(self, values=values)

    def part(self, first: int, last: int, total: int) -> list[int]:
        """List our layers whose share of the depth is wholly within layers first..last of the
        paper's `total` layers."""
        n = self.layers
        # Layer k spans the depth from (k - 1) / n to k / n.
        low, high = (first - 1) * n, last * n
        layers = range(1, n + 1)
        inside = [k for k in layers if low <= (k - 1) * total and k * total <= high]
        if not inside:
            raise NotTestableError(
                f"no layer of {self.layers} lies within layers {first} to {last} of {total}"
            )
        self.layers_read[Depth(first, last, total, n)] = inside
        return inside

    def mean(self, first: int, last: int, total: int) -> float:
        return float(np.mean([self[k] for k in self.part(first, last, total)]))

    def at(self, layer: int, total: int) -> int:
        """Find our layer at the same relative depth as `layer` of the paper's `total` layers, if
        there is one."""
        ours, remainder = divmod(layer * self.layers, total)
        if remainder:
            raise NotTestableError(
                f"layer {layer} of {total} falls between two layers of {self.layers}"
            )
        self.layers_read[Depth(layer, layer, total, self.layers)] = [ours]
        return ours

    def exactly(self, total: int) -> "Curve":
        """Return the curve itself, if its model has `total` layers: for statements about a level
        or a layer number, which another depth cannot confirm or refute."""
        if self.layers != total:
            raise NotTestableError(f"about a model of {total} layers; this one has {self.layers}")
        return self

    @property
    def peak(self) -> int:
        return max(range(1, self.layers + 1), key=lambda k: self[k])


def labelled(tables: Mapping[str, Table]) -> Table:
    """Put all rows together. `name` says of which model a row is: its tasks (`mrpc`,
    `mrpc.random`, `wnli+mrpc`), `base` or `randomized`; `rte-mnli` of two fine-tuned models that
    are compared.

    Where two models of one metric share a name, the rows of the first listed are taken.
    """
    parts, first = [], {}
    for path, table in tables.items():
        is_difference = "before" in table or "baseline" in table
        if is_difference and "delta" in table:
            table = table.assign(value=table["delta"])  # its blocks are of the difference
        for model, rows in table.rows.groupby("model", sort=False):
            name = _name_rows(model, rows)
            # The models of a sweep are variants of one.
            source = path if "position" in rows else model
            key = rows["metric"].iloc[0], name
            if first.setdefault(key, source) == source:
                parts.append(table.keep(rows.assign(name=name)))
    if not parts:
        raise UserError(
            "claims need the tables of at least one model; list models under 'figures'."
        )
    return concat(parts)


def _name_rows(model: str, rows: pd.DataFrame) -> str:
    role = Model.of(labelling.role_of(model, rows["seed"]))
    random = role.variant("random")
    name = str(Model(role.tasks, (random,) if random else ()))
    if "ref_seed" in rows and rows["ref_seed"].gt(0).any():
        name += f"-{labelling.task_of(rows['reference'].iloc[0])}"
    return name


# Rows of runs that did not fail to train; name and statistics.RUN (0 where there is none) of those
# that did.
Trained = tuple[pd.DataFrame, frozenset[tuple]]


def _split_failures(rows: pd.DataFrame, failed: np.ndarray) -> Trained:
    if not failed.any():
        return rows, frozenset()
    runs = rows[failed].reindex(columns=["name", *statistics.RUN]).fillna(0)
    return rows[~failed], frozenset(runs.itertuples(index=False, name=None))


def _once(look_up: Callable) -> Callable:
    """Let a method of results look something up once: they keep it for all claims."""

    @wraps(look_up)
    def looked_up(results: "Results | ResultsWithoutBlock", *names, **where):
        key = (look_up, names, *where.items())
        if key not in results.known:
            results.known[key] = look_up(results, *names, **where)
        return results.known[key]

    return looked_up


class Results:
    """Rows of `labelled`, of one replicate or of all. Claims share it.

    `left_out` has the values without each block of inputs, under the labels of the rows that have
    them; `failed` says by label which rows are of runs that failed to train.
    """

    def __init__(self, table: pd.DataFrame, left_out: pd.DataFrame, failed: np.ndarray):
        self.table = table
        self._left_out, self._failed = left_out, failed
        # What `_once` and `remember` keep.
        self.known: dict[tuple, object] = {}
        self.complete = self

    @classmethod
    def of(cls, table: Table) -> "Results":
        """Make the results of all rows of `labelled`."""
        rows, left_out = table.rows, pd.DataFrame(table.left_out, table.rows.index)
        # Texts side by side in one array: rows are taken thousands of times, and an array for each
        # column takes most of that time.
        rows = rows.astype(dict.fromkeys(rows.select_dtypes("str"), object)).copy()
        # In an array of its own: rows get other values as often, without a copy of all numbers.
        rows.insert(rows.columns.get_loc("value"), "value", rows.pop("value"))
        left_out = left_out.dropna(axis=1, how="all").dropna()
        return cls(rows, left_out, statistics.failures(rows).to_numpy())

    @cached_property
    def models(self) -> dict[str, pd.DataFrame]:
        return dict(list(self.table.groupby("name")))

    @property
    def trained_rows(self) -> pd.DataFrame:
        """Rows of runs that did not fail to train."""
        return self.table[~self._failed[self.table.index]]

    @cached_property
    def pretraining_runs(self) -> dict[Replicate, "Results"]:
        by_init = self.table.groupby("init", sort=False)
        return {Replicate(init, None): self.part(rows) for init, rows in by_init}

    @cached_property
    def seeds(self) -> dict[Replicate, "Results"]:
        """Split one pretraining run's results into those of each fine-tuning seed, or pair of
        seeds. Rows of a pretrained model belong to every one, but its probes are divided among
        them (`statistics.is_own_probe`)."""
        table = statistics.with_replicates(self.table)
        is_pretrained = table["seed"] == 0
        pretrained = self.table[is_pretrained]
        seeds = table["seed"].max()
        parts = {}
        for name, rows in table[~is_pretrained].groupby("replicate", sort=False):
            parents = statistics.of_own_probes(pretrained, rows["seed"].iloc[0], seeds)
            is_of_replicate = self.table.index.isin(parents.index.union(rows.index))
            parts[Replicate.parse(name)] = self.part(self.table[is_of_replicate])
        return parts

    @cached_property
    def with_lower_baselines(self) -> "Results | None":
        """Recompute differences from baselines with the mean of the baselines lowered by its
        standard error. None where no baselines are known."""
        if "baseline_sd" not in self.table:
            return None
        errors = self.table["baseline_sd"] / np.sqrt(self.table["baseline_n"])
        rows = self.table.assign(value=self.table["value"] + errors.fillna(0))
        return Results(rows, self._left_out.iloc[:0], self._failed)

    def part(self, rows: pd.DataFrame) -> "Results":
        """Make the results of some of these rows."""
        labels = self._left_out.index.intersection(rows.index)
        return Results(rows, self._left_out.loc[labels], self._failed)

    def without_blocks(self, names: set[str]) -> list["ResultsWithoutBlock"]:
        """List these results without each block of inputs; empty if the models of these names have
        no such values."""
        if names.isdisjoint(self._names_with_blocks):
            return []
        return self._without_each_block

    @cached_property
    def _names_with_blocks(self) -> set[str]:
        labels = self.table.index.intersection(self._left_out.index)
        return set(self.table.loc[labels, "name"])

    @cached_property
    def _without_each_block(self) -> list["ResultsWithoutBlock"]:
        return [ResultsWithoutBlock(self, self._left_out[block]) for block in self._left_out]

    def has_seed_of(self, names: set[str]) -> bool:
        """Test whether some model of these names is fine-tuned."""
        models = [self.models[name] for name in names if name in self.models]
        return any((rows["seed"] != 0).any() for rows in models)

    @_once
    def rows(self, name: str, **where) -> pd.DataFrame:
        """Select the rows of the model `name` that have these values; NotTestableError if there
        are none."""
        if name not in self.models:
            raise NotTestableError(f"no results for {labelling.label_of(name)}")
        rows = self.models[name]
        positions = np.arange(len(rows))
        for column, value in where.items():
            values = rows[column].to_numpy()[positions]
            positions = positions[values == value]
            if not len(positions):
                noun = NOUNS.get(column, column)
                raise NotTestableError(f"no {noun} '{value}' for {labelling.label_of(name)}")
        return rows.iloc[positions] if where else rows

    def values(self, labels: pd.Index) -> np.ndarray:
        """Return the values of the rows with these labels."""
        return self.table["value"].loc[labels].to_numpy(float)

    @_once
    def trained(self, name: str, **where) -> Trained:
        """Split `rows` into those of runs that trained and the runs that failed to."""
        rows = self.rows(name, **where)
        return _split_failures(rows, self._failed[rows.index])


class ResultsWithoutBlock:
    """The rows of `complete`, with the values without one block of inputs."""

    def __init__(self, complete: Results, values: pd.Series):
        self.complete = complete
        self.known: dict[tuple, object] = {}
        labels = complete.table.index
        # By label, without looking these up: rows are taken thousands of times.
        self._value_by_label = np.full(labels.max() + 1, np.nan)
        self._value_by_label[labels] = complete.table["value"]
        is_of_table = values.index.isin(labels)
        self._value_by_label[values.index[is_of_table]] = values[is_of_table]

    def values(self, labels: pd.Index) -> np.ndarray:
        """Return the values of the rows with these labels."""
        return self._value_by_label[labels]

    @_once
    def rows(self, name: str, **where) -> pd.DataFrame:
        return self._replace_values(self.complete.rows(name, **where))

    @_once
    def trained(self, name: str, **where) -> Trained:
        rows, failed = self.complete.trained(name, **where)
        return self._replace_values(rows), failed

    def _replace_values(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Give the rows the values without the block; they share all other columns."""
        return rows.assign(value=self.values(rows.index))


def remember(read: Callable) -> Callable:
    """Let a function of evidence read each number once: all claims on the same results share it,
    with the models and runs that it was read from.

    It must not return a Curve, which collects the layers that a single claim reads.
    """

    @wraps(read)
    def read_once(evidence: "Evidence", *names, **where):
        results = evidence.results
        own = results.known.setdefault((read, names, *where.items()), Evidence(results))
        try:
            if own.number is None:
                own.number = read(own, *names, **where)
            return own.number
        finally:
            evidence.include(own)

    return read_once


class Evidence:
    """The numbers that a claim reads. Each number is a mean over the rows that it is about.

    NotTestableError says which rows are missing. `read` collects the names of the models that the
    claim reads, `failed` their runs that failed to train and are left out, as `Trained` has them,
    and `layers_read` the layers of its curves. `number` is what `remember` keeps.
    """

    def __init__(self, results: Results | ResultsWithoutBlock):
        self.results = results
        self.number: object = None
        self.read: set[str] = set()
        self.failed: set[tuple] = set()
        self.layers_read: dict[Depth, list[int]] = {}

    def include(self, other: "Evidence") -> None:
        """Add the models and the failed runs that `other` read."""
        self.read |= other.read
        self.failed |= other.failed

    def layers_here(self) -> Iterator[str]:
        """Say in a sentence which of our layers are taken for the paper's, for models of another
        depth."""
        for depth, layers in self.layers_read.items():
            if depth.layers != depth.total:
                theirs = name_layers(depth.first, depth.last, depth.total)
                ours = name_layers(layers[0], layers[-1], depth.layers)
                yield f"{theirs.capitalize()}: here {ours}."

    def _make_curve(self, means: Mapping[int, float]) -> Curve:
        """Make the curve of means by layer, the largest of which is the number of layers."""
        return Curve(means, max(means), self.layers_read)

    def curve(self, task: str, variant: str, stimuli: str | None = None) -> Curve:
        """Read head 0 by layer, of the model of `task`, on `stimuli` or else on the first that its
        table lists."""
        where = {"head": 0, "variant": variant}
        stimuli = stimuli or self.every_row(task, **where)["stimuli"].iloc[0]
        return self.by_layer(task, **where, stimuli=stimuli)

    def by_layer(self, name: str, **where) -> Curve:
        """Average `rows` by layer."""
        return self._make_curve(self._average_by_layer(name, **where))

    @remember
    def _average_by_layer(self, name: str, **where) -> dict[int, float]:
        rows = self._on_complete().rows(name, **where)
        return average_by("layer", rows, self.results.values(rows.index))

    def spearman(self, name: str, kind: str) -> Curve:
        """Read the Spearman correlation of a structural probe (`depth`, `distance`) on dev by
        layer, at the highest rank that was trained."""
        return self._make_curve(self._average_spearman(name, kind))

    @remember
    def _average_spearman(self, name: str, kind: str) -> dict[int, float]:
        where = {"metric": "structural_probe", "measure": "spearman", "split": "dev"}
        rows = self.rows(name, **where, kind=kind)
        rows = rows[rows["rank"] == rows["rank"].max()]
        return average_by("layer", rows, rows["value"])

    def edge_probes(self, name: str, variant: str, **where) -> pd.DataFrame:
        """Read the micro-F1 of edge probes over all labels, from 0 to 1."""
        return self.rows(name, metric="edge_probe", view="micro_all", variant=variant, **where)

    @remember
    def ablations(self, task: str, metric: str = "ablation") -> pd.DataFrame:
        """Read the headline rows of heads (or, head 0, layers) that attend alike to all tokens.
        `delta`, in points, is to the score with nothing disabled.

        What was run on a sample and again on the complete development set has its complete row
        alone.
        """
        complete = self._on_complete()
        rows = complete._complete_ablations(task, metric)
        delta = rows["delta"]
        values = self.results.values(rows.index)
        if metric == "ablation":  # values may be those without a block of inputs
            delta = values - self.results.values(complete._baselines(task, metric))
        return rows.assign(value=values, delta=statistics.POINTS * delta)

    @remember
    def _complete_ablations(self, task: str, metric: str) -> pd.DataFrame:
        rows = self.rows(task, metric=metric, variant="uniform", headline=True)
        rows = rows.sort_values("sample", kind="stable")  # complete, sample
        return rows.drop_duplicates(["init", "seed", "layer", "head"])

    @remember
    def _baselines(self, task: str, metric: str) -> np.ndarray:
        """Find for each row of `_complete_ablations` the label of its run with nothing
        disabled."""
        run = ["init", "seed", "sample"]
        disabled = self._complete_ablations(task, metric)
        base = self.rows(task, metric=metric, variant="none", headline=True)
        labels = pd.Series(base.index, pd.MultiIndex.from_frame(base[run]))
        return labels[pd.MultiIndex.from_frame(disabled[run])].to_numpy()

    @remember
    def relation_heads(self, name: str, variant: str) -> pd.DataFrame:
        """Read every head's score for predicates and their arguments, with its rank and its
        null."""
        rows = self.every_row(name, metric="relation_heads", variant=variant)
        return rows[rows["head"] > 0]

    def attention_to(
        self, task: str, token: str, variant: str = "received", before: bool = False
    ) -> pd.DataFrame:
        """Read every head's attention (0: their mean) to a kind of token on the task's inputs, of
        its model or of the pretrained one."""
        name = "base" if before else task
        return self.rows(name, metric="attention_to", stimuli=task, token=token, variant=variant)

    @remember
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
        rows = self._sweep_rows(task)
        means = average_by("position", rows, rows["value"])
        return Curve(means, int(rows["layers"].iloc[0]), self.layers_read)

    @remember
    def _sweep_rows(self, task: str) -> pd.DataFrame:
        rows = statistics.in_points(self.every_row(task, headline=True))
        rows = rows.assign(failed=statistics.failed_wholes(rows, ["init", "seed"]))
        trained = _split_failures(rows, statistics.failures(rows).to_numpy())
        return self._without_failures(task, trained)

    @remember
    def reinitialised_heads(self, task: str) -> pd.DataFrame:
        """Read each re-initialised head's headline rows, by layer and head; `delta` is to the
        plain model's seeds."""
        rows = self.every_row(task, metric="reinit_head", headline=True)
        for row in rows.drop_duplicates("init").itertuples():
            for number in range(row.baseline_left_out):
                self.failed.add((task, row.init, f"baseline {number}", 0, 0))
        return rows.assign(delta=rows["value"])

    def rows(self, name: str, **where) -> pd.DataFrame:
        """Read the rows of the model `name` that have these values, without those of runs that
        failed to train."""
        trained = self.results.trained(name, **where)
        self.read.add(name)
        return self._without_failures(name, trained)

    def _on_complete(self) -> "Evidence":
        """Make the evidence of the same rows with their values on all blocks of inputs; what it
        reads is read here too."""
        complete = Evidence(self.results.complete)
        complete.read, complete.failed = self.read, self.failed
        return complete

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


def average_by(column: str, rows: pd.DataFrame, values: np.ndarray) -> dict[int, float]:
    """Average the values of rows by the whole numbers in a column, as pandas does: without values
    and numbers that are NaN; NaN where all values are."""
    # Claims average thousands of times; pandas takes ten times as long for it.
    numbers, values = rows[column].to_numpy(float), np.asarray(values, float)
    is_number, is_value = ~np.isnan(numbers), ~np.isnan(values)
    values = np.where(is_value, values, 0.0)[is_number]
    layers, groups = np.unique(numbers[is_number], return_inverse=True)
    with np.errstate(invalid="ignore"):
        means = np.bincount(groups, values) / np.bincount(groups, is_value[is_number])
    return dict(zip(layers.astype(int).tolist(), means.tolist()))


NOUNS = {
    "stimuli": "inputs",
    "task": "probe of",
    "head": "mean over heads",
    "token": "attention to",
}


def of_checkpoint(rows: pd.DataFrame, checkpoint: str) -> pd.DataFrame:
    """Select the rows of this checkpoint alone, for what a paper says of heads by number;
    NotTestableError if there are none."""
    selected = rows[rows["checkpoint"].str.contains(checkpoint, regex=False)]
    if selected.empty:
        ours = rows["checkpoint"].iloc[0]
        raise NotTestableError(f"about heads of {checkpoint}, which have other numbers in {ours}")
    return selected


def of_bert_base(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of bert-base-uncased alone."""
    shape = f"{rows['layer'].max():.0f}x{rows['head'].max():.0f}"
    if shape != "12x12":
        raise NotTestableError(f"about heads of a 12x12 model; this one is {shape}")
    return of_checkpoint(rows, "bert-base-uncased")
