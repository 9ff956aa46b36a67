"""Checkpoints from a small hub on localhost: which commit is taken, which files are fetched, what
is recorded."""

import json

import pytest
import torch
from data.small_hub import REVISION, SmallHub
from huggingface_hub import constants
from made_toys import tokenizer_with
from safetensors.torch import load_file
from transformers import BertConfig, BertForPreTraining

from bertshift.errors import UserError
from bertshift.models.loading import (
    download_checkpoint,
    fetch_checkpoint,
    import_checkpoint,
    save_model,
)
from bertshift.models.source import (
    as_asked_before,
    carry_source,
    hub_source,
    local_source,
    origins,
    write_source,
)
from bertshift.models.tokenizer import load_tokenizer

LATER, REPOSITORY = "b" * 40, "made/bert"
TOKENIZER = tokenizer_with(["word"])


def pretrained(seed):
    torch.manual_seed(seed)
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(TOKENIZER), num_hidden_layers=1, **sizes)
    return BertForPreTraining(config)


def files(folder, seed):
    """A repository with the weights in three forms, of which one is of use."""
    save_model(folder, pretrained(seed), TOKENIZER)
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    contents["added_tokens.json"] = b"{}"
    return contents | {"pytorch_model.bin": b"not fetched", "tf_model.h5": b"not fetched"}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    repositories = {
        REPOSITORY: files(tmp_path / "published", 1),
        "made/tf": {"config.json": b"{}", "tf_model.h5": b""},
    }
    with SmallHub(repositories) as hub:
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


def source(folder):
    record = json.loads((folder / "source.json").read_text())
    return record["source"], record["pinned"]


def has_weights_of(folder, seed):
    expected, weights = pretrained(seed).state_dict(), load_file(folder / "model.safetensors")
    return all(torch.equal(weight, expected[name]) for name, weight in weights.items())


def test_a_branch_is_resolved_once_and_its_commit_recorded(hub, tmp_path):
    run, cache, branch = tmp_path / "run", tmp_path / "cache", "refs/pr/1"

    def assert_downloaded(revision, cache, commit, pinned, seed):
        download_checkpoint(REPOSITORY, revision, run, cache)
        assert source(run) == (f"hub:{REPOSITORY}@{commit}", pinned)
        assert has_weights_of(run, seed)

    hub.push(REPOSITORY, LATER, files(tmp_path / "later", 2), branch)
    assert_downloaded(branch, cache, LATER, False, 2)
    label = origins({"1": {"records": [str(run / "source.json")]}})["1"]["checkpoint"]
    assert label == f"{REPOSITORY}@{branch} ({LATER[:7]})"
    hub.push(REPOSITORY, "c" * 40, {}, branch)
    assert_downloaded(branch, tmp_path / "another cache", LATER, False, 2)
    assert_downloaded(REVISION, cache, REVISION, True, 1)
    fetched = {path for _, path in hub.requests}
    assert fetched == {
        "added_tokens.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_pickle_is_fetched_where_there_is_no_safetensors(hub, tmp_path):
    hub.push("made/pickle", REVISION, {"config.json": b"{}", "pytorch_model.bin": b"pickle"})
    folder = fetch_checkpoint("made/pickle", None, tmp_path)
    assert (folder / "pytorch_model.bin").read_bytes() == b"pickle"


@pytest.fixture
def without_case(tmp_path):
    """A small BERT as Google published them: the tokenizer's vocabulary alone, and a config.json
    without a type."""
    folder = tmp_path / "without_case"
    save_model(folder, pretrained(1), TOKENIZER)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    (folder / "vocab.txt").write_text("\n".join(TOKENIZER.get_vocab()))
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"], config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_lowercase_is_given_where_the_repository_does_not_say_it(without_case, tmp_path):
    with pytest.raises(UserError, match="says whether its vocabulary is lowercased"):
        import_checkpoint(without_case, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    for lowercase, pieces in ((True, ["word"]), (False, ["[UNK]"])):
        import_checkpoint(without_case, tmp_path / "run", lowercase=lowercase)
        assert load_tokenizer(tmp_path / "run").tokenize("Word") == pieces
        assert has_weights_of(tmp_path / "run", 1)


def test_a_case_that_contradicts_the_repository_is_refused(without_case, hub, tmp_path):
    (without_case / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    import_checkpoint(without_case, tmp_path / "agreed", lowercase=True)
    with pytest.raises(UserError, match="tokenizer_config.json says .* lowercased"):
        import_checkpoint(without_case, tmp_path / "run", lowercase=False)
    with pytest.raises(UserError, match="tokenizer.json says .* lowercased"):
        download_checkpoint(REPOSITORY, None, tmp_path / "run", tmp_path, lowercase=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("repository", "revision"),
    [("made/tf", None), ("made/none", None), (REPOSITORY, "step1000")],
)
def test_what_the_hub_lacks_is_named(hub, tmp_path, repository, revision):
    with pytest.raises(UserError, match=f"{repository} at {revision or ''}"):
        download_checkpoint(repository, revision, tmp_path / "run", tmp_path / "cache")
    assert not (tmp_path / "run").exists()


def test_copying_the_resolved_commit_changes_no_entry(tmp_path):
    unpinned, pinned = {"hub": "a/b"}, {"hub": "a/b", "revision": REVISION}
    later, branch = {"hub": "a/b", "revision": LATER}, {"hub": "a/b", "revision": "step1000"}
    assert as_asked_before(pinned, tmp_path) == pinned
    for before, same in ((unpinned, pinned), (pinned, unpinned), (branch, pinned)):
        write_source(tmp_path, hub_source("a/b", REVISION, before.get("revision")))
        assert as_asked_before(before, tmp_path) == as_asked_before(same, tmp_path) == before
        changed = unpinned if before == branch else branch
        for entry in (later, changed, {"hub": "a/c"}, {"path": "/x"}):
            assert as_asked_before(entry, tmp_path) == entry


def test_a_table_names_the_checkpoint_that_the_weights_came_from(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    records = [str(folder / "source.json") for folder in (first, second)]

    def origin(**label):
        return origins({"1": label | {"records": records}})["1"]

    write_source(first, hub_source("a/b", REVISION, REVISION))
    carry_source(first, second)
    assert origin()["checkpoint"] == f"a/b@{REVISION[:7]}"
    assert origin(label="mine")["checkpoint"] == "mine"
    write_source(second, local_source("bert"))
    with pytest.raises(
        UserError, match=rf"first/source.json says a/b@{REVISION[:7]}, .*local bert"
    ):
        origin()
    write_source(first, {"name": "x", "family": "roberta"})
    assert origin(label="mine") == {"checkpoint": "mine, family roberta", "family": "roberta"}
