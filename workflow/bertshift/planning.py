"""The remaining jobs of all figures, or of other targets, and their duration: `make plan`. The
targets and options are snakemake's. Dry runs list the jobs; config/costs.yaml has the cost of a
job of each rule."""

import argparse
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from itertools import chain, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from bertshift import downloads
from bertshift.config import load_config, merge, read_yaml
from bertshift.errors import UserError
from bertshift.files import read_jsonl
from bertshift.models.shapes import EncoderShape, shape_of_model
from bertshift.naming import parse_comparison, parse_model
from bertshift.papers import catalogue
from bertshift.probes.settings import ProbeSettings
from bertshift.recipes import task_settings
from bertshift.replicates import pair_runs
from bertshift.requests import sweeps
from bertshift.requests.activations import how_dumped
from bertshift.running import gpus
from bertshift.running.redaction import redact
from bertshift.shipped import ROOT

MB, GB, BATCH_TOKENS = 1e6, 1e9, 2048  # tokens of a batch
# The table of costs weighs as much as jobs that took these seconds: a few small jobs change
# little.
TABLE_SECONDS = 60
READ = re.compile(r"^results/(?:stimuli/|activations/.*/)([^/.]+)(?:\.jsonl)?$", re.MULTILINE)
COLUMNS = ["stage", "jobs", "GPU-hours", "CPU-hours", "operations", "disk", "memory", "source"]


