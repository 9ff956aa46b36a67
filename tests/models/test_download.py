"""Checkpoints from a small hub on localhost: which commit is taken, which files are fetched, what
is recorded."""

import io
import json
from collections import Counter

import pytest
import torch
from data.small_hub import REVISION, SmallHub
from huggingface_hub import constants
from safetensors.torch import load_file
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from bertshift.errors import UserError
from bertshift.models.loading import download_checkpoint, import_checkpoint, save_model
from bertshift.models.source import (
    as_asked_before,
    carry_source,
    hub_source,
    local_source,
    origins,
    write_source,
)
from bertshift.models.tokenizer import load_tokenizer

torch.set_num_threads(1)
LATER, REPOSITORY = "b" * 40, "made/bert"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word"]


def state(seed):
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    return BertForPreTraining(config), BertTokenizer(
        vocab={word: i for i, word in enumerate(WORDS)}
    )


def files(folder, seed, *weights):
    """A repository of `seed`'s model as published in 2021: no tokenizer.json, weights twice or in
    one of the forms."""
    model, tokenizer = state(seed)
    save_model(folder, model, tokenizer)
    found = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name != "tokenizer.json"
    }
    found["vocab.txt"], found["tokenizer_config.json"] = (
        "\n".join(WORDS).encode(),
        b'{"do_lower_case": true}',
    )
    pickle = io.BytesIO()
    torch.save(model.state_dict(), pickle)
    found |= {"pytorch_model.bin": pickle.getvalue(), "tf_model.h5": b"never asked for"}
    return {
        name: content for name, content in found.items() if "model." not in name or name in weights
    }


@pytest.fixture
def hub(tmp_path, monkeypatch):
    both = ("model.safetensors", "pytorch_model.bin", "tf_model.h5")
    first = files(tmp_path / "first", 1, *both[1:])
    with SmallHub({REPOSITORY: first, "made/both": files(tmp_path / "both", 1, *both),
                   "made/tf": files(tmp_path / "tf", 1, "tf_model.h5")}) as hub:  # fmt: skip
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(
            constants,
            "HUGGINGFACE_CO_URL_TEMPLATE",
            hub.url + "/{repo_id}/resolve/{revision}/{filename}",
        )
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


def source(folder):
    found = json.loads((folder / "source.json").read_text())
    return found["source"], found["pinned"]


def holds(folder, seed):
    expected, found = state(seed)[0].state_dict(), load_file(folder / "model.safetensors")
    return all(torch.equal(value, expected[key]) for key, value in found.items())


@pytest.mark.parametrize("branch", [None, "refs/pr/1"])
def test_a_branch_is_resolved_once_and_its_commit_recorded(hub, tmp_path, branch):
    run, cache = tmp_path / "run", tmp_path / "cache"

    def taken(revision, cache, *expected):
        download_checkpoint(REPOSITORY, revision, run, cache)
        commit, pinned, seed = expected
        assert source(run) == (f"hub:{REPOSITORY}@{commit}", pinned) and holds(run, seed)

    hub.push(
        REPOSITORY, LATER, files(tmp_path / "later", 2, "pytorch_model.bin"), branch or "main"
    )
    taken(branch, cache, LATER, False, 2)
    said = origins({"1": {"records": [str(run / "source.json")]}})["1"]["checkpoint"]
    assert said == f"{REPOSITORY}@" + (f"{branch} ({LATER[:7]})" if branch else LATER[:7])
    hub.push(REPOSITORY, "c" * 40, {}, branch or "main")
    taken(branch, tmp_path / "another cache", LATER, False, 2)
    taken(REVISION, cache, REVISION, True, 1)
    assert "tf_model.h5" not in {path for _, path in hub.requests}


def test_one_form_of_the_weights_is_fetched(hub, tmp_path):
    download_checkpoint("made/both", REVISION, tmp_path / "run", tmp_path / "cache")
    fetched = Counter(path for repository, path in hub.requests if repository == "made/both")
    assert fetched.keys() == {
        "config.json",
        "model.safetensors",
        "tokenizer_config.json",
        "vocab.txt",
    }
    assert holds(tmp_path / "run", 1)


