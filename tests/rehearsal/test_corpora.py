"""The made corpora pass the workflow's own readers, and each leaves enough to train and test a
probe."""

import pytest
import yaml
from rehearsal import corpora
from rehearsal.__main__ import ROOT

from bertshift.data.edges.prepare import prepare_edges
from bertshift.data.relations import prepare_relations
from bertshift.files import read_json

EDGES, RELATIONS = (
    yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()) for name in ("edges", "relations")
)
OFFERED = [name for name, spec in EDGES.items() if "download" in spec]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every address as a file below a folder."""
    folder = tmp_path_factory.mktemp("corpora")
    for url, content in corpora.addresses(EDGES, RELATIONS).items():
        path = folder / corpora.place(url)[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("name", OFFERED)
def test_a_corpus_of_edges(folder, tmp_path, name):
    files = {
        part: corpora.place(each["url"])[1:] for part, each in EDGES[name]["download"].items()
    }
    prepare_edges(name, EDGES[name] | {"files": files}, folder, tmp_path)
    found = read_json(tmp_path / "edges.json")
    assert len(found["labels"]) >= 2
    assert all(found["counts"][split]["targets"] >= 20 for split in ("train", "dev", "test"))


def test_framenet(folder, tmp_path):
    archive = folder / corpora.place(RELATIONS["download"]["url"])[1:]
    found = prepare_relations(archive, tmp_path, "hub")
    assert found["sentences"] == corpora.CHOSEN and found["left_out"]
