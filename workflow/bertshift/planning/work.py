"""What a job computes and writes, as far as the configuration tells before anything has run."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from bertshift.data.provenance import GENERATED, ORIGINS
from bertshift.errors import UserError
from bertshift.files import BLOCKS, read_object
from bertshift.models.families import FAMILIES
from bertshift.naming import parse_model, parse_variant, shape_of
from bertshift.probes.settings import CodeSettings, ProbeSettings, StructuralSettings
from bertshift.replicates import runs_of

# Of checkpoints, the configuration has neither: all BERTs have heads of 64, and about so many word pieces.
HEAD_WIDTH, VOCABULARY = 64, 30_522
# A made checkpoint's counts, by the configuration's names.
MADE = {"hidden_layers": "layers", "attention_heads": "heads"}
# An encoder is read in batches of so many tokens, or of so many inputs that are padded.
BATCH_TOKENS, PADDED_AT_ONCE = 2048, 8
# By edge task: spans of a target, and the share of a sentence's tokens that lie in one.
SPANS = {
    "pos": (1, 1.0),
    "constituents": (1, 1.0),
    "dependencies": (2, 1.0),
    "entities": (1, 0.6),
    "srl": (2, 0.8),
    "coref": (2, 0.5),
    "spr": (2, 0.3),
    "relations": (2, 0.25),
}
# Targets of a record, and labels, where a corpus does not tell; frames of a record and of a sentence.
TARGETS, LABELS, FRAMES_A_RECORD, FRAMES_A_SENTENCE = 6, 20, 1.2, 3
# A probe that may train for long finds its best weights after so many epochs, or so many validations if these are fewer;
# a structural probe after so many epochs.
BEST_EPOCHS, BEST_VALIDATIONS, BEST_STRUCTURAL = 100, 30, 12
# Bytes of a publisher's archive.
ARCHIVE = 2e7
# Bytes that annotations of an input take, in an archive that is compressed.
ANNOTATED = 1200
# Figures whose claims read tables with a row for each head and kind of token; their bytes for a head, and in memory.
READ_IN_FULL, READ, HELD = {"kovaleva2019": ["figure6", "figure7"]}, 30_000, 210_000
# Word pieces of a word.
PIECES = 1.2
# The mean square of lengths, to the square of their mean.
SPREAD = 1.3
# Rows and tokens of inputs whose data set does not tell: a user's own.
UNKNOWN_ROWS, UNKNOWN_TOKENS = 10_000, 40


@dataclass(frozen=True)
class Job:
    """One job of the workflow: what its rule says of it, and the jobs that it waits for.

    settings: the rule's `params.settings`; output: bytes are counted as temporary where Snakemake deletes them; limited:
    the bytes that a limit on temporary files counts for it.
    """

    number: int
    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping = field(default_factory=dict)
    threads: int = 1
    gpu: bool = False
    output: tuple[str, ...] = ()
    temporary: bool = False
    limited: float = 0.0
    record: str | None = None
    needed: bool = True
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Work:
    """What a job asks of a machine, in operations and bytes.

    flops: floating-point operations of matrix products, width: of these; host: operations that a CPU makes even where
    there is a GPU; elements: pairs of numbers that it compares; passes: of a batch through a layer. text: JSON lines
    made (those only read count a fourth); written, read: activation files; fetched: from a network. rows: of its
    table, to be multiplied by the rule's `variants`. memory: of the machine; device: of the GPU, or of the machine where
    there is none. disk: what stays beside the table, scratch: what is there beside it while the job runs. processes: that
    compute side by side.
    """

    flops: float = 0.0
    passes: float = 0.0
    width: int = 0
    host: float = 0.0
    elements: float = 0.0
    text: float = 0.0
    written: float = 0.0
    read: float = 0.0
    fetched: float = 0.0
    rows: float = 0.0
    disk: float = 0.0
    memory: float = 0.0
    device: float = 0.0
    scratch: float = 0.0
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

    def passes(self, tokens: float, length: float, batches: float | None = None) -> Work:
        """Forward passes of so many tokens in inputs of this length; `batches`: where they are not the default's."""
        flops = tokens * self.layers * (24 * self.width**2 + 4 * length * self.width)
        batches = max(1, tokens / BATCH_TOKENS) if batches is None else batches
        return Work(flops, self.layers * batches, self.width, device=4 * self.parameters)

    def read_often(self, inputs: float, length: float, times: float) -> Work:
        """Forward passes of the same inputs, each time in whole batches."""
        tokens = inputs * length
        return self.passes(times * tokens, length, times * math.ceil(tokens / BATCH_TOKENS))

    def updates(self, tokens: float, length: float, steps: float) -> Work:
        """Training: forward and backward, on disk a checkpoint; in memory, beside the states of a batch, seven of the model:
        weights, gradients, two of the optimiser's, and where norms are logged the start, the step before, a difference."""
        once = self.passes(tokens, length, steps)
        states = tokens / max(1, steps) * self.layers * 4 * (34 * self.width + 5 * self.heads * length) / 2
        return Work(
            3 * once.flops,
            3 * once.passes,
            self.width,
            device=28 * self.parameters + states,
            scratch=12 * self.parameters,
        )

    def dump(self, tokens: float, bytes_each: int = 4) -> float:
        """Bytes of the states of so many tokens, all layers."""
        return tokens * (self.layers + 1) * self.width * bytes_each


