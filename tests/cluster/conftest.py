import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from cluster.one_node import CannotHaveSlurm, OneNode, check
from conftest import TINY, Project

from bertshift.config import merge

ON_SLURM = ("--profile", "slurm", "--profile", "tests/cluster/profile")
# One figure; trainings long enough to be interrupted, with a checkpoint each third of a second.
REDUCED = {
    "bases": {"base": {"pretrain": {"runs": 1}}},
    "tasks": {"rte": {"epochs": 40}},
    "training": {"checkpoint_minutes": 0.005},
    "figures": {"kovaleva2019": {"figure5": {"models": ["rte"]}}},
}  # fmt: skip
RUN = "results/models/rte/init1_seed1"


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A real Slurm of one node."""
    with open("/tmp/slurm-for-tests.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            check()
        except BlockingIOError:
            pytest.skip("no Slurm: another test session on this machine runs one")
        except CannotHaveSlurm as reason:
            pytest.skip(f"no Slurm: {reason}")
        with OneNode(tmp_path_factory.mktemp("slurm")) as node:
            yield node


@pytest.fixture(scope="session")
def copy_reduced(copy_project):
    def copy() -> Project:
        project = copy_project()
        config = merge(project.config, TINY)
        for paper, figures in config["figures"].items():
            kept = REDUCED["figures"].get(paper, {})
            config["figures"][paper] = {
                item: figures[item] if item in kept else None for item in figures
            }
        project.config = merge(config, REDUCED)
        return project

    return copy


@pytest.fixture(scope="session")
def undisturbed(copy_reduced):
    """A complete local run."""
    project = copy_reduced()
    project.snakemake("figures/all")
    return project


class Interrupted(Project):
    """A copy of a finished project that lacks one training run, and a snakemake that is to be
    disturbed."""

    def __init__(self, finished: Project, folder: Path):
        shutil.copytree(finished.folder, folder, symlinks=True, dirs_exist_ok=True)
        super().__init__(folder)
        shutil.rmtree(folder / RUN)
        shutil.rmtree(folder / ".snakemake")
        shutil.copytree(finished.folder / ".snakemake/metadata", folder / ".snakemake/metadata")
        self.printed = folder.with_name(f"{folder.name}.printed")

    def start(self, *arguments: str) -> None:
        self.arguments = (*arguments, f"{RUN}/scores.json")
        command = [sys.executable, "-m", "snakemake", *self.arguments]
        with open(self.printed, "w") as printed:
            self.driver = subprocess.Popen(
                command, cwd=self.folder, stdout=printed, stderr=subprocess.STDOUT
            )

    def train(self, *arguments: str) -> None:
        """Call snakemake for the run; return when it is being trained and has saved a
        checkpoint."""
        begun = time.time()
        self.start(*arguments)
        checkpoint = self.folder / RUN / ".checkpoint"
        while not (checkpoint.exists() and checkpoint.stat().st_mtime > begun):
            assert self.driver.poll() is None, self.printed.read_text()[-6000:]
            time.sleep(0.05)

    def wait(self) -> int:
        return self.driver.wait(
            900
        )  # Slurm looks at times twice a minute, and machines may be busy

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.wait()

    def again(self) -> str:
        """Call the same command, behind --unlock where snakemake itself was killed."""
        if self.driver.returncode == -signal.SIGKILL:
            self.snakemake("--unlock")
        return self.snakemake(*self.arguments)

    def training(self) -> list[psutil.Process]:
        """The processes that train here."""
        return [
            process
            for process in psutil.process_iter(["name", "cmdline", "cwd"])
            if process.info["cwd"] == os.path.realpath(self.folder)
            and (
                process.info["name"]
                == "finetune"  # a fork, which has the command of what it was forked from
                or any(
                    argument.endswith(".finetune.py") for argument in process.info["cmdline"] or []
                )
            )
        ]

    def log(self) -> str:
        return (self.folder / "logs/finetune/rte_init1_seed1.log").read_text()


@pytest.fixture
def assert_undisturbed(undisturbed):
    """The run went on from a checkpoint, and its files are those of a run that nothing
    disturbed."""

    def check(project: Interrupted) -> None:
        assert "resuming after step" in project.log()
        assert tables(project.folder / RUN) == tables(undisturbed.folder / RUN)
        weights = [each.folder / RUN / "model.safetensors" for each in (project, undisturbed)]
        assert weights[0].read_bytes() == weights[1].read_bytes()
        assert not (project.folder / RUN / ".checkpoint").exists()

    return check


def tables(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.tsv"))
    }