class Job(NamedTuple):
    """A job as a dry run tells of it (workflow/snakemake_logger_plugin_jobs)."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: Sequence[str]
    outputs: Sequence[str]
    log: str
    threads: int
    gpu: bool


class Cost(NamedTuple):
    seconds: float
    operations: float
    memory: float
    disk: float  # in bytes, as memory
    temporary: bool  # whether the files are deleted once all have read them


class TrainingLoad(NamedTuple):
    examples: float  # of all epochs
    length: float  # tokens of an example
    batch_size: int


def read_jobs(file: Path) -> dict[str, Job]:
    """Read the jobs that a dry run has written, by their first output."""
    jobs = [Job(**fields) for fields in read_jsonl(file)]
    # Names of targets have no output.
    return {job.outputs[0]: job for job in jobs if job.outputs}


class CostEstimate:
    """The costs of jobs by the table of costs, before anything has run."""

    def __init__(self, config: Mapping, table: Mapping, has_gpu: bool):
        self.config, self.table, self.has_gpu = config, table, has_gpu
        self.data = "world" if config["data"]["source"] == "world" else "real"
        self.rows = table["rows"][self.data]
        self.tokens = table["tokens"][self.data]

    def cost(self, job: Job) -> Cost:
        """Add up what the keys of the rule say (config/costs.yaml). Metrics run on a CPU."""
        rule = self.rule(job.rule)
        cpu = self.table["machines"]["cpu"]
        machine, cores = cpu, job.threads
        if job.gpu and self.has_gpu:
            machine, cores = self.table["machines"]["gpu"], 1
        shape = shape_of_model(self.model(job), self.config)
        inputs = [self.dev_inputs(job)] if rule["reads"] == "dev" else self.inputs(job)
        trainings = self.trainings(job, rule["trains"])
        counts = self.counts(job, shape)

        operations, batches = 0.0, 0.0
        if rule["probes"]:
            operations, batches = self.probes(rule["probes"], shape)
        for number, length in inputs:
            operations += shape.operations(number, length)
            batches += shape.layers * math.ceil(number * length / BATCH_TOKENS)
        for training in trainings:
            operations += 3 * shape.operations(training.examples, training.length)
            batches += 3 * shape.layers * training.examples / training.batch_size
        repeats = math.prod([rule["times"], *(counts[name] for name in rule["by"])])
        speed = cores * machine["flops"] / (1 + machine["half_width"] / shape.width)
        seconds = rule["seconds"]
        seconds += repeats * (operations / speed + batches * machine["pass"])

        comparisons = counts[rule["compares"]] * (shape.layers + 1) * max(1, len(inputs))
        metric_operations = rule["products"] * shape.width**2
        metric_operations += rule["decompositions"] * shape.width**3
        seconds += comparisons * metric_operations / cpu["flops"] / job.threads
        dump = 0.0
        if rule["dumps"]:
            dump = self.dump(job, rule["dumps"], shape) * counts["runs"]
            seconds += 3 * dump / cpu["moved"]

        model = 4 * shape.parameters if repeats else 0
        if trainings:
            model = max(shape.training_bytes(t.batch_size * t.length, t.length) for t in trainings)
        at_once = self.config["sweeps"]["runs_at_once"] or self.config["threads"]["train"]
        memory = (rule["memory_mb"] + machine["memory_mb"]) * MB + model
        memory *= min(max(1, len(trainings)), at_once)

        disk = rule["disk_mb"] * MB + rule["models"] * 4 * shape.parameters
        disk += comparisons * rule["row_bytes"]
        if rule["dumps"] == "kind":
            disk += dump
        return Cost(
            seconds=seconds,
            operations=repeats * operations + comparisons * metric_operations,
            memory=memory,
            disk=disk,
            temporary=bool(rule["kept_by"]) and not self.config.get(rule["kept_by"]),
        )

    def rule(self, name: str) -> dict:
        """Return what a job of this rule takes, with this configuration's kind of data."""
        rules = self.table["rules"]
        rule = rules["other"] | rules.get(name, {})
        for key, value in rule.items():
            if isinstance(value, dict):
                rule[key] = value[self.data]
        return rule

    def model(self, job: Job) -> str:
        """Name the model of a job."""
        names = [job.wildcards.get(key, "") for key in ("model", "base", "stem", "checkpoint")]
        return "".join(names) or self.config["annotators"]["tags"]

    def settings(self, job: Job) -> dict:
        return task_settings(parse_model(self.model(job), self.config), self.config)

    def counts(self, job: Job, shape: EncoderShape) -> dict[str, float]:
        """Count the factors of a job's work, by the names in the table."""
        folders = {Path(file).parent for file in job.inputs if file.endswith("/model.safetensors")}
        pairs = folders
        if {"model", "reference"} <= job.wildcards.keys():
            names = job.wildcards["model"], job.wildcards["reference"]
            pairs = pair_runs(*parse_comparison(*names, self.config), self.config)
        runs_by_init = Counter(folder.name.partition("_")[0] for folder in folders)
        return {
            "nothing": 0,
            "runs": len(folders),
            "pairs": len(pairs),
            "every two": sum(math.comb(runs, 2) for runs in runs_by_init.values()),
            "parts": shape.layers * (shape.heads + 1),
            "ablations": len(self.config["ablation"]["variants"]),
        }

    def trainings(self, job: Job, data: str) -> list[TrainingLoad]:
        """List the trainings of a job: on a `corpus`, of its `task`, or of all runs of a `row`."""
        if data == "corpus":
            return [self.pretraining(job)]
        if data == "task":
            settings = [self.settings(job)]
        elif data == "row":
            settings = sweeps.settings_of_runs(
                self.config, sweeps.row(self.config, **job.wildcards)
            ).values()
        else:
            settings = []
        trainings = []
        for run in settings:
            number, length = self.split(run["task"], "train")
            epochs, batch_size = run["training"]["epochs"], run["training"]["batch_size"]
            trainings.append(TrainingLoad(number * epochs, length, batch_size))
        return trainings

    def pretraining(self, job: Job) -> TrainingLoad:
        pretrain = self.config["bases"][job.wildcards["base"]]["pretrain"]
        corpus = Path(self.config["corpora"][pretrain["corpus"]])
        number, length = self.size("documents")
        tokens = corpus.stat().st_size / 4 if corpus.is_file() else number * length
        return TrainingLoad(pretrain["epochs"] * tokens / length, length, pretrain["batch_size"])

    def probes(self, at_once: int, shape: EncoderShape) -> tuple[float, float]:
        """Count operations and batches of edge probes, which are best after 30 validations."""
        settings = ProbeSettings(**self.config["probes"]["edge"])
        _, length = self.size("edges")
        steps = 0
        for task in self.config["edge_tasks"]:
            probe = settings.of(task)
            validations = 30 + probe.patience
            steps += 3 * min(probe.max_steps, probe.validate_every * validations)
        tokens = steps * settings.batch_records * length * settings.probe_seeds * at_once
        # A probe has two projections of a token.
        return 2.6 * tokens * shape.width * settings.width, steps

    def inputs(self, job: Job) -> list[tuple[float, float]]:
        """List (number, tokens of each) of the sets of inputs that a job or its dumps read."""
        stems = READ.findall("\n".join(job.inputs))
        names = "-".join(stems).split("-")  # a dump's name joins those of its sets
        return [self.size(name) for name in dict.fromkeys(names) if name]

    def dev_inputs(self, job: Job) -> tuple[float, float]:
        """Return (number, tokens of each) of the development examples that an ablation reads."""
        rows, length = self.split(self.settings(job)["task"], "dev")
        return min(rows, self.config["ablation"]["max_dev"] or rows), length

    def size(self, name: str) -> tuple[float, float]:
        """Return (inputs, tokens of each) of a stimulus or of tasks."""
        samples = self.config["samples"]
        if name in self.rows:
            return self.rows[name], min(self.tokens[name], samples["max_length"])
        tasks = name.split("+")
        if name in self.config["stimuli"]:
            sources, form = [self.config["stimuli"][name]], self.config["stimuli"][name]["form"]
        else:
            sources, form = [self.config["tasks"][task] for task in tasks], "inputs"
        length = max(self.dataset_tokens(source["dataset"]) for source in sources)
        if len(tasks) > 1:
            number = samples["combined"]
        elif form in ("sentences", "consecutive_pairs"):
            number = samples["text"]
        else:
            number = samples["task"]
        return len(tasks) * number, min(length, samples["max_length"])

    def dataset_tokens(self, dataset: str) -> float:
        return self.tokens.get(dataset, self.tokens["others"])

    def split(self, task: Mapping, split: str) -> tuple[float, float]:
        """Return (inputs, tokens of each) of a split that a task reads."""
        dataset = task["dataset"]
        published = self.config["datasets"][dataset].get("published", {}).get(split)
        rows = self.rows.get(dataset) or self.rows.get("made") or published or self.rows["others"]
        rows = min(rows, task.get(f"max_{split}") or rows)
        return rows, min(self.dataset_tokens(dataset), task["max_length"])

    def dump(self, job: Job, kind: str, shape: EncoderShape) -> float:
        """Estimate the bytes of a replicate's dump: states of all layers, maps of all heads."""
        contents = how_dumped(job.wildcards.get(kind, kind), self.config)
        number_bytes = 2 if contents["precision"] == "float16" else 4
        size = 0.0
        for number, length in self.inputs(job):
            tokens = min(number * length, contents["sample"] or math.inf)
            size += number_bytes * tokens * (shape.layers + 1) * shape.width
            if contents["attention"]:
                size += 4 * number * length**2 * shape.layers * shape.heads
        return size


