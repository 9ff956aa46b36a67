"""`make plan`: what dry runs tell, and what config/costs.yaml makes of it."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from conftest import ROOT
from dag.conftest import OPTIONS

from bertshift import planning
from bertshift.config import read_yaml
from bertshift.planning import Cost, CostEstimate, Finished, Job

TABLE = read_yaml(ROOT / "config/costs.yaml")
STAGE = {rule: stage for stage, rules in TABLE["stages"].items() for rule in rules}
# Hours of a core, or of a GPU where there is one, by the model that the demo was measured to agree
# with.
DEMO = {"data": 0.0078, "pretraining": 0.146, "fine-tuning": 0.214, "sweeps": 0.113, "activations": 0.0284,
        "metrics": 0.0546, "ablations": 0.0191, "patterns": 0.0038, "probes": 0.0552, "figures": 0.0318}  # fmt: skip
PAPER = {"data": 0.016, "pretraining": 0.01, "fine-tuning": 23.0, "sweeps": 42.0, "activations": 1.56,
         "metrics": 47.5, "ablations": 4.82, "patterns": 0.0863, "probes": 22.6, "figures": 0.0333}  # fmt: skip


class Planned(NamedTuple):
    jobs: dict
    estimate: CostEstimate
    room: dict


@pytest.fixture(scope="module")
def estimated(project, dry_run):
    """Plan for a scale, by a real dry run."""

    def of(scale: str) -> Planned:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(project.folder)
            config, room = planning.parse_options(OPTIONS[scale])
            _, file = dry_run(scale)
            jobs = planning.read_jobs(file)
            return Planned(jobs, CostEstimate(config, TABLE, "jobs" in room), room)

    return of


@pytest.fixture(scope="module")
def demo(estimated):
    return estimated("demo")


@pytest.fixture(scope="module")
def paper(estimated):
    return estimated("paper")


def hours(plan: Planned) -> dict[str, float]:
    total = Counter()
    for job in plan.jobs.values():
        threads = 1 if job.gpu and plan.estimate.has_gpu else job.threads
        total[STAGE[job.rule]] += plan.estimate.cost(job).seconds * threads / 3600
    return total


def table(printed: str) -> dict[str, list[str]]:
    rows = re.findall(r"^(\S+) +([\d,]+  .*)$", printed, re.MULTILINE)
    return {stage: re.split(r" {2,}", cells) for stage, cells in rows}


@pytest.mark.slow("large dry runs")
def test_every_rule_has_a_stage(demo, paper):
    assert TABLE["rules"].keys() - {"other"} <= STAGE.keys()
    assert {job.rule for job in [*demo.jobs.values(), *paper.jobs.values()]} <= STAGE.keys()


def test_the_demo_takes_what_was_measured(demo):
    found = hours(demo)
    assert found.keys() == DEMO.keys()
    assert all(0.5 < found[stage] / DEMO[stage] < 2 for stage in DEMO), found


@pytest.mark.slow("large dry runs")
def test_a_cluster_counts_gpu_hours(paper):
    found = hours(paper)
    assert all(0.5 < found[stage] / PAPER[stage] < 2 for stage in PAPER), found
    printed = planning.plan(paper.jobs, paper.jobs, paper.estimate, paper.room)
    rows = table(printed)
    assert list(rows) == [*TABLE["stages"], "total"]
    assert int(rows["total"][0].replace(",", "")) == len(paper.jobs)
    assert float(rows["fine-tuning"][1]) > 1 and float(rows["figures"][1]) == 0
    assert "100 jobs at a time" in printed and "none was measured" in printed


def cost_of(seconds: float) -> Cost:
    return Cost(seconds, operations=0, memory=0, disk=0, temporary=False)


@pytest.fixture
def finish(tmp_path):
    """finish(jobs, passed, cpu, **job) -> finished jobs with their estimates of a second; each
    took so many seconds, and so many of a CPU."""

    def of(number: int, passed: float, cpu: float, **fields) -> list[tuple[Job, Cost]]:
        log = tmp_path / f"{len(list(tmp_path.iterdir()))}.log"
        text = f"s\tmax_rss\tcpu_time\n{passed}\t400\t{cpu}\n"
        log.with_suffix(".cost.tsv").write_text(text)
        job = Job(**{**JOB._asdict(), "log": str(log), **fields})
        return [(job, cost_of(1))] * number

    return of


JOB = Job(rule="rsa", wildcards={}, inputs=(), outputs=("rsa.tsv",), log="", threads=1, gpu=False)


def test_many_own_jobs_correct_the_times_of_their_rule_and_less_those_of_others(finish):
    finished = Finished(finish(6000, passed=9, cpu=3), has_gpu=False)
    assert finished.ratio(JOB) == pytest.approx(3, rel=0.02)
    assert finished.ratio(JOB._replace(rule="js")) == pytest.approx(3, rel=0.02)
    other = Finished(finish(6000, passed=9, cpu=3) + finish(6000, 9, 1, rule="js"), has_gpu=False)
    assert other.ratio(JOB) == pytest.approx(3, rel=0.02)
    assert other.ratio(JOB._replace(rule="svcca")) == pytest.approx(2, rel=0.02)


def test_a_busy_machine_and_a_few_small_jobs_change_the_plan_little(finish):
    five = Finished(finish(5, passed=30.8, cpu=2.34), has_gpu=False)
    for job in (JOB, JOB._replace(rule="finetune"), JOB._replace(rule="finetune", gpu=True)):
        assert 1 < five.ratio(job) < 1.3


def test_time_is_counted_for_each_thread_and_of_a_gpu_as_it_passes(finish):
    assert Finished(finish(6000, 9, 8, threads=4), has_gpu=False).ratio(JOB) == pytest.approx(
        2, rel=0.02
    )
    on_gpu = Finished(finish(6000, passed=3, cpu=9, gpu=True), has_gpu=True)
    assert on_gpu.ratio(JOB._replace(gpu=True)) == pytest.approx(3, rel=0.02)
    # What a GPU takes says nothing of a CPU.
    assert on_gpu.ratio(JOB._replace(rule="js")) == 1


def test_the_plan_says_what_its_times_come_from(demo, finish, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # this folder may hold the logs of a finished demo
    [(done, _)] = finish(1, passed=9, cpu=3)
    name, left = next((name, job) for name, job in demo.jobs.items() if job.rule == "rsa")
    tuned, finetuned = next((n, job) for n, job in demo.jobs.items() if job.rule == "finetune")
    remaining = {name: left, tuned: finetuned}
    sources = []
    for jobs in (remaining, {**remaining, "done": left._replace(log=done.log)}):
        rows = table(planning.plan(jobs, remaining, demo.estimate, {"cores": 2}))
        sources.append((rows["metrics"][-1], rows["fine-tuning"][-1]))
    assert sources == [
        ("costs.yaml", "costs.yaml"),
        ("costs.yaml and 1 of your own jobs", "costs.yaml and 1 of other stages"),
    ]


@pytest.mark.parametrize("text", ["", "s\tmax_rss\n-\t-\n", "s\tcpu_time\n1\t-\n", "s\n"])
def test_a_job_without_a_measure_counts_as_none(finish, text):
    [(job, cost)] = finish(1, passed=9, cpu=3)
    Path(job.log).with_suffix(".cost.tsv").write_text(text)
    assert not Finished([(job, cost)], has_gpu=False).jobs


def test_time_until_the_last_job_ends():
    def job(name: str, *inputs: str, threads: int = 1, gpu: bool = False) -> Job:
        return Job("any", {}, inputs, (name,), "", threads, gpu)

    alone = {name: job(name, threads=8) for name in "abcd"}
    chain = {name: job(name, *before) for name, before in zip("abcd", ("", "a", "b", "c"))}
    seconds = dict.fromkeys("abcd", 10.0)
    assert planning.until_end(alone, seconds, {"cores": 2}) == 40
    assert planning.until_end(alone, seconds, {"jobs": 2}) == 20
    assert planning.until_end(chain, seconds, {"cores": 8}) == 40
    on_gpu = {name: one._replace(gpu=True) for name, one in alone.items()}
    assert planning.until_end(on_gpu, seconds, {"cores": 8, "GPUs": 1}) == 40


def test_gpus_that_are_here_are_counted(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr(planning.gpus, "given", lambda: ["GPU-1", "GPU-2"])
    assert planning.parse_options(["--cores", "8"])[1] == {"cores": 8, "GPUs": 2}


def command(project, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "bertshift.planning", *arguments],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command(project, tmp_path):
    (tmp_path / "mine.yaml").write_text("scale: small\n")
    done = command(project, "--configfile", str(tmp_path / "mine.yaml"), "--cores", "3")
    assert list(table(done.stdout)) == [*TABLE["stages"], "total"]
    assert "scale small" in done.stdout and "3 cores at a time" in done.stdout
    assert "Not planned" not in done.stdout
    assert not (project.folder / "results").exists()


FILES = [f"glue/{task}/{split}.tsv" for task in ("CoLA", "MRPC") for split in ("train", "dev")]


@pytest.fixture(scope="module")
def partial_mirror(tmp_path_factory):
    """The options for a mirror with two data sets alone."""
    folder = tmp_path_factory.mktemp("mirror")
    for file in FILES:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return ["--config", "scale=small", f"data={{source: mirror, mirror: {folder}}}"]


@pytest.mark.slow("large dry runs")
def test_what_can_be_planned_is_and_what_lacks_data_is_named(project, partial_mirror):
    done = command(project, *partial_mirror)
    assert done.returncode == 0, done.stderr
    assert table(done.stdout)["figures"][0] == "5"
    lacking = done.stdout.partition("Not planned, as data are missing:")[2]
    assert "(train split of 'squad2')" in lacking
    assert "Without it there is no college2020 figure3, figure4.\n" in lacking
    figures = yaml.safe_load(lacking.partition("To do without these figures:\n")[2])["figures"]
    assert figures["college2020"] == dict.fromkeys(
        f"figure{number}" for number in (1, 2, 3, 4, 6, 8, 10)
    )
    # With that, and nothing else, all that is left is planned.
    left = command(project, *partial_mirror, f"figures={json.dumps(figures)}")
    assert left.returncode == 0, left.stderr
    assert "Not planned" not in left.stdout


@pytest.mark.slow("large dry runs")
def test_one_table_is_planned_for_what_it_needs_itself(project, partial_mirror):
    done = command(project, "results/scores/mrpc.tsv", *partial_mirror)
    assert done.returncode == 0, done.stderr
    assert set(table(done.stdout)) == {"data", "pretraining", "fine-tuning", "metrics", "total"}


@pytest.fixture
def refused(project, monkeypatch):
    """refused(argument, ...) -> what is said where nothing can be planned."""

    def of(*arguments: str) -> str:
        monkeypatch.chdir(project.folder)
        with pytest.raises(SystemExit) as stop:
            planning.main(arguments)
        return stop.value.code

    return of


@pytest.mark.slow("large dry runs")
def test_one_table_is_refused_for_what_it_needs_itself(refused, partial_mirror):
    said = refused("results/scores/rte.tsv", *partial_mirror)
    assert "none of glue/RTE/train.tsv" in said
    assert "Without it there is no results/scores/rte.tsv." in said
    assert "SST-2" not in said and "edge_tasks" not in said


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("scale=big", "'big' is not a scale"),
        ("data={source: mirror", "expected ',' or '}'"),
        ("figures={hao2020: {figur1: null}}", "no figure 'figur1' is defined"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_a_sentence(refused, option, sentence):
    assert sentence in refused("--config", option)