class Sizes:
    """How many inputs of how many tokens there are, and how wide a model is: of prepared data and of checkpoints on disk as
    they are, of others as published.

    `known`: {"rows", "tokens" and "bytes" of a row: {name: number}} of what neither tells.
    """

    def __init__(self, config: Mapping, known: Mapping[str, Mapping[str, float]]):
        self.config, self.known = config, known
        self._read: dict[str, dict] = {}

    def shape(self, model: str, variants: list[str] | None = None) -> Shape:
        model = parse_model(model, self.config)
        shape = shape_of(self.config["bases"][model.base])
        kept = [
            v for v in map(parse_variant, variants or [v.text for v in model.variants]) if v.kind == "keep"
        ]
        layers = int(kept[0]["layers"]) if kept else shape["layers"]
        folders = [
            f"results/pretrained/{model.base}/init1",
            *(one["path"] for one in shape.get("checkpoints", []) if "path" in one),
        ]
        for made in (self._json(f"{folder}/config.json") for folder in folders):
            if all(made.get(f"num_{key}") == shape[own] for key, own in MADE.items()):
                return Shape(layers, shape["heads"], made["hidden_size"], made["vocab_size"])
        width = shape.get("width", HEAD_WIDTH * shape["heads"])
        vocabulary = self.config["vocabularies"].get(shape["vocabulary"], {}).get("size", VOCABULARY)
        return Shape(layers, shape["heads"], width, vocabulary)

    def rows(self, dataset: str, split: str) -> int:
        if prepared := self._prepared(f"results/data/{dataset}/dataset.json", "rows"):
            return prepared.get(split, 0)
        published = self.config["datasets"][dataset].get("published", {}).get(split)
        if self.config["data"]["source"] != "world":
            taken = self.config["datasets"][dataset].get("hub", {}).get("rows")
            return published or taken or self.known["rows"].get(dataset, UNKNOWN_ROWS)
        kinds = {"squad": "squad", "squad2": "squad", "ewt": "treebank"}
        key = f"{kinds[dataset]}_{split}" if dataset in kinds else split
        return self.config["world"]["sizes"].get(key, self.known["rows"].get(dataset, UNKNOWN_ROWS))

    def tokens(self, dataset: str, longest: int = 512) -> float:
        return min(longest, self.known["tokens"].get(dataset, UNKNOWN_TOKENS))

    def split(self, task: Mapping, split: str) -> tuple[float, float]:
        """(inputs, tokens of each) of a split that a task reads; `task` as in a fine-tuning's settings."""
        rows, most = self.rows(task["dataset"], split), task.get(f"max_{split}")
        return min(rows, most or rows), self.tokens(task["dataset"], task["max_length"])

    def bytes(self, dataset: str, *splits: str) -> float:
        """Of a data set's JSON lines, all or some splits."""
        splits = splits or self.config["datasets"][dataset].get("published", {}) or ["text"]
        lines = Path(f"results/data/{dataset}/examples.jsonl")
        if lines.is_file() and (prepared := self._prepared(f"results/data/{dataset}/dataset.json", "rows")):
            each = lines.stat().st_size / sum(prepared.values())
        else:
            each = self.known["bytes"].get(dataset, 6 * self.tokens(dataset))
        return each * sum(self.rows(dataset, split) for split in splits)

    def stimuli(self, names: list[str], longest: int | None = None) -> list[tuple[float, float]]:
        """(inputs, tokens of each) of each set of inputs."""
        longest = longest or self.config["samples"]["max_length"]
        return [size for name in names for size in self._stimulus(name, longest)]

    def _stimulus(self, name: str, longest: int) -> list[tuple[float, float]]:
        samples, known = self.config["samples"], self.known["rows"]
        counted = {
            "edges": lambda: self._edge_sentences() or known["edges"],
            "trees": lambda: sum(self.trees().values()),
            "relations": lambda: known["relations"],
        }
        if name in counted:
            rows = self._prepared(f"results/stimuli/{name}.json", "rows") or counted[name]()
            return [(rows, self.tokens(name, longest))]
        if name in self.config["stimuli"]:
            entry = self.config["stimuli"][name]
            length = self.known["tokens"].get(entry["dataset"], UNKNOWN_TOKENS)
            if entry["form"] == "like":
                ((_, length), *_) = self._stimulus(entry["like"], longest)
            sides = {"consecutive_pairs": 2, "first": 0.5}.get(entry["form"], 1)
            text = entry["form"] in ("sentences", "consecutive_pairs")
            return [(samples["text" if text else "task"], min(longest, sides * length))]
        tasks = name.split("+")
        each = samples["combined" if len(tasks) > 1 else "task"]
        datasets = [self.config["tasks"][task]["dataset"] for task in tasks]
        return [(min(each, self.rows(one, "dev")), self.tokens(one, longest)) for one in datasets]

    def trees(self) -> dict[str, int]:
        """Sentences of each split that structural probes read."""
        rows = {split: self.rows(self.config["treebank"], split) for split in ("train", "dev", "test")}
        most = self.config["probes"]["structural"].get("max_train")
        return rows | {"train": min(rows["train"], most or rows["train"])}

    def edge_task(self, task: str, settings: ProbeSettings) -> "EdgeTask":
        """What probes of a task read: of records that are there already, or as published, or as many as a world has."""
        name = self.config["edge_tasks"][task]
        entry = self.config["edge_sets"][name]
        counts = self._prepared(f"results/edges/{task}/edges.json", "counts") or entry.get("expected") or {}
        sizes = self.config.get("world", {}).get("sizes", {})
        records, targets, sentences = {}, 0.0, 0.0
        for split, most in settings.sizes.items():
            told = counts.get(split) or {"sentences": sizes.get(f"probe_{split}", UNKNOWN_ROWS)}
            whole = _sentences(told)
            number = told.get("records") or told.get("frames", 0) / FRAMES_A_RECORD or whole
            records[split] = min(number, most or number)
            targets += records[split] * told.get("targets", TARGETS * number) / number
            sentences += min(records[split], whole)
        spans, share = SPANS.get(entry["task"], (2, 1.0))
        inside = share * (self.tokens("edges") - 2)
        return EdgeTask(records, inside, targets / sum(records.values()), spans, sentences * inside)

    def _edge_sentences(self) -> float:
        """Different ones that the probes of all tasks read; sets whose names begin alike annotate one corpus."""
        corpora = defaultdict(lambda: {"train": [], "dev": [], "test": []})
        for task, name in self.config["edge_tasks"].items():
            sizes = ProbeSettings(**self.config["probes"]["edge"]).of(task).sizes
            for split, told in (self.config["edge_sets"][name].get("expected") or {}).items():
                if split in sizes:
                    whole = _sentences(told)
                    corpora[name.partition("_")[0]][split].append((whole, min(whole, sizes[split] or whole)))
        return sum(
            max(whole for whole, _ in drawn) * (1 - math.prod(1 - some / whole for whole, some in drawn))
            for corpus in corpora.values()
            for drawn in corpus.values()
            if drawn
        )

    def _prepared(self, description: str, key: str):
        """What a description of data that are there already says, unless it is of the world and real data are meant, or
        the other way."""
        told = self._json(description)
        generated = told.get("origin") == GENERATED or f"({ORIGINS[GENERATED]})" in told.get("data", "")
        return told.get(key) if generated == (self.config["data"]["source"] == GENERATED) else None

    def _json(self, name: str) -> dict:
        """Of a file that may be there already, looked for once; empty where it tells nothing."""
        if name not in self._read:
            self._read[name] = {}
            with suppress(FileNotFoundError, UserError):  # the job that reads it will say what is wrong
                self._read[name] = read_object(name)
        return self._read[name]


