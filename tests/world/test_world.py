from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from conftest import ROOT

from bertshift.config import read_catalogue
from bertshift.data.conllu import tree_fault
from bertshift.data.examples import read_examples
from bertshift.data.prepare import prepare_from_mirror
from bertshift.errors import UserError
from demo_world import edges, generate

CATALOGUE = read_catalogue(ROOT / "config/datasets.yaml")
NAMES = {"SST-2": "sst2", "STS-B": "stsb"}
SIZES = {name: 60 for name in generate.SIZES} | {"train": 500, "dev": 200}


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    generate.generate_world(folder, SIZES, 7)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_same_seed_same_bytes_and_other_seed_other_bytes(tmp_path):
    small = {name: 8 for name in generate.SIZES}
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.generate_world(tmp_path / folder, small, seed)
    first, again, other = (content(tmp_path / folder) for folder in "abc")
    assert first == again and set(first) == set(generate.FILES)
    assert [name for name in first if first[name] == other[name]] == []


def test_one_size_leaves_other_files_alone(tmp_path):
    small = {name: 8 for name in generate.SIZES}
    generate.generate_world(tmp_path / "a", small, 1)
    generate.generate_world(tmp_path / "b", small | {"documents": 9}, 1)
    first, second = content(tmp_path / "a"), content(tmp_path / "b")
    assert [n for n in first if first[n] != second[n]] == ["README.txt", "corpus/documents.txt"]


def test_unknown_size_is_named(tmp_path):
    with pytest.raises(UserError, match="dokuments"):
        generate.generate_world(tmp_path, SIZES | {"dokuments": 3}, 1)


@pytest.mark.parametrize("task", generate.GLUE)
def test_no_pair_in_two_splits_and_labels_as_published(world, tmp_path, task):
    name = NAMES.get(task, task.lower())
    prepare_from_mirror(name, CATALOGUE[name], world, tmp_path)
    train, dev = (read_examples(tmp_path, split) for split in ("train", "dev"))
    pairs = [frozenset({row["text_a"], row.get("text_b")}) for row in (*train, *dev)]
    assert len(pairs) == len(set(pairs))
    labels = [row["label"] for row in dev]
    if task == "STS-B":
        assert 0 <= min(labels) < 1 and max(labels) == 5 and 1.2 < fmean(labels) < 3.8
    else:
        shares = {label: labels.count(label) / len(labels) for label in labels}
        names = CATALOGUE[name].get("labels", {})
        expected = {names.get(raw, raw): share for raw, share in generate.GLUE[task][1].items()}
        assert shares == pytest.approx(expected, abs=0.02)


# Grammar and annotation


@pytest.fixture(scope="module")
def sentences():
    rng = Random(11)
    return [edges.sentence(rng) for _ in range(600)]


def test_trees_have_one_root_no_cycle_and_no_crossing_arc(sentences):
    for found in sentences:
        assert tree_fault(found.heads) is None and "dep" not in found.deprels
        assert found.deprels[found.heads.index(0)] == "root"
        arcs = [tuple(sorted((i, head - 1))) for i, head in enumerate(found.heads) if head]
        assert not any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))


def test_constituents_nest_and_cover(sentences):
    for found in sentences:
        spans = found.constituents
        assert (0, len(found.words), "TOP") in spans
        assert not any(a < c < b < d for (a, b, _), (c, d, _) in product(spans, spans))
        assert found.bracketed.count("(") == found.bracketed.count(")") == len(spans) + len(found.words)
