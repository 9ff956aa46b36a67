"""What is left to do, and what it will take: `snakemake plan`."""

import csv
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bertshift.measures.registry import METRICS
from bertshift.requests.work import Sizes, Work

MB, GB = 1e6, 1e9


@dataclass(frozen=True)
class Job:
    """One job of the workflow: what its rule and its request say of it, and the jobs that it waits for.

    output: bytes are counted as temporary where Snakemake deletes them.
    """

    number: int
    rule: str
    work: Work = field(default_factory=Work)
    threads: int = 1
    gpu: bool = False
    output: tuple[str, ...] = ()
    temporary: bool = False
    record: str | None = None
    needed: bool = True
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cost:
    """The cost of one job, in seconds and bytes: memory of the machine and of a GPU, disk for what stays and, while it runs,
    more.

    operations: floating-point ones, whatever the machine.
    """

    seconds: float
    memory: float
    disk: float
    scratch: float = 0.0
    gpu_memory: float = 0.0
    operations: float = 0.0


@dataclass(frozen=True)
class Resources:
    """What may be in use at a time, None for no limit; has_gpu: whether a job that can use a GPU gets one."""

    cores: int | None = None
    gpus: int | None = None
    jobs: int | None = None
    has_gpu: bool = False


def stage(rule: str, table: Mapping) -> int:
    """Count the stages before the rule's. A rule that the table does not name comes last."""
    stages, name = list(table["stages"]), rule
    if name in METRICS:
        return stages.index("metrics")
    return next((n for n, each in enumerate(stages) if name in table["stages"][each]), len(stages))


def sizes_of(config: Mapping, table: Mapping) -> Sizes:
    data = "world" if config["data"]["source"] == "world" else "real"
    return Sizes(config, {key: table[key][data] for key in ("rows", "tokens", "bytes")})


def of_job(job: Job, table: Mapping, has_gpu: bool) -> Cost:
    """Calculate the cost of one job from the table."""
    work, of_rule = job.work, table["rules"].get(job.rule, {})
    if job.rule in METRICS:
        of_rule = {"seconds": METRICS[job.rule].seconds} | of_rule
    rule, on_gpu = table["rules"]["other"] | of_rule, job.gpu and has_gpu
    cpu, machine = table["machines"]["cpu"], table["machines"]["gpu" if on_gpu else "cpu"]
    narrow = 1 + machine["half_width"] / work.width if work.width else 1.0
    products = work.flops * narrow / machine["flops"] / (1 if on_gpu else job.threads)
    computed = products + work.host / cpu["flops"] / job.threads + work.passes * machine["pass"]
    return Cost(
        rule["seconds"] + computed + work.moved / cpu["moved"] + work.text / cpu["text"],
        (rule["memory_mb"] + machine["memory_mb"]) * MB * work.processes
        + work.memory
        + (0 if on_gpu else work.device),
        rule["disk_mb"] * MB + work.disk,
        work.scratch,
        work.device if on_gpu else 0.0,
        work.flops + work.host,
    )


def shipped(jobs: Sequence[Job], table: Mapping, has_gpu: bool) -> dict[int, Cost]:
    """Calculate the cost of every job, by its number, from the table alone."""
    return {job.number: of_job(job, table, has_gpu) for job in jobs}


def finished(jobs: Sequence[Job]) -> dict[int, Cost]:
    """Read what the finished ones of these jobs took, by their numbers."""
    return {job.number: own for job in jobs if (own := own_cost(job))}


def estimate(jobs: Sequence[Job], costs: Mapping[int, Cost], own: Mapping[int, Cost]) -> dict[int, Cost]:
    """Estimate the cost of every job by its number; `costs` are the `shipped` ones, `own` those of the `finished` jobs.

    It is the shipped one times what the finished jobs of its rule took relative to theirs; where none has finished, its
    seconds times what all finished jobs took.
    """
    pairs = defaultdict(list)
    for job in jobs:
        if job.number in own:
            pairs[job.rule].append((own[job.number], costs[job.number]))
    of_all = {"seconds": _ratio([pair for some in pairs.values() for pair in some], "seconds")}
    ratios = {
        rule: {key: _ratio(some, key) for key in ("seconds", "memory", "disk")}
        for rule, some in pairs.items()
    }
    return {job.number: _times(costs[job.number], ratios.get(job.rule, of_all)) for job in jobs}