class Finished:
    """Finished jobs of each rule, and of each kind of machine, and their time beside the estimate.

    The time of a job on a CPU is its CPU time for each thread, as other work on the machine makes
    the time that passed longer.
    """

    def __init__(self, jobs_and_costs: Iterable[tuple[Job, Cost]], has_gpu: bool):
        self.has_gpu = has_gpu
        self.jobs: Counter = Counter()
        self.seconds: Counter = Counter()
        self.estimated: Counter = Counter()
        for job, cost in jobs_and_costs:
            seconds = self._read_seconds(job)
            if seconds is None:
                continue
            for key in (job.rule, self.machine(job)):
                self.jobs[key] += 1
                self.seconds[key] += seconds
                self.estimated[key] += cost.seconds

    def machine(self, job: Job) -> str:
        return "GPU" if job.gpu and self.has_gpu else "CPU"

    def ratio(self, job: Job) -> float:
        """Return the ratio of a job's time to the estimate, from its rule's finished jobs; where
        these are few, jobs of all rules on such a machine count too."""
        of_machine = self._ratio(self.machine(job), 1.0)
        return self._ratio(job.rule, of_machine)

    def _ratio(self, key: str, usual: float) -> float:
        seconds = self.seconds[key] + usual * TABLE_SECONDS
        return seconds / (self.estimated[key] + TABLE_SECONDS)

    def _read_seconds(self, job: Job) -> float | None:
        """Read the seconds of a job's threads, or of its GPU; None if they were not measured."""
        try:
            text = Path(job.log).with_suffix(".cost.tsv").read_text(encoding="utf-8")
            names, values = (line.split("\t") for line in text.splitlines()[:2])
            cost = dict(zip(names, values))
            if self.machine(job) == "GPU":
                return float(cost["s"])
            return float(cost["cpu_time"]) / job.threads
        except (OSError, KeyError, ValueError):
            return None

    def source(self, rules: set[str], left: Iterable[Job]) -> str:
        """Say what the estimates of the jobs that are left of these rules were made from."""
        if own := sum(self.jobs[rule] for rule in rules):
            return f"costs.yaml and {own:,} of your own jobs"
        if others := sum(self.jobs[machine] for machine in {self.machine(job) for job in left}):
            return f"costs.yaml and {others:,} of other stages"
        return "costs.yaml"


