"""What a job computes and writes, as far as the configuration tells before anything has run."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bertshift.naming import parse_model, parse_variant, shape_of
from bertshift.probes.settings import ProbeSettings

# Of checkpoints, the configuration has neither: all BERTs have heads of 64, and about so many word pieces.
HEAD_WIDTH, VOCABULARY = 64, 30_522
# An encoder is read in batches of so many tokens.
BATCH_TOKENS = 2048
# Edge probes have about so many targets a record, of one or two spans; a probe that may train for long finds its best
# weights after so many validations.
TARGETS, BEST_AFTER = 4, 30
# Blocks of an online code, where the configuration does not list them.
PORTIONS = 11
# The mean square of lengths, to the square of their mean.
SPREAD = 1.3
# Rows and tokens of inputs whose data set does not tell: a user's own.
UNKNOWN_ROWS, UNKNOWN_TOKENS = 10_000, 40


@dataclass(frozen=True)
class Job:
    """One job of the workflow: what its rule says of it, and the jobs that it waits for.

    settings: the rule's `params.settings`; output: bytes are counted as temporary where Snakemake deletes them.
    """

    number: int
    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping = field(default_factory=dict)
    threads: int = 1
    gpu: bool = False
    output: tuple[str, ...] = ()
    temporary: bool = False
    record: str | None = None
    needed: bool = True
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Work:
    """flops: floating-point operations of its matrix products, width: of these; passes: of a batch through a layer."""

    flops: float = 0.0
    passes: float = 0.0
    width: int = 0
    memory: float = 0.0
    disk: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.passes + other.passes,
            max(self.width, other.width),
            max(self.memory, other.memory),
            self.disk + other.disk,
        )

    def __mul__(self, times: float) -> "Work":
        return Work(self.flops * times, self.passes * times, self.width, self.memory, self.disk * times)


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
        return Work(flops, self.layers * batches, self.width, memory=4 * self.parameters)

    def updates(self, tokens: float, length: float, steps: float) -> Work:
        """Training: forward and backward, and what the optimiser holds beside the states of a batch."""
        once = self.passes(tokens, length, steps)
        states = tokens / max(1, steps) * self.layers * 4 * (34 * self.width + 5 * self.heads * length) / 2
        return Work(3 * once.flops, 3 * once.passes, self.width, memory=16 * self.parameters + states)


class Sizes:
    """How many inputs of how many tokens there are: of prepared data as they are, of others as published.

    `known`: {"rows" and "tokens": {name: number}} of what neither tells.
    """

    def __init__(self, config: Mapping, known: Mapping[str, Mapping[str, float]]):
        self.config, self.known = config, known

    def shape(self, model: str, variants: list[str] | None = None) -> Shape:
        model = parse_model(model, self.config)
        base = self.config["bases"][model.base]
        shape = shape_of(base)
        kept = [
            v for v in map(parse_variant, variants or [v.text for v in model.variants]) if v.kind == "keep"
        ]
        layers = int(kept[0]["layers"]) if kept else shape["layers"]
        width = shape.get("width", HEAD_WIDTH * shape["heads"])
        vocabulary = self.config["vocabularies"].get(shape["vocabulary"], {}).get("size", VOCABULARY)
        return Shape(layers, shape["heads"], width, vocabulary)

    def rows(self, dataset: str, split: str) -> int:
        if prepared := _prepared(f"results/data/{dataset}/dataset.json"):
            return prepared.get(split, 0)
        published = self.config["datasets"][dataset].get("published", {}).get(split)
        if self.config["data"]["source"] != "world":
            return published or self.known["rows"].get(dataset, UNKNOWN_ROWS)
        kinds = {"squad": "squad", "squad2": "squad", "ewt": "treebank"}
        key = f"{kinds[dataset]}_{split}" if dataset in kinds else split
        return self.config["world"]["sizes"].get(key, self.known["rows"].get(dataset, UNKNOWN_ROWS))

    def tokens(self, dataset: str, longest: int = 512) -> float:
        return min(longest, self.known["tokens"].get(dataset, UNKNOWN_TOKENS))

    def split(self, task: Mapping, split: str) -> tuple[float, float]:
        """(inputs, tokens of each) of a split that a task reads; `task` as in a fine-tuning's settings."""
        rows, most = self.rows(task["dataset"], split), task.get(f"max_{split}")
        return min(rows, most or rows), self.tokens(task["dataset"], task["max_length"])

    def stimuli(self, names: list[str], longest: int | None = None) -> list[tuple[float, float]]:
        """(inputs, tokens of each) of each set of inputs."""
        samples, longest = self.config["samples"], longest or self.config["samples"]["max_length"]
        sizes = []
        for name in names:
            if name in self.known["rows"]:
                rows = _prepared(f"results/stimuli/{name}.json") or self.known["rows"][name]
                sizes.append((rows, self.tokens(name, longest)))
            elif name in self.config["stimuli"]:
                sizes.append((samples["text"], self.tokens(self.config["stimuli"][name]["dataset"], longest)))
            else:
                tasks = name.split("+")
                each = samples["combined"] if len(tasks) > 1 else samples["task"]
                for task in tasks:
                    dataset = self.config["tasks"][task]["dataset"]
                    sizes.append((min(each, self.rows(dataset, "dev")), self.tokens(dataset, longest)))
        return sizes


