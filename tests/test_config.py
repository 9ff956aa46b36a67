import re
from copy import deepcopy
from functools import cache, reduce
from operator import getitem
from textwrap import dedent

import pytest
import yaml
from conftest import ROOT

from bertshift.config import canonical, load_config, merge, on_command_line, read_yaml
from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.papers import catalogue
from bertshift.recipes import task_settings
from bertshift.world.generate import SIZES

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
        (put("tasks.mnli.batch_size", "32"), r"tasks\.mnli\.batch_size: '32' is text to YAML; write 32"),
        (put("tasks.mnli.epoch", 3), r"tasks\.mnli: unknown key 'epoch' \(write 'epochs'\)"),
        (put("scael", "demo"), r"unknown key 'scael' \(write 'scale'\)"),
        (put("scale", "big"), r"scale: 'big' is not a scale; write one of demo, small, paper"),
        (put("tasks.mnli.kind", "classes"), r"tasks\.mnli\.kind: 'classes' is not possible; write one of classification"),
        (put("tasks.mnli.dataset", "mlni"), r"tasks\.mnli\.dataset: no data set 'mlni' is defined; write one of mnli"),
        (put("analyses.rsa.stimuli", ["wik"]), r"analyses\.rsa\.stimuli: no stimulus 'wik' is defined; write one of wiki"),
        (put("analyses.rsa.per_model", {"mnly": ["own"]}), r"analyses\.rsa\.per_model: .*'mnly'; nearest: mnli"),
        (put("analyses.rsa.per_model", {"mnli": ["wik"]}), r"analyses\.rsa\.per_model\.mnli: no stimulus 'wik' is defined"),
        (put("training", {"per_variant": {"randm": {}}}), r"training\.per_variant: "),
        (put("data", {"source": "mirror"}), r"data\.mirror: is missing"),
        (put("bases", {"base": {"checkpoints": [{"path": "x"}]}}), r"bases\.base: write layers, heads, vocabulary beside checkpoints"),
        (put("bases", {"base": {"seeds": 1, "checkpoints": [{"path": "x"}], "layers": 2, "vocabulary": "v"}}),
         r"bases\.base: write heads beside checkpoints, layers, vocabulary"),
        (put("tasks.mnli.per_base", {"huge": {}}), r"tasks\.mnli\.per_base: no checkpoint 'huge'"),
        (put("scored", ["mnly"]), r"scored: .*'mnly'; nearest: mnli"),
        (put("annotators", {"trees": "depp"}), r"annotators\.trees: .*'depp'; nearest: dep"),
        (put("sweeps", {"tasks": {"squat": {}}}), r"sweeps\.tasks: no task 'squat' is defined; write one of squad"),
        (put("probes", {"edge": {"tasks": {"rellations": {}}}}), r"probes\.edge\.tasks: .*'rellations'.* write one of relations"),
        (put("probes", {"edge": {"tasks": {"spr": {"max_step": 9}}}}), r"tasks\.spr: unknown key 'max_step' \(write 'max_steps'\)"),
        (put("probes", {"mdl": {"tasks": {"spr": {"portoins": [1.0]}}}}), r"unknown key 'portoins' \(write 'portions'\)"),
        (put("world", {"sizes": {"document": 9}}), r"world\.sizes: unknown key 'document' \(write 'documents'\)"),
        (put("tasks.mnli.schedule", "slanted_triangular"), r"tasks\.mnli\.schedule: 'slanted_triangular' is not possible; write one of linear"),
        (put("tasks.squad.metrics", ["exact_macth"]), r"tasks\.squad\.metrics\.0: .* write one of f1, exact_match; the nearest is 'exact_match'"),
        (put("tasks.dep.metrics", ["mcc"]), r"tasks\.dep\.metrics\.0: 'mcc' is not possible; write one of las_ud"),
        (put("tasks.mnli.kind", "spans"), r"tasks\.mnli\.kind: spans needs a data set of kind qa; datasets\.mnli is of kind pair"),
        (put("tasks.stsb", USER["tasks"]["mnli"] | {"dataset": "stsb"}), r"classification needs 'labels', which datasets\.stsb has not; .* write regression"),
        (put("tasks.mnli.metrics", ["accuracy", "f1"]), r"tasks\.mnli\.metrics: f1 needs two labels, datasets\.mnli has 3"),
        (put("tasks.mrpc.metrics", ["f1"]), r"tasks\.mrpc\.metrics: f1 does not tell .* add accuracy"),
        (put("tasks.mnli", None), r"tasks\.mnli: nothing is written here; write keys with values"),
        (put("stimuli.wiki.split", "train"), r"stimuli\.wiki\.split: no split of 'wikipedia' 'train' is defined; write one of text"),
        (put("vocabularies", {"demo-cased": {"corpus": "wrold"}}), r"vocabularies\.demo-cased\.corpus: no corpus 'wrold' .* write one of world"),
        (put("bases", {"base": {"pretrain": {"heads": 0}}}), r"bases\.base\.pretrain\.heads: 0 does not fit; write 1 or more"),
        (put("bases", {"base": {"seeds": 100_000}}), r"bases\.base\.seeds: 100000 does not fit; write 1000 or less \(fine-tuning seeds"),
        (put("tasks.mnli.seeds", 100_000), r"tasks\.mnli\.seeds: 100000 does not fit; write 1000 or less"),
        (put("tasks.mnli.dataset", "MNLI"), r"tasks\.mnli\.dataset: no data set 'MNLI' is defined; write one of mnli"),
        (put("bases", {"base": {"pretrain": {"heads": 3}}}), r"bases\.base\.pretrain\.width: 128 cannot be divided among 3 heads"),
        (put("bases", {"base": None}), r"bases\.base: nothing is written here; write keys with values"),
        (put("bases", {"base": {"checkpoints": [None]}}), r"bases\.base\.checkpoints\.0: nothing is written here; write keys"),
        (put("data", {"source": ["hub"]}), r"data\.source: \['hub'\] is not possible; write one of world, mirror, hub"),
        (put("bases", {"cased": {"parent": "bass"}}), r"bases\.cased\.parent: no checkpoint 'bass' is defined; write one of base"),
        (put("bases", {"base": {"parent": "base"}}), r"bases\.base\.parent: base, base never ends"),
        (put("bases", {"base": {"parent": "cased"}, "cased": {"parent": "base"}}), r"bases\.cased\.parent: cased, base, cased never ends"),
        (put("bases", {"cased": {"parent": "base"}}), r"bases\.cased\.parent: 'cased' has vocabulary: demo-cased, its parent 'base' demo"),
        (put("scored", [False]), r"scored\.0: False is not text; YAML reads an unquoted no, off or false so\. Write it in quotes, as \"no\""),
        (put("datasets", {"mine": None}), r"datasets\.mine: nothing is written here; write keys with values"),
        (put("edge_sets", {"gum_pos": {"formt": "gum"}}), r"edge_sets\.gum_pos: unknown key 'formt' \(write 'format'\)"),
        (put("edge_sets", {"mine": {"task": "pos", "files": {}}}), r"edge_sets\.mine: format is missing; the layout"),
        (put("edge_sets", {"gum_pos": {"format": "conll"}}), r"edge_sets\.gum_pos\.format: .* write one of jiant, conllu, .*; the nearest is 'conllu'"),
        (put("edge_sets", {"gum_pos": {"task": "srl"}}), r"edge_sets\.gum_pos\.task: 'srl' is not possible; write one of pos, constituents, entities, coref"),
        (put("edge_sets", {"gum_pos": {"files": {"train": "x"}}}), r"edge_sets\.gum_pos\.files: unknown key 'train'; the keys here are archive"),
        (put("edge_sets", {"gum_pos": {"jiant_compat": True}}), r"edge_sets\.gum_pos\.jiant_compat: True is not possible; write False"),
        (put("edge_sets", {"gum_pos": {"url": "http://me:opensesame@a.example (x)"}}), r"edge_sets\.gum_pos\.url: 'http://\[hidden\]@a\.example \(x\)' holds what"),
        (put("edge_sets", {"gum_pos": {"url": "http://a.example/b?token=opensesame"}}), r"edge_sets\.gum_pos\.url: 'http://a\.example/b\?\[hidden\]' holds what"),
        (put("edge_sets", {"gum_pos": {"download": {"archive": {"url": "http://me@a.example/b"}}}}), r"archive\.url: 'http://\[hidden\]@a\.example/b' holds what"),
        (put("tasks.mnli.learning_rate", float("nan")), r"tasks\.mnli\.learning_rate: nan does not fit; write a number"),
        (put("training", {"epsilon": float("inf")}), r"training\.epsilon: inf does not fit; write a number or null"),
        (put("training", {"learning_rate_scale": 0}), r"write more than 0 \(multiplies every .* no scale of their own\)\.$"),
        (put("samples", {"task": float("-inf")}), r"samples\.task: -inf does not fit; write a whole number"),
        (put("datasets", {"stsb": {"range": [0, float("inf")]}}), r"datasets\.stsb\.range\.1: inf does not fit; write a number"),
        (put("relations", {"file": ["x"]}), r"relations: unknown key 'file' \(write 'files'\)"),
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
    "scored": ["mnli"],
    "figures": {"hao2020": {"figure6": {"models": ["mnli"], "reference": "base", "pairs": [["mnli", "mnli.random"]]}}},
    "threads": {"train": 1, "analyse": 1},
}  # fmt: skip