@dataclass(frozen=True)
class EdgeTask:
    """records by split; tokens in spans and targets of a record; spans of a target; tokens whose states are read."""

    records: Mapping[str, float]
    tokens: float
    targets: float
    spans: int
    states: float


def _sentences(counts: Mapping[str, int]) -> float:
    """Of a split of an edge set."""
    return counts.get("sentences") or counts.get("frames", 0) / FRAMES_A_SENTENCE or UNKNOWN_ROWS


def _train(sizes: Sizes, model: str, run: Mapping) -> Work:
    shape, how = sizes.shape(model, run["variants"]), run["training"]
    rows, length = sizes.split(run["task"], "train")
    dev, _ = sizes.split(run["task"], "dev")
    examples = rows * how["epochs"]
    work = shape.updates(examples * length, length, examples / how["batch_size"]) + shape.passes(
        dev * length, length
    )
    # Rows, and encoded examples: lists of Python's integers.
    memory = 3.5 * sizes.bytes(run["task"]["dataset"], "train", "dev") + rows * (44 * length + 250)
    return work + Work(memory=memory)


def _model(shape: Shape, copies: int = 1) -> Work:
    return Work(device=4 * shape.parameters, disk=4 * shape.parameters * copies)


def finetune(job: Job, sizes: Sizes) -> Work:
    shape = sizes.shape(job.wildcards["model"])
    return _train(sizes, job.wildcards["model"], job.settings) + _model(shape)