def _prepared(description: str):
    """The rows of data that are there already."""
    path = Path(description)
    return json.loads(path.read_text(encoding="utf-8")).get("rows") if path.is_file() else None


def _train(sizes: Sizes, model: str, run: Mapping) -> Work:
    shape, how = sizes.shape(model, run["variants"]), run["training"]
    rows, length = sizes.split(run["task"], "train")
    dev, _ = sizes.split(run["task"], "dev")
    examples = rows * how["epochs"]
    return shape.updates(examples * length, length, examples / how["batch_size"]) + shape.passes(
        dev * length, length
    )


def _model(shape: Shape, copies: int = 1) -> Work:
    return Work(memory=4 * shape.parameters, disk=4 * shape.parameters * copies)


def finetune(job: Job, sizes: Sizes) -> Work:
    shape = sizes.shape(job.wildcards["model"])
    return _train(sizes, job.wildcards["model"], job.settings) + _model(shape)


def sweep(job: Job, sizes: Sizes) -> Work:
    runs = job.settings["runs"].values()
    return sum((_train(sizes, job.wildcards["model"], run) for run in runs), Work())


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
    # The masked words' logits.
    return work + Work(flops=6 * 0.15 * tokens * shape.width * shape.vocabulary)


def checkpoint(job: Job, sizes: Sizes) -> Work:
    return _model(sizes.shape(job.wildcards["base"]), copies=2)  # one is the download's


def derive(job: Job, sizes: Sizes) -> Work:
    return _model(sizes.shape(job.wildcards["model"]))


def dataset(job: Job, sizes: Sizes) -> Work:
    name = job.wildcards["dataset"]
    splits = sizes.config["datasets"][name].get("published", {}) or ["text"]
    letters = sum(sizes.rows(name, split) for split in splits) * sizes.tokens(name) * 6
    return Work(disk=letters, memory=10 * letters)


def dump_bytes(shape: Shape, inputs: Sequence[tuple[float, float]], how: Mapping) -> float:
    """Bytes of one replicate's activation files: the hidden states of all layers, and each head's maps if asked for.

    inputs: (inputs, tokens of each) of each set; how: `precision`, `attention` and `sample` of the rule `activations`.
    """
    states = maps = 0.0
    for number, length in inputs:
        kept = min(number * length, (how["sample"] or {}).get("count", number * length))
        states += kept * (shape.layers + 1) * shape.width * (2 if how["precision"] == "float16" else 4)
        maps += number * shape.layers * shape.heads * SPREAD * length**2 * 4
    return states + (maps if how["attention"] else 0)


def activations(job: Job, sizes: Sizes) -> Work:
    how = job.settings
    shape, runs = sizes.shape(job.wildcards["model"]), len(how["runs"])
    stimuli = sizes.stimuli(job.wildcards["stimuli"].split("-"), how["max_length"])
    work = sum((shape.passes(inputs * length, length) for inputs, length in stimuli), Work())
    each = dump_bytes(shape, stimuli, how)
    return (work + Work(disk=each)) * runs + Work(memory=each / shape.layers)


def _pairs(job: Job, sizes: Sizes) -> tuple[Shape, int, list[tuple[float, float]]]:
    how = job.settings
    return sizes.shape(how["model"]), len(how["pairs"]), sizes.stimuli(how["stimuli"])


def maps_compared(job: Job, sizes: Sizes) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    entries = SPREAD * sum(inputs * length**2 for inputs, length in stimuli) * shape.heads
    return Work(flops=40 * entries * shape.layers * pairs, width=shape.width, memory=16 * entries)


def states_compared(job: Job, sizes: Sizes) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    tokens = min(job.settings["tokens"], sum(inputs * length for inputs, length in stimuli))
    flops = 30 * tokens * shape.width**2 * (shape.layers + 1) * pairs
    return Work(flops, width=shape.width, memory=32 * tokens * shape.width)


def rsa(job: Job, sizes: Sizes) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    tokens = job.settings["tokens"]
    flops = tokens**2 * shape.width * (shape.layers + 1) * pairs * len(stimuli)
    return Work(flops, width=shape.width, memory=2 * 8 * tokens**2 / 8)


