from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from bertshift.data.conllu import tree_fault
from bertshift.errors import UserError
from demo_world import edges, generate
from demo_world.acceptability import judged
from demo_world.files import FILES
from demo_world.paraphrases import changes, event, similarity

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


def rows(folder: Path, task: str, split: str) -> list[tuple[str, ...]]:
    """(texts..., label) of a GLUE file, read as the publisher lays it out."""
    name = "dev_matched" if (task, split) == ("MNLI", "dev") else split
    lines = (folder / "glue" / task / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    table = [line.split("\t") for line in lines]
    if task == "CoLA":
        return [(row[3], row[1]) for row in table]
    header, table = table[0], table[1:]
    assert all(len(row) == len(header) for row in table)
    label = {"MRPC": "Quality", "STS-B": "score", "QQP": "is_duplicate", "MNLI": "gold_label"}.get(
        task, "label"
    )
    texts = [
        n
        for n in header
        if n in ("#1 String", "#2 String", "question", "sentence")
        or n[:-1] in ("sentence", "question")
    ]
    return [tuple(row[header.index(name)] for name in [*texts, label]) for row in table]


def test_same_seed_same_bytes_and_other_seed_other_bytes(tmp_path):
    small = {name: 8 for name in generate.SIZES}
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.generate_world(tmp_path / folder, small, seed)
    first, again, other = (content(tmp_path / folder) for folder in "abc")
    assert first == again and set(first) == set(FILES)
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
def test_no_pair_in_two_splits_and_labels_as_published(world, task):
    splits = {split: rows(world, task, split) for split in ("train", "dev")}
    keys = [frozenset(row[:-1]) for split in splits.values() for row in split]
    assert len(keys) == len(set(keys))
    if task == "STS-B":
        scores = [float(row[-1]) for row in splits["dev"]]
        assert 0 <= min(scores) < 1 and max(scores) == 5 and 1.2 < sum(scores) / len(scores) < 3.8
        return
    shares = {
        label: count / len(splits["dev"])
        for label, count in Counter(row[-1] for row in splits["dev"]).items()
    }
    assert shares == pytest.approx(generate.GLUE[task].label_shares, abs=0.02)


@pytest.mark.parametrize(
    ("task", "most"),
    [("MRPC", 0.76), ("QQP", 0.7), ("MNLI", 0.55), ("QNLI", 0.62), ("RTE", 0.65), ("WNLI", 0.65), ("CoLA", 0.8),
     ("SST-2", 0.92)],
)  # fmt: skip
def test_words_of_one_text_do_not_give_the_label_away(world, task, most):
    train, dev = rows(world, task, "train"), rows(world, task, "dev")
    for side in range(len(train[0]) - 1):
        count = CountVectorizer(ngram_range=(1, 2))
        model = LogisticRegression(C=0.3, max_iter=300)
        model.fit(count.fit_transform([row[side] for row in train]), [row[-1] for row in train])
        assert (
            model.score(count.transform([row[side] for row in dev]), [row[-1] for row in dev])
            < most
        )


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
        assert (
            found.bracketed.count("(")
            == found.bracketed.count(")")
            == len(spans) + len(found.words)
        )


def test_similarity_is_symmetric_and_full_only_for_the_same_event():
    rng = Random(5)
    for _ in range(50):
        clause = event(rng, "ttti")
        assert similarity(clause, clause) == 5
        for other in changes(rng, clause).values():
            assert 0 <= similarity(clause, other) < 5
            assert similarity(clause, other) == similarity(other, clause)


def test_corruption_always_changes_an_acceptable_sentence():
    rng = Random(9)
    wrong = [judged(rng, False) for _ in range(300)]
    right = {judged(rng, True) for _ in range(3000)}
    assert not right & set(wrong)
