"""Through --profile slurm: the demo at reduced size as a local run makes it, and training that is
disturbed."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster.conftest import ON_SLURM, Interrupted, tables

pytestmark = pytest.mark.slow("whole workflow")


def demo(slurm, project):
    project.snakemake(*ON_SLURM, "figures/all")


def pause_training(project):
    """Until Slurm tells it to stop, for which it wakes it."""
    for process in project.training():
        process.suspend()


def out_of_time(slurm, project):
    project.train(*ON_SLURM)
    pause_training(project)  # Slurm looks at time limits twice a minute
    slurm.run("scontrol", "update", f"JobId={running(slurm, project)}", "EndTime=now")
    project.wait()


def driver_dies(slurm, project):
    project.train(*ON_SLURM)
    project.kill_driver()
    slurm.run("scancel", running(slurm, project))
    while running(slurm, project):
        time.sleep(0.2)
    project.said = project.again()


@pytest.fixture(scope="module")
def after(slurm, copy_reduced, undisturbed, tmp_path_factory):
    """The project that each of these has left; they run all at once, as they mostly wait for
    Slurm."""
    folder = tmp_path_factory.mktemp("faults")
    faults = (out_of_time, driver_dies)
    projects = {fault: Interrupted(undisturbed, folder / fault.__name__) for fault in faults}

    def run(what, project):
        what(slurm, project)
        project.jobs = jobs(slurm, project)
        return project

    with ThreadPoolExecutor() as pool:
        begun = {
            what: pool.submit(run, what, project)
            for what, project in {demo: copy_reduced(), **projects}.items()
        }
    return lambda what: begun[what].result()


@pytest.fixture(scope="module")
def on_slurm(after):
    return after(demo)


def rule(job):
    return re.match("rule_(.+?)(_wildcards|$)", job["Comment"])[1]


def test_tables_are_those_of_a_local_run(on_slurm, undisturbed):
    ours, local = (tables(project.folder / "results") for project in (on_slurm, undisturbed))
    assert ours == local and "figures/kovaleva2019/figure5.tsv" in ours and "claims.tsv" in ours


def test_gpu_rules_held_one_gpu_and_the_others_none(on_slurm):
    held = {(rule(job), job.get("TresPerJob")) for job in on_slurm.jobs}
    assert dict(held) == {
        "inputs_stimuli": None,
        "examples": None,
        "vocabulary": None,
        "pretrain": "gres:gpu:1",
        "finetune": "gres:gpu:1",
        "activations": "gres:gpu:1",
        "rte_vs_base_cosine": None,
        "cosine_padded": "gres:gpu:1",
        "figures_figure": None,
    }
    assert len(held) == len(dict(held))  # no rule did now one, now the other


def test_a_job_that_is_out_of_time_is_sent_again(after, assert_undisturbed):
    project = after(out_of_time)
    assert project.driver.returncode == 0
    assert [job["JobState"] for job in project.jobs] == ["TIMEOUT", "COMPLETED"]
    assert_undisturbed(project)


def test_after_its_driver_died_a_run_that_was_cancelled_goes_on(after, assert_undisturbed):
    project = after(driver_dies)
    assert [job["JobState"] for job in project.jobs] == ["CANCELLED", "COMPLETED"]
    assert_undisturbed(project)


def jobs(slurm, project) -> list[dict]:
    found = [job for job in slurm.jobs() if job["WorkDir"] == str(project.folder)]
    return sorted(found, key=lambda job: int(job["JobId"]))


def running(slurm, project) -> str:
    """The id of its job that is not over yet."""
    return "".join(
        job["JobId"]
        for job in jobs(slurm, project)
        if job["JobState"] in ("RUNNING", "COMPLETING")
    )