def cosine_padded(job: Job, sizes: Sizes) -> Work:
    shape, pairs, stimuli = _pairs(job, sizes)
    inputs, length = job.settings["inputs"] or stimuli[0][0], job.settings["pad_to"]
    return shape.passes(2 * pairs * inputs * length, length)


def annotations(job: Job, sizes: Sizes) -> Work:
    ((inputs, length), *more) = sizes.stimuli([job.wildcards["stimulus"]])
    return sizes.shape("base").passes(2 * inputs * length * (1 + len(more)), length)


def ablation(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    rows, length = sizes.split(how["task"], "dev")
    sample = min(rows, how["ablation"]["max_dev"] or rows)
    times = len(how["ablation"]["variants"]) * shape.layers * (shape.heads + 1) + 1
    confirmed = 2 * how["ablation"]["confirm"] if sample < rows else 0
    # A pass starts at the layer that is changed, so half of the layers are passed.
    return shape.passes((sample * times / 2 + rows * confirmed) * length, length) * len(how["runs"])


def restored(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    rows, length = sizes.split(how["task"], "dev")
    tokens = min(rows, how["max_dev"] or rows) * length + how["tokens"]
    states = Work(30 * how["tokens"] * shape.width**2, width=shape.width)
    return (shape.passes(tokens, length) + states) * ((shape.layers + 1) * len(how["runs"]))


def frozen(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.settings["model"])
    rows, length = sizes.split(how["task"], "train")
    dev, _ = sizes.split(how["task"], "dev")
    inputs = min(rows, how["max_train"] or rows) + dev
    return shape.passes(inputs * length, length) * len(how["starts"])


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
    return shape.passes(inputs * length, length) + _classified(sizes, inputs * shape.layers * shape.heads)


def pattern_classifier(job: Job, sizes: Sizes) -> Work:
    how = job.settings
    return _classified(sizes, 3 * sizes.config["patterns"]["maps"] * how["epochs"] * (how["folds"] + 1))


def _probe_steps(settings: Mapping, tasks: list[str]) -> float:
    """Of one probe for each task."""
    each = [ProbeSettings(**settings).of(task) for task in tasks]
    return sum(min(one.max_steps, one.validate_every * (one.patience + BEST_AFTER)) for one in each)


def _probes(shape: Shape, settings: ProbeSettings, banks: float, probes: int) -> Work:
    """banks: steps of banks of so many probes that train side by side."""
    spans = settings.batch_records * TARGETS * 2
    products = 6 * settings.width * (shape.width + 2 * settings.width)
    mixing = 80 * shape.layers * shape.width
    return Work(banks * probes * spans * (products + mixing), 3 * banks, settings.width)


def edge_probes(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    one = ProbeSettings(**how["probe"])
    banks = _probe_steps(how["probe"], list(how["tasks"])) * len(how["runs"])
    return _probes(shape, one, banks, len(how["variants"]) * one.probe_seeds)


def mdl(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    settings = {key: value for key, value in how["probe"].items() if key != "portions"}
    one = ProbeSettings(**settings)
    banks = _probe_steps(settings, list(how["tasks"])) * len(how["runs"])
    return _probes(shape, one, banks * len(how["probe"].get("portions", range(PORTIONS))), one.probe_seeds)


def structural_probes(job: Job, sizes: Sizes) -> Work:
    how, shape = job.settings, sizes.shape(job.wildcards["model"])
    probe = {"epochs": 40, "batch_size": 20, "probe_seeds": 1, **how["probe"]}
    rows = sizes.rows(sizes.config["treebank"], "train")
    rows = min(rows, probe.get("max_train") or rows)
    length = sizes.tokens("trees")
    # Two kinds of probes, one a layer.
    each = 6 * rows * length * (probe.get("rank") or shape.width) * (shape.width + length)
    times = 2 * (shape.layers + 1) * probe["epochs"] * probe["probe_seeds"] * len(how["runs"])
    return Work(each * times, 3 * times * rows / probe["batch_size"] / (shape.layers + 1), shape.width)


# Rules that are not here cost what the shipped table says, whatever the configuration.
WORK: dict[str, Callable[[Job, Sizes], Work]] = {
    "pretrain": pretrain,
    "checkpoint": checkpoint,
    "derive": derive,
    "dataset": dataset,
    "finetune": finetune,
    "sweep": sweep,
    "activations": activations,
    "annotations": annotations,
    "cosine": maps_compared,
    "js": maps_compared,
    "attention_to": maps_compared,
    "own_or_inherited": maps_compared,
    "cosine_padded": cosine_padded,
    "svcca": states_compared,
    "similarity": states_compared,
    "rsa": rsa,
    "ablation": ablation,
    "restored": restored,
    "frozen": frozen,
    "patterns": patterns,
    "pattern_classifier": pattern_classifier,
    "edge_probes": edge_probes,
    "mdl": mdl,
    "structural_probes": structural_probes,
}