def snapshots(job: Job, sizes: Sizes) -> Work:
    """A training up to the largest share, whose model is scored after each."""
    model, run, shares = (
        job.wildcards["stem"] + job.wildcards["checkpoint"],
        job.settings,
        job.settings["shares"],
    )
    shape = sizes.shape(model)
    dev, length = sizes.split(run["task"], "dev")
    how = run["training"] | {"epochs": run["training"]["epochs"] * max(shares) / 100}
    work = _train(sizes, model, run | {"training": how}) + _model(shape, len(shares))
    return work + shape.passes(dev * length, length) * (len(shares) - 1)


def sweep(job: Job, sizes: Sizes) -> Work:
    runs = job.settings["runs"].values()
    work = sum((_train(sizes, job.wildcards["model"], run) for run in runs), Work())
    # null: as many as a GPU holds, one a thread at most; a dry run may have fewer threads than the job.
    at_once = max(
        1, min(len(runs), sizes.config["sweeps"]["runs_at_once"] or sizes.config["threads"]["train"])
    )
    side_by_side = {key: getattr(work, key) * at_once for key in ("memory", "device", "scratch")}
    return replace(work, processes=at_once, **side_by_side)


def pretrain(job: Job, sizes: Sizes) -> Work:
    shape, how = sizes.shape(job.wildcards["base"]), job.settings
    corpus = Path(sizes.config["corpora"][how["corpus"]])
    documents = sizes.config.get("world", {}).get("sizes", {}).get("documents", UNKNOWN_ROWS)
    # Four letters a token.
    tokens = corpus.stat().st_size / 4 if corpus.is_file() else documents * sizes.tokens("documents")
    # null: random lengths, as the original BERT's.
    length = how.get("lengths", {}).get("short_length") or 128
    tokens *= how["epochs"]
    work = shape.updates(tokens, length, tokens / length / how["batch_size"]) + _model(shape)
    # The logits of masked words, or of a decoder's next words.
    share = 1 if FAMILIES[how["family"]].causal else how["masked"]
    return work + Work(flops=6 * share * tokens * shape.width * shape.vocabulary)


def checkpoint(job: Job, sizes: Sizes) -> Work:
    base, shape = job.wildcards["base"], sizes.shape(job.wildcards["base"])
    if "hub" not in sizes.config["bases"][base]["checkpoints"][int(job.wildcards["init"]) - 1]:
        return _model(shape)
    return _model(shape, copies=2) + Work(fetched=4 * shape.parameters)  # a copy stays as it was downloaded


def derive(job: Job, sizes: Sizes) -> Work:
    return _model(sizes.shape(job.wildcards["model"]))


def dataset(job: Job, sizes: Sizes) -> Work:
    lines = sizes.bytes(job.wildcards["dataset"])
    return Work(text=lines, disk=lines, memory=4 * lines)


def corpus(job: Job, sizes: Sizes) -> Work:
    there = Path("results/corpora", job.wildcards["path"])
    size = there.stat().st_size if there.is_file() else ARCHIVE
    return Work(fetched=size, disk=size)


def edges(job: Job, sizes: Sizes) -> Work:
    """Corpora of several layouts: reading them takes longer than writing their records."""
    task = sizes.edge_task(job.wildcards["task"], ProbeSettings(max_dev=sys.maxsize))
    lines = sum(task.records.values()) * (100 + 70 * task.targets)
    return Work(text=4 * lines, disk=lines, memory=5 * lines)


def stimuli(job: Job, sizes: Sizes) -> Work:
    lines = sum(sizes.bytes(dataset, split) for dataset, split in job.settings["sources"])
    return Work(text=lines / 4, memory=3.5 * lines)


