import re
from copy import deepcopy
from functools import cache, reduce
from operator import getitem
from textwrap import dedent

import pytest
import yaml
from conftest import ROOT

from bertshift.config import load_config, merge, on_command_line, read_yaml
from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.papers import catalogue
from bertshift.recipes import task_settings

USER = yaml.safe_load((ROOT / "config/experiments.yaml").read_text())
read_once = cache(read_yaml)


@pytest.fixture(autouse=True)
def files_are_read_once(monkeypatch):
    monkeypatch.setattr("bertshift.config.read_yaml", read_once)


@pytest.mark.parametrize("scale", ["demo", "small", "paper"])
def test_every_shipped_scale_is_valid(scale):
    assert load_config({**USER, "scale": scale}, ROOT)["scale"] == scale


def put(path, value):
    def edit(config):
        *parents, key = path.split(".")
        for parent in parents:
            config = config[parent]
        config[key] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put("tasks.mnli.learning_rate", "2e-5"), r"tasks\.mnli\.learning_rate: '2e-5' is text to YAML; write 2\.0e-5"),
        (put("tasks.mnli.epoch", 3), r"tasks\.mnli: unknown key 'epoch' \(write 'epochs'\)"),
        (put("scale", "big"), r"scale: 'big' is not a scale; write one of demo, small, paper"),
        (put("tasks.mnli.dataset", "mlni"), r"tasks\.mnli\.dataset: no data set 'mlni' is defined; write one of mnli"),
        (put("analyses.rsa.stimuli", ["wik"]), r"analyses\.rsa\.stimuli\.0: no stimulus 'wik' is defined; write one of wiki"),
        (put("analyses.rsa.per_model", {"mnly": ["own"]}), r"analyses\.rsa\.per_model: .*'mnly'; nearest: mnli"),
        (put("data", {"source": "mirror"}), r"data\.mirror: is missing"),
        (put("bases", {"base": {"seeds": 1, "checkpoints": [{"path": "x"}], "layers": 2, "vocabulary": "v"}}),
         r"bases\.base: write heads beside checkpoints, layers, vocabulary"),
        (put("tasks.mnli.per_base", {"huge": {}}), r"tasks\.mnli\.per_base: no checkpoint 'huge'"),
        (put("sweeps", {"tasks": {"squat": {}}}), r"sweeps\.tasks: no task 'squat' is defined; write one of squad"),
        (put("probes", {"edge": {"tasks": {"spr": {"max_step": 9}}}}), r"tasks\.spr: unknown key 'max_step' \(write 'max_steps'\)"),
        (put("probes", {"mdl": {"portions": [0.5, 0.1, 1.0]}}), r"probes\.mdl\.portions: .*; write rising shares that end with 1"),
        (put("tasks.squad.metrics", ["exact_macth"]), r"tasks\.squad\.metrics\.0: .* write one of f1, exact_match; the nearest is 'exact_match'"),
        (put("tasks.mnli.kind", "spans"), r"tasks\.mnli\.kind: spans needs a data set of kind qa; datasets\.mnli is of kind pair"),
        (put("tasks.stsb", USER["tasks"]["mnli"] | {"dataset": "stsb"}), r"classification needs 'labels', which datasets\.stsb has not; .* write regression"),
        (put("tasks.mnli.metrics", ["accuracy", "f1"]), r"tasks\.mnli\.metrics: f1 needs two labels, datasets\.mnli has 3"),
        (put("tasks.mrpc.metrics", ["f1"]), r"tasks\.mrpc\.metrics: f1 does not tell .* add accuracy"),
        (put("tasks.mnli.standardise_labels", True), r"tasks\.mnli\.standardise_labels: labels of kind classification are no numbers"),
        (put("tasks.mnli", None), r"tasks\.mnli: nothing is written here; write keys with values"),
        (put("bases", {"base": {"pretrain": {"heads": 0}}}), r"bases\.base\.pretrain\.heads: 0 does not fit; write 1 or more"),
        (put("bases", {"base": {"pretrain": {"heads": 3}}}), r"bases\.base\.pretrain\.width: 128 cannot be divided among 3 heads"),
        (put("bases", {"cased": {"parent": "bass"}}), r"bases\.cased\.parent: no checkpoint 'bass' is defined; write one of base"),
        (put("bases", {"base": {"parent": "cased"}, "cased": {"parent": "base"}}), r"bases\.cased\.parent: cased, base, cased never ends"),
        (put("bases", {"cased": {"parent": "base"}}), r"bases\.cased\.parent: 'cased' has vocabulary: demo-cased, its parent 'base' demo"),
        (put("bases", {"mine": {"seeds": 1, "checkpoints": [], "layers": 2, "heads": 2, "vocabulary": "v"}}), r"bases\.mine\.checkpoints: is empty"),
        (put("tasks.base", USER["tasks"]["mnli"]), r"tasks\.base: is a checkpoint's name too"),
        (put("tasks.mnli.epochs", "3"), r"tasks\.mnli\.epochs: '3' is text to YAML; write 3"),
        (put("probes", {"mdl": {"tasks": {"pos": {"portions": [0.5]}}}}), r"probes\.mdl\.tasks\.pos\.portions: .*; write rising shares"),
        (put("scored", [3]), r"scored\.0: 3 is not text; YAML reads it as a number. Write it in quotes, as \"3\""),
        (put("scored", [False]), r"scored\.0: False is not text; YAML reads an unquoted no, off or false so\. Write it in quotes, as \"no\""),
        (put("edge_sets", {"mine": {"task": "pos", "files": {}}}), r"edge_sets\.mine: format is missing; the layout"),
        (put("edge_sets", {"gum_pos": {"format": "conll"}}), r"edge_sets\.gum_pos\.format: .* write one of jiant, conllu, .*; the nearest is 'conllu'"),
        (put("edge_sets", {"gum_pos": {"files": {"train": "x"}}}), r"edge_sets\.gum_pos\.files: unknown key 'train'; the keys here are archive"),
        (put("edge_sets", {"gum_pos": {"url": "http://me:opensesame@a.example (x)"}}), r"edge_sets\.gum_pos\.url: 'http://\[hidden\]@a\.example \(x\)' holds what"),
        (put("tasks.mnli.learning_rate", float("nan")), r"tasks\.mnli\.learning_rate: nan does not fit; write a number"),
        (put("edits", {"ff2": {"kind": "feedforward", "layer": 2}}), r"edits\.ff2\.kind: .* the nearest is 'feed_forward'"),
        (put("edits", {"ff2": {"kind": "feed_forward", "layer": 2}}), r"edits\.ff2: a change of kind feed_forward needs 'size'; write it"),
        (put("edits", {"ff2": {"kind": "heads_reordered", "layer": 2, "head": 1}}),
         r"edits\.ff2\.head: a change of kind heads_reordered has no 'head'; leave it out"),
        (put("edits", {"ff2": {"kind": "nothing", "background": "mlni"}}), r"edits\.ff2\.background: no task 'mlni' is defined; write one of mnli"),
        (put("edits", {"ff_2": {"kind": "nothing"}}), r"edits: 'ff_2' does not fit"),
        (put("training", {"learning_rate_scale": 0}), r"write more than 0 \(multiplies every .* no scale of their own\)\.$"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence_with_path_value_and_remedy(edit, message):
    config = deepcopy(USER)
    edit(config)
    with pytest.raises(UserError, match=message):
        load_config(config, ROOT)


# One of a kind of everything, so that a configuration is checked in an instant.
FEW = {
    "scale": "demo",
    "data": {"source": "mirror", "mirror": "/x"},
    "world": {"seed": 1, "sizes": {"dev": 9}},
    "vocabularies": {"v": {"corpus": "world", "size": 600, "lowercase": True}},
    "corpora": {"world": "x.txt"},
    "bases": {
        "base": {"seeds": 1, "pretrain": {"corpus": "world", "vocabulary": "v", "runs": 1, "layers": 2, "heads": 2, "width": 8,
                 "feedforward": 9, "epochs": 1, "batch_size": 9, "learning_rate": 0.1, "lengths": {"longest": 32}}},
        "mine": {"seeds": 1, "checkpoints": [{"path": "/x"}], "layers": 2, "heads": 2, "vocabulary": "v", "parent": "base"},
    },
    "training": {"learning_rate_scale": 1.0, "per_variant": {"random": {"epochs": 1}}},
    "tasks": {
        "mnli": USER["tasks"]["mnli"],
        "dep": {"dataset": "ewt", "kind": "dependencies", "metrics": ["uas"], "learning_rate": 1, "batch_size": 9, "epochs": 1},
    },
    "annotators": {"tags": "dep", "trees": "dep"},
    "treebank": "ewt",
    "stimuli": {"wiki": {"dataset": "ewt", "form": "like", "split": "train", "like": "mnli"}},
    "analyses": {metric: {"stimuli": ["own"]} for metric in ("cosine", "js", "attention_to", "own_or_inherited", "svcca",
                 "similarity")} | {"rsa": {"stimuli": ["wiki"], "per_model": {"mnli": ["own"]}}},
    "edge_tasks": {"pos": "e"},
    "edge_sets": {"e": {"task": "pos", "format": "jiant", "files": {"train": "a", "dev": "b", "test": "c"}}},
    "probes": {"edge": {"tasks": {"pos": {"width": 3}}}},
    "sweeps": {"tasks": {"dep": {"max_dev": 9}}, "per_base": {"base": {"seeds": 1}}},
    "snapshots": [0],
    "edits": {"head": {"kind": "head", "layer": 1, "head": 1, "size": 0.1, "background": "mnli"}, "the": {"kind": "words", "words": ["the"], "size": 1}},
    "scored": ["mnli"],
    "figures": {"hao2020": {"figure6": {"models": ["mnli"], "reference": "base", "pairs": [["mnli", "mnli.random"]]}}},
    "threads": {"train": 1, "analyse": 1},
}  # fmt: skip


def keys_of(value, path=()):
    below = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in below:
        yield (*path, key)
        yield from keys_of(each, (*path, key))


@pytest.mark.parametrize("wrong", [None, {"mnli": None}, "text"], ids=str)
def test_whatever_stands_in_the_place_of_a_key_no_mistake_is_a_traceback(monkeypatch, wrong):
    data = {name: read_once(ROOT / "config/datasets.yaml")[name] for name in ("mnli", "ewt")}
    shipped = {"datasets.yaml": data, "edges.yaml": {}, "demo.yaml": {}}
    read = lambda path: shipped[path.name] if path.name in shipped else read_once(path)
    monkeypatch.setattr("bertshift.config.read_yaml", read)
    catalogue.check(load_config(FEW, ROOT))
    for *path, last in keys_of(FEW | {"datasets": data, "experiments": None}):
        config = deepcopy(FEW | {"datasets": data})
        reduce(getitem, path, config)[last] = wrong
        try:
            catalogue.check(load_config(config, ROOT))
        except UserError:
            continue
        except Exception as error:  # noqa: BLE001 - it says of which key
            pytest.fail(f"{wrong} in the place of {'.'.join(map(str, [*path, last]))}: {error!r}")


MINE = {
    "kind": "pair",
    "format": "glue_tsv",
    "mirror": {"train": "my/train.tsv", "dev": ["my/dev.tsv", "my/other.tsv"]},
    "columns": {"text_a": "first", "text_b": "second", "label": "answer"},
    "labels": {"no": "wrong", "yes": "right"},
}


def test_a_task_needs_rows_to_train_on_and_to_score():
    changes = {
        "data": {"source": "mirror", "mirror": "/x"},
        "datasets": {"mine": MINE | {"mirror": {"train": "my/train.tsv"}}},
        "tasks": {"mnli": {"dataset": "mine"}},
    }
    with pytest.raises(UserError, match=r"tasks\.mnli\.dataset: datasets\.mine has no dev split"):
        load_config(merge(USER, changes), ROOT)


def test_a_data_set_of_ones_own_needs_no_licence_and_no_list_of_one_file():
    mine = load_config(merge(USER, {"datasets": {"mine": MINE}}), ROOT)["datasets"]["mine"]
    assert mine["mirror"] == {"train": ["my/train.tsv"], "dev": ["my/dev.tsv", "my/other.tsv"]}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("columns: {text_a: first, label: answer}", r"columns: text_b is missing; the column of the second text"),
        ("labels: {no: wrong, yes: right}",
         r'labels: the key False is not text; YAML reads an unquoted no, .* in quotes, as "no".\n.* True .* yes, .* as "yes"'),
        ("range: [0, 5]", r": must have exactly one of: labels or range; it has labels, range"),
        ("format: conllu", r"format: 'conllu' is not possible; write glue_tsv"),
        ("hub: {id: a/b, revision: main, splits: {train: train}}", r"hub: columns is missing.*\n.*hub\.revision: 'main' does not fit"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_data_set_is_a_sentence(written, message):
    config = {**USER, "datasets": {"mine": MINE | yaml.safe_load(written)}}
    with pytest.raises(UserError, match=r"datasets\.mine.*" + message):
        load_config(config, ROOT)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a: 1\nb: [1\nc: 2\n", r"more.yaml, line 3 \(or 2, where it began\): this is not YAML: .* expected ',' or '\]'"),
        ("a: 1\nb: {c: 1}\na: 2\n", "more.yaml, line 3: the key 'a' stands twice"),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1, d: 2}\n", "more.yaml, line 2: the key 'd' stands twice"),
        ("a: caf\xe9\n", "more.yaml:1 is not UTF-8"),
        ("a: 1\nb: {c: [2, *mine]}\n", r"more.yaml, line 2: \*mine stands for nothing, as no &mine is above it"),
        ("- a\n", r"more.yaml has no keys at its top level"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_yaml_is_told_with_its_line(tmp_path, written, message):
    (tmp_path / "more.yaml").write_text(written, encoding="latin-1")
    with pytest.raises(UserError, match=message):
        read_yaml(tmp_path / "more.yaml")


def test_anchors_are_no_keys_of_the_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text("anchors: {a: &a {seeds: 7}}\nbases: {large: *a}\n")
    config = load_config(merge(USER, read_yaml(tmp_path / "mine.yaml")), ROOT)
    assert config["bases"]["large"]["seeds"] == 7
    assert "anchors" not in config and "anchors" not in config["edge_sets"]
    token = {"anchors": {"a": "https://mine:secret@example.org/x"}}
    with pytest.raises(UserError, match=r"anchors\.a: .* password or a token"):
        load_config(merge(USER, token), ROOT)


def test_the_command_line_gives_mappings_lists_and_true_as_a_file_does():
    given = [
        "bases={base: {seeds: 2, parent: null}}",
        "bases={base: {layers: 4}}",
        "snapshots=[0, 50]",
        "keep_activations=true",
        "scale=small",
        "world=",
    ]
    assert on_command_line(given) == {
        "bases": {"base": {"seeds": 2, "parent": None, "layers": 4}},
        "snapshots": [0, 50],
        "keep_activations": True,
    }
    with pytest.raises(UserError, match=r"--config bases, line 1: the key 'base' stands twice"):
        on_command_line(["bases={base: {seeds: 2}, base: {seeds: 3}}"])
    with pytest.raises(UserError, match=r"--config bases, line 2 .*: this is not YAML"):
        on_command_line(["bases={base: {seeds: 2}"])


def test_what_is_said_of_real_data_without_a_network_asks_for_nothing_else():
    readme = (ROOT / "README.md").read_text()
    text = dedent(re.search(r"\n((    .*\n)+)", readme.partition("## Real data")[2])[1])
    commented = re.search(
        r"\n((# (data|bases| ).*\n)+)", (ROOT / "config/experiments.yaml").read_text()
    )[1]
    assert "scale: small\n" + re.sub("^# ", "", commented, flags=re.MULTILINE) == text
    rate = load_config(USER, ROOT)["training"]["learning_rate_scale"]
    assert f"{rate} if the demo pretrained it" in text
    recipe = yaml.safe_load(text)
    config = load_config({**USER, **recipe}, ROOT)
    sources = [source for base in config["bases"].values() for source in base["checkpoints"]]
    assert sources == [{"path": "/path/to/bert", "label": "my BERT"}] * 5
    assert not any(edge_set.startswith("world") for edge_set in config["edge_tasks"].values())


def test_a_task_overrides_its_scale_and_a_checkpoint_its_task():
    config = load_config(
        merge(
            USER, {"training": {"warmup": 0.5, "learning_rate_scale": 2, "batch_size_scale": 1}}
        ),
        ROOT,
    )

    def training(name):
        return task_settings(parse_model(name, config), config)["training"]

    assert training("mnli")["learning_rate"] == pytest.approx(4e-5)
    assert (training("mnli@large")["batch_size"], training("mnli@large")["warmup"]) == (64, 0.1)
    assert training("mnli")["warmup"] == 0.5
    assert training("mnli.bertadam")["optimizer"] == "bertadam"
    assert training("cola.bertadam@cased")["warmup"] == 0.1 != training("cola@cased")["warmup"]
    config["training"]["lora"] = {"learning_rate": 1e-3, "alpha": 32, "dropout": 0.1}
    for name in ("mnli.lora8", "mnli.lora8.bertadam", "mnli.lora8@large"):
        assert training(name)["learning_rate"] == pytest.approx(2e-3)
        assert (training(name)["lora_alpha"], training(name)["lora_dropout"]) == (32, 0.1)
    assert (
        "lora_alpha" not in training("mnli") and training("mnli.lora8@large")["batch_size"] == 64
    )
    config["training"]["per_variant"] = {"random": {"max_train": 7, "epochs": 1}}
    random = task_settings(parse_model("mnli.random", config), config)
    assert (random["task"]["max_train"], random["training"]["epochs"]) == (7, 1)
    other = task_settings(parse_model("mnli.keep2", config), config)
    assert other["task"]["max_train"] == config["tasks"]["mnli"]["max_train"] != 7
    config["tasks"]["mnli"]["warmup"] = 0.0
    assert training("mnli")["warmup"] == 0.0


def test_a_scale_for_small_models_leaves_full_size_ones_alone():
    def rates(config):
        config = load_config(config, ROOT)
        models = [parse_model(name, config) for name in ("rte", "rte@cased", "rte@large")]
        return [task_settings(model, config)["training"]["learning_rate"] for model in models]

    assert rates({**USER, "scale": "small"}) == pytest.approx([4e-5, 2e-5, 1e-5])
    real = yaml.safe_load((ROOT / "docs/real/experiments.yaml").read_text())
    for base in (real["bases"]["base"], real["bases"]["cased"]):
        base["checkpoints"] = [{"path": "/x"}]
    real["corpora"] = {"wikipedia": "/x"}
    assert rates(merge(USER, real))[:2] == pytest.approx([5e-5, 2.5 * 6e-5])


@pytest.mark.parametrize(
    "where", [{}, {"per_base": {"large": {"max_train": None, "max_dev": None}}}]
)
def test_null_means_all_examples_whatever_the_scale_takes(where):
    own = where or {"max_train": None, "max_dev": None}
    scale = {"training": {"max_train": 100, "max_dev": 10}}
    config = load_config(merge(USER, {**scale, "tasks": {"qnli": own}}), ROOT)
    tasks = {
        name: task_settings(parse_model(name, config), config)["task"]
        for name in ("qnli@large", "rte@cased")
    }
    assert not {"max_train", "max_dev"} & set(tasks["qnli@large"])
    assert (tasks["rte@cased"]["max_train"], tasks["rte@cased"]["max_dev"]) == (700, 10)


def test_bert_large_is_trained_as_table_1_says():
    """Hao et al. 2020."""
    table = read_yaml(ROOT / "workflow/bertshift/papers/hao2020/published.yaml")["table1"]
    config = load_config(merge(USER, {"scale": "paper"}), ROOT)
    for task, row in table["rows"].items():
        ours = task_settings(parse_model(f"{task}@large", config), config)["training"]
        assert [ours[key] for key in table["columns"]] == row
        assert (ours["schedule"], ours["optimizer"], ours["warmup"]) == ("linear", "adamw", 0.1)
