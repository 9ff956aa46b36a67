from functools import cache

import pytest

from bertshift.planning import writing_jobs

# A cluster's options change no job; `make plan` needs to know of them.
OPTIONS = {
    "demo": (),
    "small": ("--config", "scale=small"),
    "paper": ("--profile", "slurm", "--config", "scale=paper"),
}


@pytest.fixture(scope="session")
def project(copy_project):
    """A project that no test changes."""
    return copy_project()


@pytest.fixture(scope="session")
def dry_run(project, tmp_path_factory):
    """dry_run(scale) -> (what a dry run of all figures prints, the file of its jobs)."""

    @cache
    def of(scale):
        file = tmp_path_factory.mktemp("jobs") / "jobs.jsonl"
        options = ["--dry-run", *OPTIONS[scale], *writing_jobs(file)]
        return project.snakemake("figures/all", *options), file

    return of


@pytest.fixture(scope="session")
def planned(dry_run):
    """planned(scale) -> what a dry run of all figures prints."""
    return lambda scale: dry_run(scale)[0]
