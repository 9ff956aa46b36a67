"""The demo at reduced size through --profile slurm, beside a local run of the same configuration."""

import re
import time
from datetime import datetime

import pytest
from cluster.conftest import ON_SLURM, tables
from cluster.one_node import GPUS


@pytest.fixture(scope="module")
def on_slurm(slurm, copy_reduced):
    project = copy_reduced()
    start = time.monotonic()
    project.snakemake(*ON_SLURM, "figures/all")
    project.seconds = time.monotonic() - start
    project.jobs = [job for job in slurm.jobs() if job["WorkDir"] == str(project.folder)]
    return project


def rule(job):
    return re.match("rule_(.+?)(_wildcards|$)", job["Comment"])[1]


def test_tables_are_those_of_a_local_run(on_slurm, undisturbed):
    print(
        f"\nlocal {undisturbed.seconds:.0f} s, on Slurm {on_slurm.seconds:.0f} s, {len(on_slurm.jobs)} jobs"
    )
    ours, local = (tables(project.folder / "results") for project in (on_slurm, undisturbed))
    assert ours == local and "figures/merchant2020/figure2.tsv" in ours and "claims.tsv" in ours


def test_gpu_rules_held_one_gpu_and_the_others_none(on_slurm):
    held = {(rule(job), job.get("TresPerJob")) for job in on_slurm.jobs}
    assert dict(held) == {
        "vocabulary": None,
        "pretrain": "gres:gpu:1",
        "finetune": "gres:gpu:1",
        "activations": "gres:gpu:1",
        "cosine": None,
        "cosine_padded": "gres:gpu:1",
        "rsa": None,
        "draw_kovaleva2019_figure5": None,
        "draw_merchant2020_figure2": None,
    }
    assert len(held) == len(dict(held))  # no rule did now one, now the other


def test_never_more_gpus_at_once_than_there_are(on_slurm):
    holding = [
        tuple(datetime.fromisoformat(job[key]) for key in ("StartTime", "EndTime"))
        for job in on_slurm.jobs
        if "TresPerJob" in job
    ]
    assert max(sum(start <= moment < end for start, end in holding) for moment, _ in holding) <= GPUS
