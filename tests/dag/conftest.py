from functools import cache

import pytest

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
def planned(project):
    """planned(scale) -> what a dry run of all figures prints."""
    return cache(lambda scale: project.snakemake("figures/all", "--dry-run", *OPTIONS[scale]))
