"""What one configuration made never passes for another's.

Every script is replaced by one that writes a digest of all that its job is made from, so equal
bytes mean equal origins, and a run takes seconds. The oracle is a fresh folder.
"""

import os

import pytest
from conftest import TINY

from bertshift.config import merge

pytestmark = pytest.mark.slow("many runs")

STUB = """
import hashlib
from pathlib import Path


def content(path):
    path = Path(path)
    return b"".join(map(content, sorted(path.iterdir()))) if path.is_dir() else path.read_bytes()


made_from = [snakemake.rule, str(sorted(map(str, snakemake.params))), *map(content, snakemake.input)]
for output in snakemake.output:
    path = Path(output)
    if "activations" in path.parts or path.name == "sheet":  # folders
        path.mkdir(parents=True)
        path /= "file"
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr([output, *made_from]).encode()).hexdigest()
    path.write_text('{"source": "%s", "data": {"train": "%s"}}' % (digest, digest))
"""
TABLES = [
    "results/svcca/rte_vs_base.tsv",
    "results/similarity/rte_vs_base.tsv",
    "results/edge_probes/rte.tsv",
    "results/relation_heads/base.tsv",
    "results/scores/rte.tsv",
]
FILES = [
    "glue/RTE/train.tsv",
    "glue/RTE/dev.tsv",
    "relations.tsv",
    *(f"pos/{split}.jsonl" for split in ("train", "dev", "test")),
]
EDGES = ("pos", "constituents", "dependencies", "entities", "srl", "coref", "spr", "relations")
SMALL = {
    "scale": "small",
    "edge_tasks": dict.fromkeys(EDGES, "own"),
    "relations": {"files": ["relations.tsv"]},
}
OWN_EDGES = {"edge_sets": {"own": {"task": "pos", "format": "jiant", "licence": "none", "url": "https://example.org",
                                   "files": {split: f"pos/{split}.jsonl" for split in ("train", "dev", "test")}}}}  # fmt: skip


@pytest.fixture(scope="module")
def stubbed(copy_project):
    def make():
        project = copy_project()
        for script in (project.folder / "workflow/scripts").glob("*.py"):
            script.write_text(STUB)
        project.user = project.config
        return project

    return make


@pytest.fixture(scope="module")
def used(stubbed):
    """A folder in which one configuration after the other makes its tables."""
    return stubbed()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A mirror and a checkpoint."""
    root = tmp_path_factory.mktemp("places")
    for file in FILES:
        path = root / "mirror" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)
    folder = root / "bert"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text("weights")
    return root


def mirrored(places):
    base = {
        "checkpoints": [{"path": str(places / "bert")}],
        "layers": 2,
        "heads": 2,
        "vocabulary": "own",
        "seeds": 1,
    }
    return (
        SMALL
        | OWN_EDGES
        | {"data": {"source": "mirror", "mirror": str(places / "mirror")}, "bases": {"base": base}}
    )


def replace_with_older(path):
    path.write_text(path.read_text() + " changed")
    os.utime(path, (1e9, 1e9))


def made(project, config):
    project.config = merge(project.user, config)
    project.snakemake(*TABLES, "--cores", "2", "--quiet", "rules", "progress")
    return {table: (project.folder / table).read_text() for table in TABLES}


def test_after_any_change_and_back_a_table_is_that_of_a_fresh_folder(used, stubbed, places):
    demo = TINY
    changes = {
        "the demo": lambda: demo,
        "another world, vocabulary and task": lambda: merge(
            demo,
            {
                "world": {"seed": 2},
                "vocabularies": {"demo-uncased": {"size": 500}},
                "tasks": {"rte": {"max_train": 10}},
            },
        ),
        "real data and a real model": lambda: mirrored(places),
        "older files in their places": lambda: (
            [replace_with_older(places / "mirror" / file) for file in FILES],
            replace_with_older(places / "bert/model.safetensors"),
            mirrored(places),
        )[-1],
        "the hub": lambda: {"scale": "small"},
    }
    fresh = {}
    for name, change in changes.items():
        config = change()
        fresh[name] = made(stubbed(), config)
        assert made(used, config) == fresh[name], name
    assert made(used, demo) == fresh["the demo"]
    for table in TABLES:
        assert len({tables[table] for tables in fresh.values()}) == len(fresh), table


def test_ones_own_files_copied_anew_are_the_same_files(used, places):
    made(used, mirrored(places))
    for path in places.rglob("*"):
        os.utime(path)
    assert not used.reruns(*TABLES)


# What they are drawn from is made from tables, and these from other results, before the user's own files are read.
DRAWN = {"hao2020": "figure1", "merchant2020": "table1", "kovaleva2019": "figure3"}
PICTURES = [f"results/figures/{paper}/{item}.png" for paper, item in DRAWN.items()]


@pytest.fixture(scope="module")
def drawn(used, places):
    """A folder with finished figures of real data and a real model."""
    show = {
        paper: {item: {"models": ["rte"], "reference": "base"}} for paper, item in DRAWN.items()
    }
    used.config = merge(used.user, mirrored(places) | {"figures": show})
    used.snakemake(*PICTURES, "--cores", "2", "--quiet", "rules", "progress")
    return used


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ("mirror", "data.mirror: {}/mirror is not a folder"),
        ("mirror/glue/RTE/train.tsv", "data.mirror: {}/mirror has none of glue/RTE/train.tsv"),
        ("mirror/pos/dev.jsonl", "edge_tasks.pos: own needs {}/mirror/pos/dev.jsonl"),
        ("mirror/relations.tsv", "data.mirror: {}/mirror has none of relations.tsv"),
        ("bert", "bases.base.checkpoints: there is no folder {}/bert"),
        ("bert/config.json", "{}/bert/config.json is missing"),
    ],
)
def test_what_is_gone_is_refused_though_results_are_there(drawn, places, gone, sentence):
    elsewhere = places / "elsewhere"
    (places / gone).rename(elsewhere)
    try:
        printed = drawn.snakemake(*PICTURES, "--keep-going", check=False)
    finally:
        elsewhere.rename(places / gone)
    assert "Nothing to be done" not in printed
    said = printed.partition("Building DAG of jobs...\n")[2]
    assert sentence.format(places) in said and "Traceback" not in said


def test_a_corpus_that_is_gone_is_refused_though_results_are_there(used, tmp_path):
    corpus = tmp_path / "corpus.txt"
    used.config = merge(used.user, TINY | {"corpora": {"world": str(corpus)}})
    printed = used.snakemake(*TABLES, "--dry-run", check=False)
    assert f"corpora.world: {corpus} does not exist" in printed