@pytest.fixture
def unsaid(hub, tmp_path):
    """A small BERT as Google published them, as a folder and at the hub: of the tokenizer its
    vocabulary alone, and a config.json without a type."""
    published = files(tmp_path / "made", 1, "pytorch_model.bin")
    published.pop("tokenizer_config.json")
    said = json.loads(published["config.json"])
    del said["model_type"], said["architectures"]
    published["config.json"] = json.dumps(said).encode()
    hub.push("made/small", REVISION, published)
    folder = tmp_path / "local"
    folder.mkdir()
    for name, content in published.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_repository_that_does_not_say_its_case_is_told_it(unsaid, tmp_path):
    def taken(**how):
        download_checkpoint("made/small", REVISION, tmp_path / "hub", tmp_path / "cache", **how)
        import_checkpoint(unsaid, tmp_path / "path", **how)
        return [tmp_path / "hub", tmp_path / "path"]

    with pytest.raises(UserError, match="says whether its vocabulary is lowercased"):
        taken()
    assert not (tmp_path / "hub").exists()
    for lowercase, pieces in ((True, ["word"]), (False, ["[UNK]"])):
        for folder in taken(lowercase=lowercase):
            assert holds(folder, 1) and load_tokenizer(folder).tokenize("Word") == pieces


def test_a_case_that_the_repository_says_otherwise_is_refused(unsaid, tmp_path):
    (unsaid / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    import_checkpoint(unsaid, tmp_path / "agreed", lowercase=True)
    with pytest.raises(UserError, match="tokenizer_config.json says .* lowercased"):
        import_checkpoint(unsaid, tmp_path / "run", lowercase=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("repository", "revision"),
    [("made/tf", None), ("made/none", None), (REPOSITORY, "c" * 40), (REPOSITORY, "step1000")],
)
def test_what_the_hub_lacks_is_named(hub, tmp_path, repository, revision):
    with pytest.raises(UserError, match=f"{repository} at {revision or ''}"):
        download_checkpoint(repository, revision, tmp_path / "run", tmp_path / "cache")
    assert not (tmp_path / "run").exists()


def test_copying_the_resolved_commit_changes_no_entry(tmp_path):
    unpinned, pinned = {"hub": "a/b"}, {"hub": "a/b", "revision": REVISION}
    other, branch = {"hub": "a/b", "revision": LATER}, {"hub": "a/b", "revision": "step1000"}
    assert as_asked_before(pinned, tmp_path) == pinned
    for before, same in ((unpinned, pinned), (pinned, unpinned), (branch, pinned)):
        write_source(tmp_path, hub_source("a/b", REVISION, before.get("revision")))
        assert as_asked_before(before, tmp_path) == as_asked_before(same, tmp_path) == before
        for entry in (
            other,
            {"hub": "a/c"},
            {"path": "/x"},
            unpinned if before == branch else branch,
        ):
            assert as_asked_before(entry, tmp_path) == entry


def test_a_table_is_told_the_checkpoint_by_the_weights(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    records = [str(folder / "source.json") for folder in (one, other)]

    def told(**label):
        return origins({"1": label | {"records": records}})["1"]

    write_source(one, hub_source("a/b", REVISION, REVISION))
    carry_source(one, other)
    assert (
        told()["checkpoint"] == f"a/b@{REVISION[:7]}"
        and told(label="mine")["checkpoint"] == "mine"
    )
    write_source(other, local_source("bert"))
    with pytest.raises(UserError, match=rf"one/source.json says a/b@{REVISION[:7]}, .*local bert"):
        told()
    write_source(one, {"name": "x", "family": "roberta"})
    assert told(label="mine") == {"checkpoint": "mine, family roberta", "family": "roberta"}
