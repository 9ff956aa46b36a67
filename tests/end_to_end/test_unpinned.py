"""A checkpoint whose commit the configuration leaves open."""

import io
import json

import pytest
import torch
from data.small_hub import REVISION, SmallHub
from safetensors.torch import load

from bertshift.config import merge
from bertshift.files import read_tsv

pytestmark = pytest.mark.slow("whole workflow")

TABLE, FOLDER = "results/frozen/rte@other.tsv", "results/pretrained/other/init1"


@pytest.fixture
def hub(finished, monkeypatch):
    """Serves a run that was pretrained here, as a pickle, with a vocabulary that says its case
    elsewhere."""
    folder = finished.folder / "results/pretrained/base/init1"
    files = {
        name: (folder / name).read_bytes() for name in ("config.json", "tokenizer_config.json")
    }
    numbers = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    files["vocab.txt"] = "\n".join(sorted(numbers, key=numbers.get)).encode()
    pickle = io.BytesIO()
    torch.save(load((folder / "model.safetensors").read_bytes()), pickle)
    with SmallHub({"made/bert": files | {"pytorch_model.bin": pickle.getvalue()}}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(finished.folder / "results/hub"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


def test_a_table_names_the_commit_that_was_resolved(finished, hub):
    config = finished.config

    def name_checkpoint(**entry):
        base = {
            "layers": 2,
            "heads": 2,
            "vocabulary": "demo-uncased",
            "seeds": 1,
            "checkpoints": [entry],
        }
        finished.config = merge(config, {"bases": {"other": base}, "frozen": {"heads": 1}})

    try:
        name_checkpoint(hub="made/bert")
        finished.snakemake(TABLE)
        assert set(read_tsv(finished.folder / TABLE)["checkpoint"]) == {
            f"made/bert@{REVISION[:7]}"
        }
        assert not finished.reruns(TABLE)
        name_checkpoint(hub="made/bert", revision=REVISION)
        assert not finished.reruns(TABLE)
        hub.push("made/bert", "b" * 40, {})
        name_checkpoint(hub="made/bert")
        finished.snakemake(f"{FOLDER}/source.json", "--force")
        source = json.loads((finished.folder / FOLDER / "source.json").read_text())
        assert source["source"] == f"hub:made/bert@{REVISION}"
    finally:
        finished.config = config