def keys_of(value, path=()):
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield (*path, key)
        yield from keys_of(each, (*path, key))


@pytest.mark.parametrize("wrong", [None, [None], {"mnli": None}, "text", 7], ids=str)
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


def test_a_data_set_of_ones_own_needs_no_licence_and_no_list_of_one_file():
    mine = load_config(merge(USER, {"datasets": {"mine": MINE}}), ROOT)["datasets"]["mine"]
    assert mine["mirror"] == {"train": ["my/train.tsv"], "dev": ["my/dev.tsv", "my/other.tsv"]}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("columns: {text_a: first, text_c: second, label: answer}", r"columns: unknown key 'text_c' \(write 'text_b'\)"),
        ("columns: {text_a: first, label: answer}", r"columns: text_b is missing; the column of the second text"),
        ("labels: {no: wrong, yes: right}",
         r'labels: the key False is not text; YAML reads an unquoted no, .* in quotes, as "no".\n.* True .* yes, .* as "yes"'),
        ("labels: {0: wrong, 1: right}", r'labels: the key 0 is not text; YAML reads it as a number. Write it in quotes, as "0"'),
        ("labels: {only: this}", r"labels: {'only': 'this'} does not fit; write 2 keys or more \(what the file says"),
        ('labels: {"0": no, "1": 3}', r'labels\.0: False is not text; .* as "no".\n.*labels\.1: 3 is not text; .* "3"'),
        ("unlabelled: [-1]", r'unlabelled\.0: -1 is not text; .* as "-1"'),
        ("range: [0, 5]", r": must have exactly one of: labels or range; it has labels, range"),
        ("kind: sentense", r"kind: 'sentense' is not possible; .* the nearest is 'sentence'"),
        ("format: conllu", r"format: 'conllu' is not possible; write glue_tsv"),
        ("mirror: {trian: my/train.tsv}", r"mirror: unknown key 'trian' \(write 'train'\)"),
        ("mirror: {train: 3}", r"mirror\.train: 3 is not text; YAML reads it as a number"),
        ("hub: {id: a/b, revision: main, splits: {train: train}}", r"hub: columns is missing.*\n.*hub\.revision: 'main' does not fit"),
        ("licence: 2026-01-31", r'licence: 2026-01-31 is not text; YAML reads it as a date. Write it in quotes, as "2026-01-31"'),
        ("licens: mine", r": unknown key 'licens' \(write 'licence'\)"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_data_set_is_a_sentence(written, message):
    config = {**USER, "datasets": {"mine": MINE | yaml.safe_load(written)}}
    with pytest.raises(UserError, match=r"datasets\.mine.*" + message):
        load_config(config, ROOT)


def test_mistakes_are_told_all_at_once():
    config = deepcopy(USER)
    for edit in (put("tasks.mnli.epoch", 3), put("tasks.rte.dataset", "rtee"), put("scored", ["mnly"])):
        edit(config)
    with pytest.raises(UserError) as told:
        load_config(config, ROOT)
    for words in ("unknown key 'epoch'", "no data set 'rtee'", "nearest: mnli"):
        assert words in str(told.value)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a: 1\nb: [1\nc: 2\n", r"more.yaml, line 3 \(or 2, where it began\): this is not YAML: .* expected ',' or '\]'"),
        ("a: 1\nb: {c: [{e: 1, f: 1, e: 2}]}\nd: 2\n", "more.yaml, line 2: the key 'e' stands twice"),
        ("a: 1\nb: {c: 1}\na: 2\n", "more.yaml, line 3: the key 'a' stands twice"),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1, d: 2}\n", "more.yaml, line 2: the key 'd' stands twice"),
        ("a: 2026-02-30\n", "more.yaml, day is out of range for month; correct it there"),
        ("a: caf\xe9\n", "more.yaml:1 is not UTF-8"),
        ("a: 1\n\tb: 2\n", r"more.yaml, line 2 .*: this is not YAML: .* a tab"),
        ("a: 1\nb: {c: [2, *mine]}\n", r"more.yaml, line 2: \*mine stands for nothing, as no &mine is above it"),
        ("- a\n", r"more.yaml has no keys at its top level"),
        ("# a: 1\n", r"more.yaml has no keys at its top level"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_yaml_is_told_with_its_line(tmp_path, written, message):
    (tmp_path / "more.yaml").write_text(written, encoding="latin-1")
    with pytest.raises(UserError, match=message):
        read_yaml(tmp_path / "more.yaml")


@pytest.mark.parametrize("file", [*(ROOT / "config").rglob("*.yaml"), ROOT / ".test/config/experiments.yaml"], ids=lambda file: file.name)  # fmt: skip
def test_anchors_stand_apart_from_what_one_deletes(file):
    sections = re.split(
        r"^(?=\w)", re.sub(r"^ *#.*\n", "", file.read_text(), flags=re.MULTILINE), flags=re.MULTILINE
    )
    with_anchors = [section for section in sections if re.search(r"(: |- |\[|\{)&\w", section)]
    assert {section.partition(":")[0] for section in with_anchors} <= {"anchors"}


def test_anchors_are_no_keys_of_the_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text("anchors: {a: &a {seeds: 7}}\nbases: {large: *a}\n")
    config = load_config(merge(USER, read_yaml(tmp_path / "mine.yaml")), ROOT)
    assert config["bases"]["large"]["seeds"] == 7
    assert "anchors" not in config and "anchors" not in config["edge_sets"]
    token = {"anchors": {"a": "https://mine:secret@example.org/x"}}
    with pytest.raises(UserError, match=r"anchors\.a: .* password or a token"):
        load_config(merge(USER, token), ROOT)


def test_the_command_line_gives_mappings_and_lists_as_a_file_does():
    given = [
        "bases={base: {seeds: 2, parent: null}}",
        "bases={base: {layers: 4}}",
        "snapshots=[0, 50]",
        "scale=small",
        "world=",
    ]
    assert on_command_line(given) == {
        "bases": {"base": {"seeds": 2, "parent": None, "layers": 4}},
        "snapshots": [0, 50],
    }
    with pytest.raises(UserError, match=r"--config bases, line 1: the key 'base' stands twice"):
        on_command_line(["bases={base: {seeds: 2}, base: {seeds: 3}}"])
    with pytest.raises(UserError, match=r"--config bases, line 2 .*: this is not YAML"):
        on_command_line(["bases={base: {seeds: 2}"])


def test_mappings_may_be_merged_into_another(tmp_path):
    (tmp_path / "more.yaml").write_text("a: &x {b: 1}\nc: &y {d: 1}\ne: {<<: *x, <<: *y, b: 2}\n")
    assert read_yaml(tmp_path / "more.yaml")["e"] == {"b": 2, "d": 1}


def test_a_new_metric_may_have_its_own_inputs():
    config = load_config(merge(USER, {"analyses": {"new": {"stimuli": ["wiki"]}}}), ROOT)
    assert config["analyses"]["new"] == {"stimuli": ["wiki"]}


def test_a_local_checkpoint_replaces_pretraining():
    mine = {"checkpoints": [{"path": "/x"}], "layers": 12, "heads": 12, "vocabulary": "bert-base-uncased"}
    base = load_config({**USER, "bases": {"base": mine}}, ROOT)["bases"]["base"]
    assert "pretrain" not in base and base["checkpoints"] == [{"path": "/x"}]


def test_the_small_berts_that_do_not_say_their_case_are_told_it():
    for scale in ("small", "paper"):
        for base in load_config({**USER, "scale": scale}, ROOT)["bases"].values():
            for entry in base["checkpoints"]:
                assert entry.get("lowercase") == (True if "bert_uncased_L-" in entry["hub"] else None)


def test_sizes_of_the_world_are_those_that_it_generates():
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    assert set(schema["properties"]["world"]["properties"]["sizes"]["properties"]) == set(SIZES)


def test_what_is_said_of_real_data_without_a_network_asks_for_nothing_else():
    readme = (ROOT / "README.md").read_text()
    text = dedent(re.search(r"\n((    .*\n)+)", readme.partition("## Real data")[2])[1])
    commented = re.search(r"\n((# (data|bases| ).*\n)+)", (ROOT / "config/experiments.yaml").read_text())[1]
    assert "scale: small\n" + re.sub("^# ", "", commented, flags=re.MULTILINE) == text
    rate = load_config(USER, ROOT)["training"]["learning_rate_scale"]
    assert f"{rate} if the demo pretrained it" in text
    recipe = yaml.safe_load(text)
    config = load_config({**USER, **recipe}, ROOT)
    sources = [source for base in config["bases"].values() for source in base["checkpoints"]]
    assert sources == [{"path": "/path/to/bert", "label": "my BERT"}] * 5
    assert not any(edge_set.startswith("world") for edge_set in config["edge_tasks"].values())


def test_order_of_keys_does_not_change_a_setting_but_a_swap_of_values_does():
    assert canonical({"a": 1, "b": {"c": 2, "d": 3}}) == canonical({"b": {"d": 3, "c": 2}, "a": 1})
    assert canonical({"learning_rate": 1, "seed": 2}) != canonical({"learning_rate": 2, "seed": 1})


def test_a_task_overrides_its_scale_and_a_checkpoint_its_task():
    config = load_config(
        merge(USER, {"training": {"warmup": 0.5, "learning_rate_scale": 2, "batch_size_scale": 1}}), ROOT
    )

    def training(name):
        return task_settings(parse_model(name, config), config)["training"]

    assert training("mnli")["learning_rate"] == pytest.approx(4e-5)
    assert (training("mnli@large")["batch_size"], training("mnli@large")["warmup"]) == (64, 0.1)
    assert training("mnli")["warmup"] == 0.5
    assert training("mnli.bertadam")["optimizer"] == "bertadam"
    config["training"]["lora"] = {"learning_rate": 1e-3, "alpha": 32, "dropout": 0.1}
    for name in ("mnli.lora8", "mnli.lora8.bertadam", "mnli.lora8@large"):
        assert training(name)["learning_rate"] == pytest.approx(2e-3)
        assert (training(name)["lora_alpha"], training(name)["lora_dropout"]) == (32, 0.1)
    assert "lora_alpha" not in training("mnli") and training("mnli.lora8@large")["batch_size"] == 64
    config["training"]["per_variant"] = {"random": {"max_train": 7, "epochs": 1}}
    random = task_settings(parse_model("mnli.random", config), config)
    assert (random["task"]["max_train"], random["training"]["epochs"]) == (7, 1)
    other = task_settings(parse_model("mnli.keep2", config), config)
    assert other["task"]["max_train"] == config["tasks"]["mnli"]["max_train"] != 7
    config["tasks"]["mnli"]["warmup"] = 0.0
    assert training("mnli")["warmup"] == 0.0


@pytest.mark.parametrize("key", ["beta2", "max_grad_norm", "epsilon", "warmup", "weight_decay"])
def test_training_keys_may_be_a_tasks_or_a_checkpoints_own(key):
    more = {"training": {key: 0.4}, "tasks": {"rte": {key: 0.5, "per_base": {"large": {key: 0.6}}}}}
    config = load_config(merge(USER, more), ROOT)
    models = [parse_model(name, config) for name in ("qqp", "rte", "rte@large")]
    assert [task_settings(model, config)["training"][key] for model in models] == [0.4, 0.5, 0.6]


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


@pytest.mark.parametrize("where", [{}, {"per_base": {"large": {"max_train": None, "max_dev": None}}}])
def test_null_means_all_examples_whatever_the_scale_takes(where):
    own = where or {"max_train": None, "max_dev": None}
    scale = {"training": {"max_train": 100, "max_dev": 10}}
    config = load_config(merge(USER, {**scale, "tasks": {"qnli": own}}), ROOT)
    tasks = {
        name: task_settings(parse_model(name, config), config)["task"] for name in ("qnli@large", "rte@cased")
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
