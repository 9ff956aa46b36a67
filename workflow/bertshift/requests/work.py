"""What a job computes and writes, as far as its request and the configuration tell before anything has run."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from bertshift.data.provenance import GENERATED, ORIGINS
from bertshift.errors import UserError
from bertshift.files import BLOCKS, read_object
from bertshift.measures.metric import Metric
from bertshift.naming import parse_model, parse_variant, shape_of
from bertshift.probes.settings import ProbeSettings

# Of checkpoints, the configuration has neither: all BERTs have heads of 64, and about so many word pieces.
HEAD_WIDTH, VOCABULARY = 64, 30_522
# A made checkpoint's counts, by the configuration's names.
MADE = {"hidden_layers": "layers", "attention_heads": "heads"}
# A model reads batches of so many tokens.
BATCH_TOKENS = 2048
# The mean square of lengths, to the square of their mean.
SPREAD = 1.3
# Rows and tokens of inputs whose data set does not tell: a user's own. Targets of an edge probe's record that does not.
UNKNOWN_ROWS, UNKNOWN_TOKENS, UNKNOWN_TARGETS = 10_000, 40, 6
# Bytes of a table's row, with what stands beside it.
ROW_BYTES = 480

Inputs = Iterable[tuple[float, float]]  # (how many, tokens of each) of each set


@dataclass(frozen=True)
class Work:
    """What a job asks of a machine, in operations and bytes.

    flops: of matrix products of models, `width`: of these; passes: of a batch through a layer; host: operations of a CPU even
    where there is a GPU. moved: of arrays that are read, written or compared; text: of JSON lines and tables. disk: what
    stays, scratch: what is there while the job runs. memory: of the machine; device: of the GPU, or of the machine where
    there is none. processes: that compute side by side.
    """

    flops: float = 0.0
    passes: float = 0.0
    width: int = 0
    host: float = 0.0
    moved: float = 0.0
    text: float = 0.0
    disk: float = 0.0
    scratch: float = 0.0
    memory: float = 0.0
    device: float = 0.0
    processes: int = 1

    def __add__(self, other: "Work") -> "Work":
        return Work(
            **{key: getattr(self, key) + getattr(other, key) for key in _SUMMED},
            **{key: max(getattr(self, key), getattr(other, key)) for key in _LARGEST},
        )

    def __mul__(self, times: float) -> "Work":
        return replace(self, **{key: getattr(self, key) * times for key in _SUMMED})


_LARGEST = ("width", "memory", "device", "scratch", "processes")
_SUMMED = tuple(one.name for one in fields(Work) if one.name not in _LARGEST)


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    width: int
    vocabulary: int

    @property
    def parameters(self) -> float:
        return 12 * self.width**2 * self.layers + (self.vocabulary + 512) * self.width

    def passes(self, inputs: Inputs, times: float = 1) -> Work:
        """Say what forward passes take, each time of all inputs in whole batches."""
        work = Work(device=4 * self.parameters)
        for number, length in inputs:
            flops = number * length * self.layers * (24 * self.width**2 + 4 * length * self.width)
            batches = math.ceil(number * length / BATCH_TOKENS)
            work += Work(flops, self.layers * batches, self.width) * times
        return work

    def updates(self, number: float, length: float, steps: float) -> Work:
        """Say what training takes: forward and backward passes, and on disk a checkpoint. In memory are the states of
        a batch and seven times the model: weights, gradients, two of the optimiser's, and where norms are logged
        the start, the step before, and a difference."""
        states = (
            number * length / max(1, steps) * self.layers * 2 * (34 * self.width + 5 * self.heads * length)
        )
        work = replace(self.passes([(number, length)]), passes=self.layers * steps) * 3
        return replace(work, device=28 * self.parameters + states, scratch=12 * self.parameters)

    def weights(self, copies: int = 1) -> Work:
        return Work(device=4 * self.parameters, disk=4 * self.parameters * copies)

    def compared(self, inputs: Inputs, metric: Metric, pairs: int, tokens: float | None = None) -> Work:
        """Say what a metric of so many pairs of runs takes, on at most so many tokens of each set of inputs."""
        work = Work()
        table = ROW_BYTES * metric.variants * (self.heads + 1 if metric.by_heads else 1)
        for number, length in inputs:
            every, compared = number * length, min(tokens or math.inf, number * length)
            # Of a layer of both models: float32 numbers, which decompositions turn into float64.
            states = 8 * self.width * (compared if metric.reads == "sampled" else every)
            maps = 8 * SPREAD * every * length * self.heads if metric.elements else 0
            work += Work(
                host=2 * metric.products * compared * self.width**2
                + 20 * metric.decompositions * self.width**3,
                moved=maps * (metric.elements + 1) or states,
                disk=table,
                memory=maps
                or states * (self.layers if metric.all_layers else 1) + 24 * BLOCKS * self.width**2,
            )
        return work * (pairs * (self.layers + 1))

    def dump(self, inputs: Inputs, how: Mapping) -> float:
        """Count the bytes of a replicate's dump: the hidden states of all layers, and each head's maps if asked for.

        how: `precision`, `attention` and `sample` of requests.activations.KINDS.
        """
        states = maps = 0.0
        for number, length in inputs:
            states += min(number * length, how["sample"] or math.inf)
            maps += number * self.layers * self.heads * SPREAD * length**2 * 4 * how["attention"]
        return states * (self.layers + 1) * self.width * (2 if how["precision"] == "float16" else 4) + maps


class Sizes:
    """How many inputs of how many tokens there are, and how wide a model is: of prepared data and of checkpoints on disk as
    they are, of others as published.

    `known`: {"rows", "tokens" and "bytes" of a row: {name: number}} of what neither tells.
    """

    def __init__(self, config: Mapping, known: Mapping[str, Mapping[str, float]]):
        self.config, self.known = config, known
        self._read: dict[str, dict] = {}

    def shape(self, model: str, variants: Iterable[str] | None = None) -> Shape:
        model = parse_model(model, self.config)
        shape = shape_of(self.config["bases"][model.base])
        kept = [
            v for v in map(parse_variant, variants or [v.text for v in model.variants]) if v.kind == "keep"
        ]
        layers = int(kept[0]["layers"]) if kept else shape["layers"]
        paths = [one["path"] for one in shape.get("checkpoints", []) if "path" in one]
        for folder in [f"results/pretrained/{model.base}/init1", *paths]:
            made = self._json(f"{folder}/config.json")
            if all(made.get(f"num_{key}") == shape[own] for key, own in MADE.items()):
                return Shape(layers, shape["heads"], made["hidden_size"], made["vocab_size"])
        width = shape.get("width", HEAD_WIDTH * shape["heads"])
        vocabulary = self.config["vocabularies"].get(shape["vocabulary"], {}).get("size", VOCABULARY)
        return Shape(layers, shape["heads"], width, vocabulary)

    def rows(self, dataset: str, split: str) -> int:
        if prepared := self._prepared(f"results/data/{dataset}/dataset.json", "rows"):
            return prepared.get(split, 0)
        entry, other = self.config["datasets"][dataset], self.known["rows"].get(dataset, UNKNOWN_ROWS)
        if self.config["data"]["source"] != "world":
            return entry.get("published", {}).get(split) or entry.get("hub", {}).get("rows") or other
        kinds = {"squad": "squad", "squad2": "squad", "ewt": "treebank"}
        key = f"{kinds[dataset]}_{split}" if dataset in kinds else split
        return self.config["world"]["sizes"].get(key, other)

    def tokens(self, name: str, longest: int = 512) -> float:
        return min(longest, self.known["tokens"].get(name, UNKNOWN_TOKENS))

    def split(self, task: Mapping, split: str, most: int | None = None) -> tuple[float, float]:
        """Return (inputs, tokens of each) of a split that a task reads; `task` is as in a fine-tuning's settings."""
        rows, most = self.rows(task["dataset"], split), most or task.get(f"max_{split}")
        return min(rows, most or rows), self.tokens(task["dataset"], task["max_length"])

    def bytes(self, dataset: str, *splits: str) -> float:
        """Count the bytes of a data set's JSON lines, of all or some splits."""
        splits = splits or self.config["datasets"][dataset].get("published", {}) or ["text"]
        each = self.known["bytes"].get(dataset, 6 * self.tokens(dataset))
        return each * sum(self.rows(dataset, split) for split in splits)

    def inputs(self, names: Iterable[str], longest: int | None = None) -> list[tuple[float, float]]:
        """Return (inputs, tokens of each) of each set that models are compared on or that probes read."""
        return [self._inputs(name, longest or self.config["samples"]["max_length"]) for name in names]

    def _inputs(self, name: str, longest: int) -> tuple[float, float]:
        samples, tokens = self.config["samples"], self.tokens(name, longest)
        prepared = self._prepared(f"results/stimuli/{name}.json", "rows")
        if prepared and name in ("edges", "trees", "relations"):
            return prepared, tokens
        if name == "trees":
            most = self.config["probes"]["structural"].get("max_train")
            splits = {split: self.rows(self.config["treebank"], split) for split in ("train", "dev", "test")}
            return sum(splits.values()) - max(0, splits["train"] - (most or math.inf)), tokens
        if name == "edges":  # tasks share sentences
            one = ProbeSettings(**self.config["probes"]["edge"])
            read = sum(sum(self.records(task, one)[0].values()) for task in self.config["edge_tasks"])
            return min(self.known["rows"][name], read), tokens
        if name == "relations":
            return self.known["rows"][name], tokens
        if name in self.config["stimuli"]:
            entry = self.config["stimuli"][name]
            length = self.tokens(entry["dataset"])
            if entry["form"] == "like":
                _, length = self._inputs(entry["like"], longest)
            sides = {"consecutive_pairs": 2, "first": 0.5}.get(entry["form"], 1)
            text = entry["form"] in ("sentences", "consecutive_pairs")
            return samples["text" if text else "task"], min(longest, sides * length)
        tasks = name.split("+")
        each = samples["combined" if len(tasks) > 1 else "task"]
        datasets = [self.config["tasks"][task]["dataset"] for task in tasks]
        sets = [(min(each, self.rows(one, "dev")), self.tokens(one, longest)) for one in datasets]
        number = sum(rows for rows, _ in sets)
        return number, math.sqrt(sum(rows * length**2 for rows, length in sets) / max(1, number))

    def records(self, task: str, one: ProbeSettings) -> tuple[dict[str, float], float, float]:
        """Return (records of each split that a task's probes read, targets of a record, sentences of all records).
        The counts are of records that are there already, or as published, or as many as a world has."""
        entry = self.config["edge_sets"][self.config["edge_tasks"][task]]
        counts = self._prepared(f"results/edges/{task}/edges.json", "counts") or entry.get("expected") or {}
        made, records, targets, sentences = self.config.get("world", {}).get("sizes", {}), {}, 0.0, 0.0
        for split, most in one.of(task).sizes.items():
            told = counts.get(split) or {"records": made.get(f"probe_{split}", UNKNOWN_ROWS)}
            whole = next(told[key] for key in ("records", "frames", "sentences") if told.get(key))
            records[split] = min(whole, most or whole)
            targets += records[split] * told.get("targets", UNKNOWN_TARGETS * whole) / whole
            sentences += min(records[split], told.get("frames", 3 * whole) / 3)
        return records, targets / sum(records.values()), sentences

    def _prepared(self, description: str, key: str):
        """Read `key` of the description of data that are there already. Return None where they are of the world and
        real data are meant, or the other way round."""
        told = self._json(description)
        generated = told.get("origin") == GENERATED or f"({ORIGINS[GENERATED]})" in told.get("data", "")
        return told.get(key) if generated == (self.config["data"]["source"] == GENERATED) else None

    def _json(self, name: str) -> dict:
        """Read a file that may be there already, looked for once; empty where it tells nothing."""
        if name not in self._read:
            self._read[name] = {}
            with suppress(FileNotFoundError, UserError):  # the job that reads it will say what is wrong
                self._read[name] = read_object(name)
        return self._read[name]