def dump_bytes(shape: Shape, inputs: Sequence[tuple[float, float]], how: Mapping) -> float:
    """Bytes of one replicate's activation files: the hidden states of all layers, and each head's maps if asked for.

    inputs: (inputs, tokens of each) of each set; how: `precision`, `attention` and `sample` of the rule `activations`.
    """
    states = maps = 0.0
    for number, length in inputs:
        kept = min(number * length, (how["sample"] or {}).get("count", number * length))
        states += shape.dump(kept, 2 if how["precision"] == "float16" else 4)
        maps += number * shape.layers * shape.heads * SPREAD * length**2 * 4
    return states + (maps if how["attention"] else 0)


def activations(job: Job, sizes: Sizes) -> Work:
    how = job.settings
    shape, runs = sizes.shape(job.wildcards["model"]), len(how["runs"])
    inputs = sizes.stimuli(job.wildcards["stimuli"].split("-"), how["max_length"])
    work, each = (
        sum((shape.passes(n * length, length) for n, length in inputs), Work()),
        dump_bytes(shape, inputs, how),
    )
    # A batch's maps of all layers, and a member that is written twice before its part file goes.
    maps = (
        BATCH_TOKENS * max(length for _, length in inputs) * shape.layers * shape.heads * 4 * how["attention"]
    )
    states = shape.dump(BATCH_TOKENS)
    return (work + Work(disk=each, written=each)) * runs + Work(
        device=4 * shape.parameters + maps + states, memory=maps / shape.layers, scratch=each / shape.layers
    )


def examples(job: Job, sizes: Sizes) -> Work:
    """Two models, one after the other; a byte a cell, by zlib and in base64 about as many."""
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    tokens = how["number"] * how["longest"]
    return shape.passes(2 * tokens, how["longest"]) + Work(
        disk=2 * tokens * how["longest"] * shape.layers * shape.heads
    )


def _pairs(job: Job, sizes: Sizes) -> tuple[Shape, int, list[tuple[float, float]]]:
    how = job.settings
    return sizes.shape(how["model"]), len(how["pairs"]), sizes.stimuli(how["stimuli"])


def maps_compared(job: Job, sizes: Sizes, measures: int = 1) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    entries = SPREAD * sum(inputs * length**2 for inputs, length in stimuli) * shape.heads
    elements, both = entries * shape.layers * pairs, 4 * 2 * entries
    # Of each pair of layers the pages that are read.
    return Work(
        elements=measures * elements,
        read=both * shape.layers * pairs,
        memory=both,
        rows=pairs * len(stimuli) * shape.layers * (shape.heads + 1),
    )


def attention_to(job: Job, sizes: Sizes) -> Work:
    """Maps' columns, and how long what each head takes of every token is, in float64."""
    shape, pairs, stimuli = _pairs(job, sizes)
    tokens = sum(inputs * length for inputs, length in stimuli)
    values = 4 * tokens * shape.width**2 + 2 * shape.width**3
    lengths = Work(host=2 * values * shape.layers * pairs, memory=8 * 12 * shape.heads * tokens)
    return maps_compared(job, sizes, measures=4) + lengths


def own_or_inherited(job: Job, sizes: Sizes) -> Work:
    """Two measures of three variants, two of which are made from queries and keys."""
    shape, pairs, stimuli = _pairs(job, sizes)
    tokens = sum(inputs * length for inputs, length in stimuli)
    made = Work(host=8 * tokens * shape.width**2 * shape.layers * pairs)
    return maps_compared(job, sizes, measures=8) + made


def _decompositions(width: int, number: float) -> Work:
    """Of symmetric or square matrices, in float64."""
    return Work(host=20 * width**3 * number)


def svcca(job: Job, sizes: Sizes) -> Work:
    """Two decompositions and two products' for each block that is left out, which together take as long as two."""
    return _states_compared(job, sizes, products=3, decompositions=3 + 2 * BLOCKS)


def similarity(job: Job, sizes: Sizes) -> Work:
    """Of all tokens and of content alone: two scatters and one more for each of four orders, and three measures; all of
    the measures again for each block that is left out, of the other classes of tokens too (measured)."""
    return _states_compared(job, sizes, products=2 * 6, decompositions=2 * 14 + 7 * BLOCKS)


def layer_cka(job: Job, sizes: Sizes) -> Work:
    """Products of every two tokens' states, once a layer; then of every two layers' products."""
    shape, pairs, stimuli = _pairs(job, sizes)
    every = sum(inputs * length for inputs, length in stimuli)
    tokens, layers = min(job.settings["tokens"], every), 2 * (shape.layers + 1)
    block = min(tokens, 1000)
    states = 2 * shape.dump(every)
    return Work(
        host=pairs * tokens**2 * layers * (shape.width + layers),
        memory=states + 8 * layers * block * (2 * shape.width + block),
        read=states * pairs * max(1, tokens / block / 2),
        rows=pairs * len(stimuli) * 2 * 3 * (shape.layers + 1) ** 2,
    )


