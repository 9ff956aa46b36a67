"""`make plan`: what dry runs tell, and what config/costs.yaml makes of it."""

import re
import subprocess
import sys
from collections import Counter
from typing import NamedTuple

import pytest
from conftest import ROOT
from dag.conftest import OPTIONS

from bertshift import planning
from bertshift.config import read_yaml
from bertshift.planning import Estimate, Job

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
    estimate: Estimate
    room: dict


@pytest.fixture(scope="module")
def estimated(project, planned):
    """Plan for a scale, by a real dry run."""

    def of(scale: str) -> Planned:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(project.folder)
            config, room = planning.parse_options(OPTIONS[scale])
            jobs = planning.jobs_of(planned(scale))
            return Planned(jobs, Estimate(config, TABLE, "jobs" in room), room)

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


def test_every_rule_has_a_stage(demo, paper):
    assert TABLE["rules"].keys() - {"other"} <= STAGE.keys()
    assert {job.rule for job in [*demo.jobs.values(), *paper.jobs.values()]} <= STAGE.keys()


def test_the_demo_takes_what_was_measured(demo):
    found = hours(demo)
    assert found.keys() == DEMO.keys()
    assert all(0.5 < found[stage] / DEMO[stage] < 2 for stage in DEMO), found


def test_a_cluster_counts_gpu_hours(paper):
    found = hours(paper)
    assert all(0.5 < found[stage] / PAPER[stage] < 2 for stage in PAPER), found
    printed = planning.plan(paper.jobs, paper.jobs, paper.estimate, paper.room)
    rows = table(printed)
    assert list(rows) == [*TABLE["stages"], "total"]
    assert int(rows["total"][0].replace(",", "")) == len(paper.jobs)
    assert float(rows["fine-tuning"][1]) > 1 and float(rows["figures"][1]) == 0
    assert "100 jobs at a time" in printed and "none was measured" in printed


def test_own_jobs_correct_the_times_of_their_rule(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # this folder may hold the logs of a finished demo
    done, left = [(name, job) for name, job in demo.jobs.items() if job.rule == "rsa"][:2]
    log = tmp_path / "job.log"
    jobs = demo.jobs | {done[0]: done[1]._replace(log=str(log))}
    seconds = demo.estimate.cost(done[1]).seconds
    for text, ratio in (
        ("", 1),
        ("s\tmax_rss\n-\t-\n", 1),
        (f"s\tmax_rss\n{3 * seconds}\t400\n", 3),
    ):
        log.with_suffix(".cost.tsv").write_text(text)
        ratios = planning.ratios_of([(jobs[done[0]], demo.estimate.cost(done[1]))])
        assert ratios["rsa"][1] == pytest.approx(ratio)
    rows = table(planning.plan(jobs, {left[0]: left[1]}, demo.estimate, {"cores": 2}))
    assert rows["metrics"][0] == "1" and rows["metrics"][-1] == "1 of your own jobs"


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


def test_the_command(project, tmp_path):
    (tmp_path / "mine.yaml").write_text("scale: small\n")
    command = [
        sys.executable,
        "-m",
        "bertshift.planning",
        "--configfile",
        str(tmp_path / "mine.yaml"),
        "--cores",
        "3",
    ]
    done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=True)
    assert list(table(done.stdout)) == [*TABLE["stages"], "total"]
    assert "scale small" in done.stdout and "3 cores at a time" in done.stdout
    assert not (project.folder / "results").exists()
