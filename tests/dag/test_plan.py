import re

import pytest

STAGES = [
    "data",
    "pretraining",
    "fine-tuning",
    "sweeps",
    "activations",
    "metrics",
    "ablations",
    "patterns",
    "probes",
    "figures",
]


@pytest.fixture(scope="module")
def project(copy_project):
    return copy_project()


def table(printed):
    """{stage: its cells} of what `snakemake plan` prints."""
    rows = re.findall(r"^(\S+) +([\d,]+  .*)$", printed.partition("Left to do")[2], re.MULTILINE)
    return {stage: re.split(r" {2,}", cells) for stage, cells in rows}


def test_every_stage_before_anything_has_run(project):
    rows = table(project.snakemake("plan", "--config", "scale=small"))
    assert list(rows) == [*STAGES, "total"]
    assert int(rows["total"][0]) == sum(int(rows[stage][0]) for stage in STAGES)
    assert (project.folder / "logs/plan.log").is_file() and not (project.folder / "results").exists()


def test_a_plan_for_another_folder(project):
    (project.folder / "mine.yaml").write_text("bases: {base: {seeds: 2}}\n")
    printed = project.snakemake("--directory", ".test", "plan", "--configfile", "mine.yaml")
    assert list(table(printed)) == [*STAGES, "total"] and (project.folder / ".test/logs/plan.log").is_file()


def test_a_cluster_counts_gpu_hours(project):
    # Its executor waits before it looks at jobs, even where there are none.
    at_once = ["--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"]
    printed = project.snakemake("plan", "--profile", "slurm", *at_once, "--config", "scale=paper")
    rows = table(printed)
    assert list(rows) == [*STAGES, "total"]
    assert float(rows["fine-tuning"][1]) > 1 and rows["figures"][1] == "-"
    assert "100 jobs at a time" in printed and "assumed" in printed
