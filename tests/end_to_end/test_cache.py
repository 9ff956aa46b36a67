"""Two folders that share a cache: the second takes over what the first has made, and no run passes
for another."""

import pytest
from conftest import TINY

from bertshift.config import merge

pytestmark = pytest.mark.slow("whole workflow")

RUNS = [f"results/pretrained/base/init{init}/model.safetensors" for init in (1, 2)]
SHARED = ["--cache", "dataset", "checkpoint", "corpus", "vocabulary", "pretrain"]


def test_what_another_folder_has_made(copy_project, tmp_path, monkeypatch):
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path))
    first, second = copy_project(), copy_project()
    for project in (first, second):
        project.config = merge(project.config, TINY)
    first.snakemake(*RUNS, *SHARED)
    one, other = ((first.folder / run).read_bytes() for run in RUNS)
    assert one != other
    second.config = merge(second.config, {"bases": {"base": {"pretrain": {"dropout": 0.1}}}})
    assert second.jobs(*RUNS, *SHARED)["pretrain"] == 2
    second.snakemake(RUNS[0], *SHARED)
    assert (second.folder / RUNS[0]).read_bytes() != one
    second.config = merge(second.config, {"bases": {"base": {"pretrain": {"dropout": 0.0}}}})
    second.snakemake(*RUNS, *SHARED)
    assert [(second.folder / run).resolve() for run in RUNS] == [
        (first.folder / run).resolve() for run in RUNS
    ]
    assert second.jobs(*RUNS, *SHARED) == {}