def own_cost(job: Job) -> Cost | None:
    """Read what a finished job took from the record that Snakemake wrote of it, with 0 for what nothing tells.
    Return None for a job that is still needed or has no readable record."""
    if job.needed or not job.record or not Path(job.record).is_file():
        return None
    with open(job.record, encoding="utf-8", errors="replace") as file:
        row = next(csv.DictReader(file, delimiter="\t"), {})
    try:
        seconds = float(row.get("s") or "")
        # A job that ends at once has no other measure than its time: its memory was looked at as it began, if at all.
        measured = row.get("max_rss") or "NA" if seconds > 1 else "NA"
        memory = 0.0 if measured in ("NA", "-") else float(measured) * MB
    except ValueError:
        return None
    files = [] if job.temporary else [Path(name) for name in job.output]
    return Cost(seconds, memory, sum(file.stat().st_size for file in files if file.is_file()))


def _ratio(pairs: Iterable[tuple[Cost, Cost]], key: str) -> float:
    """Divide the sum of what was measured by the sum of what was expected."""
    known = [(getattr(own, key), getattr(one, key)) for own, one in pairs if getattr(own, key)]
    return sum(own for own, _ in known) / sum(one for _, one in known) if known else 1.0


def _times(cost: Cost, ratios: Mapping[str, float]) -> Cost:
    return replace(cost, **{key: getattr(cost, key) * ratio for key, ratio in ratios.items()})


def simulate(jobs: Sequence[Job], costs: Mapping[int, Cost], limits: Resources) -> tuple[float, float]:
    """Simulate the jobs, each begun as soon as it can be.

    Return (seconds until the last job ends, most bytes of temporary files at a time). A temporary file counts until
    all jobs that read it have run, as Snakemake deletes it then. What a job needs while it runs counts too.
    """
    left = {job.number: job for job in jobs if job.needed}
    before = {number: [other for other in job.after if other in left] for number, job in left.items()}
    waits = {number: len(others) for number, others in before.items()}
    readers = defaultdict(list)
    for number, others in before.items():
        for other in others:
            readers[other].append(number)
    unread = {number: len(them) for number, them in readers.items()}
    free = Counter(
        {"cores": limits.cores or 10**9, "gpus": limits.gpus or 10**9, "jobs": limits.jobs or 10**9}
    )
    most_cores = free["cores"]

    def wants(job: Job) -> Counter:
        return Counter({"cores": min(job.threads, most_cores), "gpus": int(job.gpu), "jobs": 1})

    now, held, most = 0.0, 0.0, 0.0
    ready = [number for number, others in waits.items() if not others]
    running = []
    while ready or running:
        # Long jobs first; those that find no room wait.
        for number in sorted(ready, key=lambda number: -costs[number].seconds):
            if not wants(left[number]) <= free:
                continue
            free -= wants(left[number])
            ready.remove(number)
            heapq.heappush(running, (now + costs[number].seconds, number))
            held += costs[number].disk * left[number].temporary + costs[number].scratch
            most = max(most, held)
        now, number = heapq.heappop(running)
        free += wants(left[number])
        held -= costs[number].scratch
        for reader in readers[number]:
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
        for other in before[number]:
            unread[other] -= 1
            if not unread[other]:
                held -= costs[other].disk * left[other].temporary
    return now, most