def _states_compared(job: Job, sizes: Sizes, products: int, decompositions: int) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    every = sum(inputs * length for inputs, length in stimuli)
    tokens, layers = min(job.settings["tokens"], every), (shape.layers + 1) * pairs
    work = Work(host=2 * 2 * products * tokens * shape.width**2) + _decompositions(
        shape.width, decompositions
    )
    layer = 2 * shape.dump(every) / (shape.layers + 1)
    return work * layers + Work(
        memory=layer + 8 * (20 + 3 * BLOCKS) * shape.width**2, read=layer * layers, rows=layers * len(stimuli)
    )


def spectra(job: Job, sizes: Sizes) -> Work:
    """Of four matrices of a layer the vectors of either model and the values of the change, as measured in decompositions."""
    shape, pairs = sizes.shape(job.settings["model"]), job.settings["folders"]
    references = {reference for _, reference, _ in pairs}
    matrices = 4 * shape.layers
    work = _decompositions(shape.width, (4.4 * len(pairs) + 3.7 * len(references)) * matrices)
    return work + Work(
        memory=8 * 8 * shape.width**2,
        read=2 * 4 * shape.width**2 * matrices * len(pairs),
        rows=(min(64, shape.width) + 5) * matrices * len(pairs),
    )


def rsa(job: Job, sizes: Sizes) -> Work:
    """Three sets of blocks' moments of either of two samples, and the products of each with that of all."""
    shape, pairs, stimuli = _pairs(job, sizes)
    tokens, layers = job.settings["tokens"], (shape.layers + 1) * pairs * len(stimuli)
    moments = 2 * 3 * 2 * (tokens + 2 * BLOCKS) * shape.width**2
    return Work(
        host=2 * moments * layers,
        memory=24 * tokens * shape.width,
        read=2 * 4 * tokens * shape.width * layers,
        rows=layers,
    )