def until_end(jobs: dict[str, Job], seconds: dict[str, float], room: dict[str, int]) -> float:
    """Estimate the time to the end: of all work in the room, but at least of the longest chain."""
    maker = {file: name for name, job in jobs.items() for file in job.outputs}
    work: Counter = Counter()
    for name, job in jobs.items():
        slots = 1
        if "jobs" in room:
            kind = "jobs"
        elif job.gpu and "GPUs" in room:
            kind = "GPUs"
        else:
            kind = "cores"
            slots = min(job.threads, room["cores"])
        work[kind] += seconds[name] * slots / room[kind]

    @cache
    def chain(name: str) -> float:
        before = {maker[file] for file in jobs[name].inputs if file in maker}
        return seconds[name] + max(map(chain, before), default=0)

    return max([*work.values(), *map(chain, jobs)], default=0.0)


def plan(
    jobs: dict[str, Job], remaining: dict[str, Job], estimate: CostEstimate, room: dict
) -> str:
    """Tabulate the remaining jobs by stage, and say when they end."""
    costs = {name: estimate.cost(job) for name, job in jobs.items()}
    done = [(job, costs[name]) for name, job in jobs.items() if name not in remaining]
    finished = Finished(done, estimate.has_gpu)
    seconds = {name: costs[name].seconds * finished.ratio(job) for name, job in remaining.items()}
    stages = {rule: stage for stage, rules in estimate.table["stages"].items() for rule in rules}
    all_rules = {job.rule for job in jobs.values()}
    rows = [COLUMNS]
    for stage in [*estimate.table["stages"], "other", "total"]:
        rules = {rule for rule in all_rules if stage in ("total", stages.get(rule, "other"))}
        if not rules:
            continue
        names = [name for name, job in remaining.items() if job.rule in rules]
        stage_costs = [costs[name] for name in names]
        on_gpu = {name for name in names if remaining[name].gpu and estimate.has_gpu}
        gpu_seconds = sum(seconds[name] for name in on_gpu)
        cpu_seconds = sum(
            seconds[name] * remaining[name].threads for name in names if name not in on_gpu
        )
        operations = sum(cost.operations for cost in stage_costs)
        disk = sum(cost.disk for cost in stage_costs if not cost.temporary)
        memory = max((cost.memory for cost in stage_costs), default=0)
        rows.append(
            [
                stage,
                f"{len(names):,}",
                f"{gpu_seconds / 3600:,.2f}",
                f"{cpu_seconds / 3600:,.2f}",
                f"{operations:.1e}",
                f"{disk / GB:,.2f} GB",
                f"{memory / GB:.1f} GB",
                finished.source(rules, [remaining[name] for name in names]),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    temporary = sum(costs[name].disk for name in remaining if costs[name].temporary) / GB
    limits = " and ".join(f"{number} {kind}" for kind, number in room.items())
    notes = [
        f"About {until_end(remaining, seconds, room) / 3600:,.1f} hours with {limits} at a time.",
        "CPU-hours are CPU time: beside other work it takes longer.",
        f"Temporary files take up to {temporary:,.1f} GB more. Memory: of the largest job.",
        *(estimate.table["machines"][name]["origin"] for name in ("cpu", "gpu")),
    ]
    return "\n".join([f"Left to do at scale {estimate.config['scale']}:\n", *lines, "", *notes])


def parse_options(options: Sequence[str]) -> tuple[dict, dict[str, int]]:
    """Return the configuration and the room for jobs that snakemake has with these options. Go to
    the folder that they name."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for names in ("--config -C", "--configfile --configfiles", "--profile"):
        parser.add_argument(*names.split(), nargs="+", action="extend", default=[])
    for names in ("--cores -c", "--jobs -j", "--executor -e", "--directory -d"):
        parser.add_argument(*names.split(), nargs="?", const="all")
    given, _ = parser.parse_known_args(options)
    folder = Path(given.directory or ".")
    files = [folder / "config/experiments.yaml", *map(Path, given.configfile)]
    typed = [yaml.safe_load(entry.replace("=", ": ", 1)) for entry in given.config]
    user = reduce(merge, [*map(read_yaml, files), *typed])
    profiles = [Path(name).expanduser() / "config.yaml" for name in given.profile]
    profile = reduce(merge, map(read_yaml, filter(Path.is_file, profiles)), {})
    os.chdir(folder)
    config = load_config(user, ROOT)
    catalogue.check(config)
    config, _ = catalogue.drawable(config)
    if (given.executor or profile.get("executor", "local")) != "local":
        return config, {"jobs": int(given.jobs or profile.get("jobs", 1))}
    cores = given.cores or given.jobs or profile.get("cores", "all")
    room = {"cores": len(os.sched_getaffinity(0)) if cores == "all" else int(cores)}
    devices = gpus.given()
    if devices:
        room["GPUs"] = len(devices)
    return config, room


def dry_run(*arguments: str, folder: Path | None = None) -> dict[str, Job]:
    """Ask snakemake, called in `folder` or here, for its jobs. Exit with its message if it
    refuses."""
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / "jobs.jsonl"
        command = [sys.executable, "-m", "snakemake", *arguments, "--dry-run", *writing_jobs(file)]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        return read_jobs(file)


def writing_jobs(file: Path) -> list[str]:
    """Return the options with which snakemake writes its jobs to a file for `read_jobs`."""
    return ["--logger", "jobs", "--logger-jobs-file", str(file)]


def describe_lacking(lacking: Mapping[str, Sequence[str]]) -> str:
    """Say what is missing, what is not planned for that reason, and how to do without it."""
    lines = ["Not planned, as data are missing:"]
    for sentence, parts in lacking.items():
        papers = [f"{paper} {', '.join(items)}" for paper, items in _by_paper(parts).items()]
        others = [part for part in parts if part not in catalogue.FIGURES]
        lines += [
            f"  {redact(sentence)}",
            f"    Without it there is no {'; '.join(papers + others)}.",
        ]
    nulls = [
        f"{paper}: {{{', '.join(f'{item}: null' for item in items)}}}"
        for paper, items in _by_paper(chain.from_iterable(lacking.values())).items()
    ]
    if nulls:
        lines += ["To do without these figures:", f"  figures: {{{', '.join(nulls)}}}"]
    return "\n".join(lines)


def _by_paper(parts: Iterable[str]) -> dict[str, list[str]]:
    """List the figures among `parts`, each once, by their papers."""
    items = defaultdict(list)
    for part in dict.fromkeys(parts):
        if part in catalogue.FIGURES:
            paper, item = part.split("/")
            items[paper].append(item)
    return items


def main(arguments: Sequence[str]) -> None:
    """Print the plan of the targets, which stand before all options; by default, of all
    figures."""
    folder = Path.cwd()
    targets = list(takewhile(lambda word: not word.startswith("-"), arguments))
    options = arguments[len(targets) :]
    try:
        config, room = parse_options(options)
        targets, lacking = downloads.obtainable(targets or ["figures/all"], config)
    except (UserError, OSError, yaml.YAMLError) as error:
        sys.exit(redact(str(error)))
    if not targets:
        sys.exit(describe_lacking(lacking))
    remaining = dry_run(*targets, *options, folder=folder)
    jobs = dry_run(*targets, "--forceall", *options, folder=folder)
    table = read_yaml(ROOT / "config/costs.yaml")
    has_gpu = room.keys() != {"cores"}
    print(plan(jobs, remaining, CostEstimate(config, table, has_gpu), room))
    if lacking:
        print(f"\n{describe_lacking(lacking)}")


if __name__ == "__main__":
    main(sys.argv[1:])