def plan(jobs: Sequence[Job], config: Mapping, table: Mapping, limits: Resources) -> str:
    """Tabulate what is left by stage: jobs, hours, disk, memory of the largest job, and the estimate's source."""
    expected, own = shipped(jobs, table, limits.has_gpu), finished(jobs)
    costs = estimate(jobs, expected, own)
    seconds, temporary = simulate(jobs, costs, limits)
    names = [*table["stages"], "other"]
    stages = {name: [] for name in names}
    for job in jobs:
        stages[names[stage(job.rule, table)]].append(job)
    left = [job for job in jobs if job.needed]
    columns = ["GPU-hours", "CPU-hours", "operations", "disk", "memory", "GPU memory"]
    rows = [["stage", "jobs", *columns, "estimated from"]]
    rows += [
        [name, *_row(members, costs, limits), _origin(members, expected, own, limits)]
        for name, members in stages.items()
        if members
    ]
    rows.append(["total", *_row(jobs, costs, limits), ""])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join([name.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(cells, widths[1:])), origin])
        for name, *cells, origin in rows
    ]
    room = {"core": limits.cores, "GPU": limits.gpus if limits.has_gpu else None, "job": limits.jobs}
    room = ", ".join(f"{number} {name}{'s' * (number > 1)}" for name, number in room.items() if number)
    time = f"About {duration(seconds)} with {room} at a time" if left else "Nothing is left to do"
    machines = [table["machines"][name] for name in (["cpu", "gpu"] if limits.has_gpu else ["cpu"])]
    return "\n".join(
        [
            f"Left to do for all figures at the scale {config['scale']}:",
            "",
            *(line.rstrip() for line in lines),
            "",
            f"{time}; in all {operations(sum(costs[job.number].operations for job in left))} floating-point operations.",
            f"At most {_bytes(temporary)} more disk at a time, for activations until they are read, and for checkpoints.",
            *(machine["origin"] for machine in machines),
            "Memory is that of the largest job.",
        ]
    )


def _row(members: Sequence[Job], costs: Mapping[int, Cost], limits: Resources) -> list[str]:
    left = [job for job in members if job.needed]
    gpu = [costs[job.number].seconds for job in left if job.gpu and limits.has_gpu]
    cpu = [costs[job.number].seconds * job.threads for job in left if not (job.gpu and limits.has_gpu)]
    disk = sum(costs[job.number].disk for job in left if not job.temporary)
    memory, on_gpu = (
        _bytes(max((getattr(costs[job.number], key) for job in left), default=0.0))
        for key in ("memory", "gpu_memory")
    )
    made = operations(sum(costs[job.number].operations for job in left))
    return [f"{len(left):,}", _hours(gpu), _hours(cpu), made, _bytes(disk), memory, on_gpu if gpu else "-"]


def _origin(
    members: Sequence[Job], expected: Mapping[int, Cost], finished: Mapping[int, Cost], limits: Resources
) -> str:
    own = [(job, finished[job.number]) for job in members if job.number in finished]
    kinds = {job.rule for job, _ in own}
    unknown = [job for job in members if job.needed and job.rule not in kinds]
    times = {"assumed" if job.gpu and limits.has_gpu else "shipped" for job in unknown}
    pairs = [(cost, expected[job.number]) for job, cost in own]
    time, memory, disk = (_ratio(pairs, key) for key in ("seconds", "memory", "disk"))
    mine = (
        f"{len(own)} of your own job{'s' * (len(own) > 1)}: {time:.2f} of the time expected, "
        f"{memory:.2f} of the memory, {disk:.2f} of the disk"
    )
    return "; ".join([mine] * bool(own) + [f"{' and '.join(sorted(times))} times"] * bool(times))


def _hours(seconds: Sequence[float]) -> str:
    hours = sum(seconds) / 3600
    return (f"{hours:.2f}" if hours < 10 else f"{hours:,.0f}") if seconds else "-"


def _bytes(number: float) -> str:
    return f"{number / GB:,.1f} GB" if number >= 0.1 * GB else f"{number / MB:,.0f} MB"


def operations(number: float) -> str:
    """Write a number of operations: 1.2e19."""
    return f"{number:.1e}".replace("e+", "e") if number else "-"


def duration(seconds: float) -> str:
    """Write a time as a person says it: 40 s, 24 min, 3 h 20 min, 2 days 4 h."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days {hours % 24} h"