def grounding(job: Job, sizes: Sizes) -> Work:
    """A block's activations written once; of every layer of a run a scatter and a decomposition, of every pair three more
    decompositions, RSA's moments, and the maps twice."""
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    ((inputs, length),) = sizes.stimuli(how["stimuli"])
    blocks = list(Counter(run["init"] for run in how["runs"]).values())
    pairs, every, width = sum(n * (n - 1) // 2 for n in blocks), inputs * length, shape.width
    tokens, moments = min(how["tokens"]["svcca"], every), min(how["tokens"]["rsa"], every)
    entries = SPREAD * inputs * length**2 * shape.heads
    each = dump_bytes(shape, [(inputs, length)], {"precision": "float32", "attention": True, "sample": None})
    alone = Work(host=4 * tokens * width**2) + _decompositions(width, 1)
    together = Work(
        host=(2 * tokens + 4 * moments) * width**2,
        elements=2 * entries,
        read=8 * entries + 8 * tokens * width,
    )
    together += _decompositions(width, 2)
    dev, dev_length = sizes.split(how["task"], "dev")
    held = max(blocks) * (16 * width**2 + 8 * moments * width)
    return (
        shape.passes(every + dev * dev_length, length) * len(how["runs"])
        + alone * (len(how["runs"]) * shape.layers)
        + together * (pairs * shape.layers)
        + Work(
            written=each * len(how["runs"]),
            scratch=each * max(blocks),
            memory=held + 8 * entries,
            device=4 * shape.parameters,
            rows=pairs,
        )
    )


def cosine_padded(job: Job, sizes: Sizes) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    inputs, length = job.settings["inputs"] or stimuli[0][0], job.settings["pad_to"]
    # Both models' maps of a batch, while the next is made, and a layer's in float64.
    maps = 6 * 4 * min(inputs, PADDED_AT_ONCE) * shape.layers * shape.heads * length**2
    return shape.passes(2 * pairs * inputs * length, length) + Work(
        device=4 * shape.parameters + maps, rows=pairs * shape.layers * (shape.heads + 1)
    )


def forgetting(job: Job, sizes: Sizes) -> Work:
    """Passes of every replicate and, for each pretraining run, of its checkpoint; the head on every layer's output."""
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    ((inputs, length),) = sizes.stimuli([how["stimuli"]], how["max_length"])
    times = len(how["runs"]) + len({run["parent"] for run in how["runs"]})
    hidden = 0.15 * inputs * length
    heads = 2 * hidden * (shape.layers + 1) * shape.width * (shape.width + shape.vocabulary)
    logits = Work(flops=heads, device=3 * 4 * shape.parameters + 2 * 4 * 512 * shape.vocabulary)
    return (shape.passes(inputs * length, length) + logits) * times + Work(
        rows=3 * (shape.layers + 2) * len(how["runs"])
    )


def annotations(job: Job, sizes: Sizes) -> Work:
    ((inputs, length), *more) = sizes.stimuli([job.wildcards["stimulus"]])
    return sizes.shape("base").passes(2 * inputs * length * (1 + len(more)), length) + Work(
        disk=ANNOTATED * inputs
    )


def ablation(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    rows, length = sizes.split(how["task"], "dev")
    sample = min(rows, how["ablation"]["max_dev"] or rows)
    times = len(how["ablation"]["variants"]) * shape.layers * (shape.heads + 1) + 1
    confirmed = 2 * how["ablation"]["confirm"] if sample < rows else 0
    # A pass starts at the layer that is changed, so half of the layers are passed.
    work = shape.read_often(sample, length, times / 2) + shape.read_often(rows, length, confirmed)
    return (work + Work(rows=times)) * len(how["runs"])


def restored(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    rows, length = sizes.split(how["task"], "dev")
    inputs = min(rows, how["max_dev"] or rows) + how["tokens"] / length
    states = Work(host=8 * how["tokens"] * shape.width**2) + _decompositions(shape.width, 4 + 2 * BLOCKS)
    # A pass starts at the layer that is changed, so half of the layers are passed.
    once = shape.read_often(inputs, length, 1 / 2) + states
    return (once + Work(rows=1)) * ((shape.layers + 1) * len(how["runs"]))


def frozen(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.settings["model"])
    rows, length = sizes.split(how["task"], "train")
    dev, _ = sizes.split(how["task"], "dev")
    inputs = min(rows, how["max_train"] or rows) + dev
    # Two linear probes, each fitted with many strengths in hundreds of steps that wait for memory (measured).
    fits = Work(host=2 * 40_000 * inputs * shape.width, memory=3 * 8 * inputs * shape.width)
    return (shape.passes(inputs * length, length) + fits) * len(how["starts"])


def _classified(sizes: Sizes, maps: float) -> Work:
    """Maps through the convolutions of the classifier, of 3 x 3, which halve a map's sides."""
    how = sizes.config["patterns"]["classifier"]
    channels = zip([1, *how["widths"]], how["widths"])
    flops = sum(18 * a * b * how["size"] ** 2 / 4**depth for depth, (a, b) in enumerate(channels))
    return Work(flops * maps, len(how["widths"]) * maps / 64, max(how["widths"]))


def patterns(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    ((inputs, length), *_) = sizes.stimuli([how["task"]])
    inputs = min(inputs, how["max_examples"] or inputs) * len(how["runs"])
    maps = Work(device=4 * shape.parameters + BATCH_TOKENS * length * shape.layers * shape.heads * 4)
    return (
        shape.passes(inputs * length, length)
        + maps
        + _classified(sizes, inputs * shape.layers * shape.heads)
        + Work(rows=len(how["runs"]) * shape.layers * shape.heads)
    )


def pattern_classifier(job: Job, sizes: Sizes) -> Work:
    how = job.settings
    return _classified(sizes, 3 * sizes.config["patterns"]["maps"] * how["epochs"] * (how["folds"] + 1))


def _steps(one: ProbeSettings, records: float) -> float:
    """Of a probe that learns from so many records: until its patience is at an end after its best weights."""
    epochs = BEST_EPOCHS * records / one.batch_records / one.validate_every
    best = max(1.0, min(BEST_VALIDATIONS, epochs))
    return min(one.max_steps, one.validate_every * (best + one.patience))


def _bank(shape: Shape, one: ProbeSettings, task: EdgeTask, probes: int, train: float) -> Work:
    """Probes that train side by side on so many records, and are scored on those of dev and test."""
    tokens, targets = one.batch_records * task.tokens, one.batch_records * task.targets
    mixing = 2 * tokens * (shape.layers + 1) * shape.width
    sides = task.spans * 2 * one.width * (tokens * shape.width + targets * one.width)
    forward = mixing + sides + 2 * targets * one.width * LABELS
    steps = _steps(one, train)
    scored = (steps / one.validate_every * task.records["dev"] + task.records["test"]) / one.batch_records
    weights = task.spans * one.width * (shape.width + one.width)
    # Weights, their best, a gradient, what Adam holds; a batch as it is scored.
    held = 8 * 4 * weights + 4 * 4 * tokens * (2 * shape.width + 2 * one.width)
    return Work(
        (3 * steps + scored) * forward * probes,
        3 * steps + scored / 4,
        one.width,
        device=probes * held + 4 * 4 * tokens * (shape.layers + 1) * shape.width,
    )


def _extracted(job: Job, sizes: Sizes, shape: Shape, stimuli: str) -> Work:
    """A replicate's states in float16, which are deleted once they are read."""
    ((inputs, length),) = sizes.stimuli([stimuli], job.settings["max_length"])
    states = shape.dump(inputs * length, 2)
    return shape.passes(inputs * length, length) + Work(written=states, scratch=states)


def _features(shape: Shape, task: EdgeTask) -> Work:
    """The states of all tokens in spans, in float16; of what was read before no more is there."""
    states, records = shape.dump(task.states, 2), sum(task.records.values())
    return Work(
        device=states, memory=2 * states / (shape.layers + 1) + 1000 * records * task.targets, read=states
    )


def edge_probes(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    work = _extracted(job, sizes, shape, "edges")
    for name in how["tasks"]:
        one = ProbeSettings(**how["probe"]).of(name)
        # Each beside one of its control task.
        task, probes = sizes.edge_task(name, one), 2 * len(how["variants"]) * one.probe_seeds
        work += _bank(shape, one, task, probes, task.records["train"]) + _features(shape, task)
    return (work + Work(rows=1)) * len(how["runs"])


def mdl(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    work = _extracted(job, sizes, shape, "edges")
    for name in how["tasks"]:
        one = CodeSettings(**how["probe"]).of(name)
        task = sizes.edge_task(name, one)
        work += _features(shape, task)
        for portion in one.portions:
            records = portion * task.records["train"]
            work += _bank(shape, one.learning_from(records), task, one.probe_seeds, records)
    return (work + Work(rows=1)) * len(how["runs"])


def structural_probes(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    one = StructuralSettings(**how["probe"])
    splits = sizes.trees()
    length = (sizes.tokens("trees") - 2) / PIECES
    epochs, probes = min(one.epochs, BEST_STRUCTURAL + one.patience), 2 * (shape.layers + 1) * one.probe_seeds
    # Words into a probe's space and back, and the products of a sentence's words with each other.
    each = length * (one.rank or shape.width) * (4 * shape.width + 6 * length)
    read = epochs * (splits["train"] + splits["dev"]) + splits["test"]
    states = shape.dump(sum(splits.values()) * length, 2)
    work = Work(each * read * probes, 8 * epochs * splits["train"] / one.batch_size, shape.width, read=states)
    work += _extracted(job, sizes, shape, "trees") + Work(rows=shape.layers + 1)
    return work * len(how["runs"]) + Work(memory=states)


def claims(job: Job, sizes: Sizes) -> Work:
    """Tables of what each head attends to have far more rows than all others that a claim reads."""
    paper, models = job.wildcards["paper"], set()
    for item in READ_IN_FULL.get(paper, []):
        models |= set((sizes.config["figures"][paper].get(item) or {}).get("models", []))
    rows = 0.0
    for name in models:
        shape, model = sizes.shape(name), parse_model(name, sizes.config)
        rows += len(runs_of(model, sizes.config)) * shape.layers * (shape.heads + 1)
    return Work(memory=HELD * rows, text=READ * rows)


# Rules that are not here cost what the shipped table says, whatever the configuration.
WORK: dict[str, Callable[[Job, Sizes], Work]] = {
    "pretrain": pretrain,
    "checkpoint": checkpoint,
    "derive": derive,
    "dataset": dataset,
    "corpus": corpus,
    "edges": edges,
    "stimuli": stimuli,
    "finetune": finetune,
    "snapshots": snapshots,
    "sweep": sweep,
    "activations": activations,
    "examples": examples,
    "annotations": annotations,
    "claims": claims,
    "cosine": maps_compared,
    "js": maps_compared,
    "attention_to": attention_to,
    "own_or_inherited": own_or_inherited,
    "cosine_padded": cosine_padded,
    "svcca": svcca,
    "similarity": similarity,
    "spectra": spectra,
    "rsa": rsa,
    "grounding": grounding,
    "layer_cka": layer_cka,
    "forgetting": forgetting,
    "ablation": ablation,
    "restored": restored,
    "frozen": frozen,
    "patterns": patterns,
    "pattern_classifier": pattern_classifier,
    "edge_probes": edge_probes,
    "mdl": mdl,
    "structural_probes": structural_probes,
}
