"""The jobs left of all figures, and how long they will take: `make plan`. The options are
snakemake's. Dry runs tell the jobs, config/costs.yaml tells what a job of each rule takes."""

import argparse
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import NamedTuple

import yaml

from bertshift.config import load_config, merge, read_yaml
from bertshift.naming import parse_comparison, parse_model
from bertshift.probes.settings import ProbeSettings
from bertshift.recipes import task_settings
from bertshift.replicates import pair_runs
from bertshift.requests import sweeps
from bertshift.requests.activations import how_dumped
from bertshift.requests.shapes import Shape, shape_of_model
from bertshift.running import gpus
from bertshift.version import ROOT

MB, GB, BATCH_TOKENS = 1e6, 1e9, 2048  # a model reads batches of so many tokens
BLOCK = re.compile(r"^ *(?:local)?rule (\S+):\n((?: +\w+: .*\n)+)", re.MULTILINE)
READ = re.compile(r"^results/(?:stimuli/|activations/.*/)([^/.]+)(?:\.jsonl)?$", re.MULTILINE)
COLUMNS = ["stage", "jobs", "GPU-hours", "CPU-hours", "operations", "disk", "memory", "source"]


class Job(NamedTuple):
    """A job as a dry run prints it; those of a group stand indented."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    threads: int
    gpu: bool


class Cost(NamedTuple):
    seconds: float
    operations: float
    memory: float
    disk: float  # in bytes, as memory
    temporary: bool  # whether the files go once all have read them


def jobs_of(printed: str) -> dict[str, Job]:
    """Read the jobs that a dry run has printed, by their first output."""
    jobs = {}
    for rule, block in BLOCK.findall(printed):
        told = defaultdict(str, re.findall(r"^ +(\w+): (.*)$", block, re.MULTILINE))
        inputs, outputs = (tuple(told[key].split(", ")) for key in ("input", "output"))
        wildcards = dict(re.findall(r"(\w+)=([^,]*)", told["wildcards"]))
        threads, gpu = int(told["threads"] or 1), " gpu=1" in told["resources"]
        jobs[outputs[0]] = Job(rule, wildcards, inputs, outputs, told["log"], threads, gpu)
    jobs.pop("", None)  # names of targets
    return jobs


class Estimate:
    """The costs of jobs by the table of costs, before anything has run."""

    def __init__(self, config: Mapping, table: Mapping, has_gpu: bool):
        self.config, self.table, self.has_gpu = config, table, has_gpu
        self.data = "world" if config["data"]["source"] == "world" else "real"
        self.rows, self.tokens = table["rows"][self.data], table["tokens"][self.data]

    def cost(self, job: Job) -> Cost:
        """Add up what the keys of the rule say (config/costs.yaml). Metrics run on a CPU."""
        rule = self.table["rules"]["other"] | self.table["rules"].get(job.rule, {})
        rule = {key: one[self.data] if isinstance(one, dict) else one for key, one in rule.items()}
        cpu, gpu = (self.table["machines"][name] for name in ("cpu", "gpu"))
        machine, cores = (gpu, 1) if job.gpu and self.has_gpu else (cpu, job.threads)
        shape = shape_of_model(self.model(job), self.config)
        inputs, trained = self.inputs(job), self.trainings(job, rule["trains"])
        scales = self.scales(job, shape)
        dump = self.dump(job, rule["dumps"], shape) * scales["runs"] if rule["dumps"] else 0.0
        operations, batches = self.probes(rule["probes"], shape) if rule["probes"] else (0.0, 0.0)
        if rule["reads"] == "dev":
            rows, length = self.split(self.task(job)["task"], "dev")
            inputs = [(min(rows, self.config["ablation"]["max_dev"] or rows), length)]
        for number, length in inputs:
            operations += shape.operations(number, length)
            batches += shape.layers * math.ceil(number * length / BATCH_TOKENS)
        for number, length, batch in trained:
            operations += 3 * shape.operations(number, length)
            batches += 3 * shape.layers * number / batch
        times = math.prod([rule["times"], *(scales[each] for each in rule["by"])])
        speed = cores * machine["flops"] / (1 + machine["half_width"] / shape.width)
        seconds = rule["seconds"] + times * (operations / speed + batches * machine["pass"])
        compared = scales[rule["compares"]] * (shape.layers + 1) * max(1, len(inputs))
        on_cpu = rule["products"] * shape.width**2 + rule["decompositions"] * shape.width**3
        seconds += compared * on_cpu / cpu["flops"] / job.threads + 3 * dump / cpu["moved"]
        held = [shape.training_bytes(batch * length, length) for _, length, batch in trained]
        memory = (rule["memory_mb"] + machine["memory_mb"]) * MB
        memory += max(held, default=4 * shape.parameters * bool(times))
        at_once = self.config["sweeps"]["runs_at_once"] or self.config["threads"]["train"]
        memory *= min(len(trained) or 1, at_once)
        disk = rule["disk_mb"] * MB + rule["models"] * 4 * shape.parameters
        disk += compared * rule["row_bytes"] + dump * (rule["dumps"] == "kind")
        temporary = bool(rule["kept_by"]) and not self.config.get(rule["kept_by"])
        return Cost(seconds, times * operations + compared * on_cpu, memory, disk, temporary)

    def model(self, job: Job) -> str:
        """Name the model that a job is about."""
        names = [job.wildcards.get(key, "") for key in ("model", "base", "stem", "checkpoint")]
        return "".join(names) or self.config["annotators"]["tags"]

    def task(self, job: Job) -> dict:
        return task_settings(parse_model(self.model(job), self.config), self.config)

    def scales(self, job: Job, shape: Shape) -> dict[str, float]:
        """Count what a job's work grows with, by the names in the table."""
        folders = {Path(file).parent for file in job.inputs if file.endswith("/model.safetensors")}
        pairs, inits = folders, Counter(folder.name.partition("_")[0] for folder in folders)
        if {"model", "reference"} <= job.wildcards.keys():
            names = job.wildcards["model"], job.wildcards["reference"]
            pairs = pair_runs(*parse_comparison(*names, self.config), self.config)
        return {
            "nothing": 0,
            "runs": len(folders),
            "pairs": len(pairs),
            "every two": sum(number * (number - 1) // 2 for number in inits.values()),
            "parts": shape.layers * (shape.heads + 1),
            "ablations": len(self.config["ablation"]["variants"]),
        }

    def trainings(self, job: Job, data: str) -> list[tuple[float, float, int]]:
        """List (examples of all epochs, tokens of each, batch size) of all trained runs."""
        if data == "corpus":
            how = self.config["bases"][job.wildcards["base"]]["pretrain"]
            corpus = Path(self.config["corpora"][how["corpus"]])
            number, length = self.size("documents")
            tokens = corpus.stat().st_size / 4 if corpus.is_file() else number * length
            return [(how["epochs"] * tokens / length, length, how["batch_size"])]
        settings = [self.task(job)] if data == "task" else []
        if data == "row":
            settings = sweeps.row(self.config, **job.wildcards).settings["runs"].values()
        each = [(self.split(one["task"], "train"), one["training"]) for one in settings]
        return [(n * how["epochs"], length, how["batch_size"]) for (n, length), how in each]

    def probes(self, beside: int, shape: Shape) -> tuple[float, float]:
        """Count operations and batches of edge probes, which are best after 30 validations."""
        probes, (_, length) = ProbeSettings(**self.config["probes"]["edge"]), self.size("edges")
        each = map(probes.of, self.config["edge_tasks"])
        steps = sum(3 * min(p.max_steps, p.validate_every * (30 + p.patience)) for p in each)
        tokens = steps * probes.batch_records * length * probes.probe_seeds * beside
        return 2.6 * tokens * shape.width * probes.width, steps  # with two projections of a token

    def inputs(self, job: Job) -> list[tuple[float, float]]:
        """List (number, tokens of each) of the sets of inputs that a job or its dumps read."""
        names = READ.findall("\n".join(job.inputs))
        return [self.size(name) for name in dict.fromkeys("-".join(names).split("-")) if name]

    def size(self, name: str) -> tuple[float, float]:
        """Return (inputs, tokens of each) of a stimulus or of tasks."""
        samples, entry = self.config["samples"], self.config["stimuli"].get(name)
        if name in self.rows:
            return self.rows[name], min(self.tokens[name], samples["max_length"])
        tasks, form = name.split("+"), (entry or {}).get("form")
        datasets = [(entry or self.config["tasks"][task])["dataset"] for task in tasks]
        length = max(self.tokens.get(dataset, self.tokens["others"]) for dataset in datasets)
        kind = "text" if form in ("sentences", "consecutive_pairs") else "task"
        number = samples["combined" if len(tasks) > 1 else kind]
        return len(tasks) * number, min(length, samples["max_length"])

    def split(self, task: Mapping, split: str) -> tuple[float, float]:
        """Return (inputs, tokens of each) of a split that a task reads."""
        dataset = task["dataset"]
        published = self.config["datasets"][dataset].get("published", {}).get(split)
        rows = self.rows.get(dataset) or self.rows.get("made") or published or self.rows["others"]
        length = min(self.tokens.get(dataset, self.tokens["others"]), task["max_length"])
        return min(rows, task.get(f"max_{split}") or rows), length

    def dump(self, job: Job, kind: str, shape: Shape) -> float:
        """Estimate the bytes of a replicate's dump: states of all layers, maps of all heads."""
        how, size = how_dumped(job.wildcards.get(kind, kind), self.config), 0.0
        for number, length in self.inputs(job):
            tokens = min(number * length, how["sample"] or math.inf)
            each = 2 if how["precision"] == "float16" else 4
            size += each * tokens * (shape.layers + 1) * shape.width
            size += 4 * number * length**2 * shape.layers * shape.heads * how["attention"]
        return size


def ratios_of(finished: Sequence[tuple[Job, Cost]]) -> dict[str, tuple[int, float]]:
    """Return (finished jobs, their time to the expected one) by rule; of all for other rules."""
    took, expected = defaultdict(list), defaultdict(float)
    for job, cost in finished:
        try:
            text = Path(job.log).with_suffix(".cost.tsv").read_text(encoding="utf-8")
            seconds = float(text.splitlines()[1].split("\t")[0])
        except (OSError, IndexError, ValueError):
            continue  # nothing tells
        for rule in (job.rule, "all"):
            took[rule].append(seconds)
            expected[rule] += cost.seconds
    ratios = {rule: (len(took[rule]), sum(took[rule]) / expected[rule]) for rule in took}
    return defaultdict(lambda: (0, ratios.get("all", (0, 1.0))[1]), ratios)


def until_end(jobs: dict[str, Job], seconds: dict[str, float], room: dict[str, int]) -> float:
    """Estimate the time to the end: of all work in the room, but at least of the longest chain."""
    maker = {file: name for name, job in jobs.items() for file in job.outputs}
    work: Counter = Counter()
    for name, job in jobs.items():
        kind = "jobs" if "jobs" in room else "GPUs" if job.gpu and "GPUs" in room else "cores"
        number = min(job.threads, room[kind]) if kind == "cores" else 1
        work[kind] += seconds[name] * number / room[kind]

    @cache
    def chain(name: str) -> float:
        before = {maker[file] for file in jobs[name].inputs if file in maker}
        return seconds[name] + max(map(chain, before), default=0)

    return max([*work.values(), *map(chain, jobs)], default=0.0)


def plan(jobs: dict[str, Job], left: dict[str, Job], estimate: Estimate, room: dict) -> str:
    """Tabulate by stage what is left of all jobs, and say when it ends."""
    costs = {name: estimate.cost(job) for name, job in jobs.items()}
    ratios = ratios_of([(job, costs[name]) for name, job in jobs.items() if name not in left])
    seconds = {name: costs[name].seconds * ratios[job.rule][1] for name, job in left.items()}
    stages = {rule: stage for stage, rules in estimate.table["stages"].items() for rule in rules}
    made, rows = {job.rule for job in jobs.values()}, [COLUMNS]
    for stage in [*estimate.table["stages"], "other", "total"]:
        rules = {rule for rule in made if stage in ("total", stages.get(rule, "other"))}
        names = [name for name, job in left.items() if job.rule in rules]
        on_gpu = {name for name in names if left[name].gpu and estimate.has_gpu}
        on_cpu = [seconds[name] * left[name].threads for name in names if name not in on_gpu]
        own = sum(ratios[rule][0] for rule in rules & ratios.keys())
        cells = [
            f"{len(names):,}",
            f"{sum(seconds[name] for name in on_gpu) / 3600:,.2f}",
            f"{sum(on_cpu) / 3600:,.2f}",
            f"{sum(costs[name].operations for name in names):.1e}",
            f"{sum(costs[name].disk for name in names if not costs[name].temporary) / GB:,.2f} GB",
            f"{max((costs[name].memory for name in names), default=0) / GB:.1f} GB",
            f"{own:,} of your own jobs" if own else "costs.yaml",
        ]
        rows += [[stage, *cells]] if rules else []
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    temporary = sum(costs[name].disk for name in left if costs[name].temporary) / GB
    limits = " and ".join(f"{number} {kind}" for kind, number in room.items())
    notes = [
        f"About {until_end(left, seconds, room) / 3600:,.1f} hours with {limits} at a time.",
        f"Temporary files take up to {temporary:,.1f} GB more. Memory is that of the largest job.",
        *(estimate.table["machines"][name]["origin"] for name in ("cpu", "gpu")),
    ]
    return "\n".join([f"Left to do at scale {estimate.config['scale']}:\n", *lines, "", *notes])


def asked(options: Sequence[str]) -> tuple[dict, dict[str, int]]:
    """Return the configuration and the room for jobs that snakemake has with these options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for names in ("--config -C", "--configfile --configfiles", "--profile"):
        parser.add_argument(*names.split(), nargs="+", action="extend", default=[])
    for names in ("--cores -c", "--jobs -j", "--executor -e", "--directory -d"):
        parser.add_argument(*names.split(), nargs="?", const="all")
    given, _ = parser.parse_known_args(options)
    files = [Path(given.directory or ".") / "config/experiments.yaml", *given.configfile]
    typed = [yaml.safe_load(entry.replace("=", ": ", 1)) for entry in given.config]
    user = reduce(merge, [*map(read_yaml, map(Path, files)), *typed])
    profiles = [Path(name).expanduser() / "config.yaml" for name in given.profile]
    profile = reduce(merge, map(read_yaml, filter(Path.is_file, profiles)), {})
    os.chdir(given.directory or ".")
    if (given.executor or profile.get("executor", "local")) != "local":
        return load_config(user, ROOT), {"jobs": int(given.jobs or profile.get("jobs", 1))}
    cores = given.cores or given.jobs or profile.get("cores", "all")
    room = {"cores": len(os.sched_getaffinity(0)) if cores == "all" else int(cores)}
    return load_config(user, ROOT), room | ({"GPUs": len(gpus.given())} if gpus.given() else {})


def dry_run(*options: str) -> dict[str, Job]:
    """Ask snakemake for the jobs of all figures. Exit with what it says if it refuses."""
    command = [sys.executable, "-m", "snakemake", "figures/all", "--dry-run", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return jobs_of(done.stdout)


def main(options: Sequence[str]) -> None:
    left, jobs = dry_run(*options), dry_run("--forceall", *options)
    config, room = asked(options)
    table, has_gpu = read_yaml(ROOT / "config/costs.yaml"), room.keys() != {"cores"}
    print(plan(jobs, left, Estimate(config, table, has_gpu), room))


if __name__ == "__main__":
    main(sys.argv[1:])
