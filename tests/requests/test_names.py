"""Names that cannot be served, and the runs, inputs and settings that rules ask for."""

import errno
import json

import numpy as np
import pytest
import yaml
from conftest import ROOT
from safetensors.numpy import save_file

from bertshift.config import load_config, merge
from bertshift.data import sources
from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.papers import catalogue
from bertshift.probes.settings import ProbeSettings
from bertshift.replicates import runs_of
from bertshift.requests import (
    ablation,
    activations,
    edits,
    figures,
    finetuning,
    forgetting,
    grounding,
    patterns,
    pretraining,
    probing,
    relations,
    runs,
    sweeps,
)
from bertshift.running import own_files


def configured(**changes):
    user = yaml.safe_load((ROOT / "config/experiments.yaml").read_text())
    return load_config(merge(user, changes), ROOT)


@pytest.fixture(scope="module")
def config():
    return configured(noise={"draws": 3})


def test_a_chain_has_the_seeds_of_all_its_tasks():
    more = configured(tasks={"rte": {"seeds": 5}})
    runs = runs_of(parse_model("wnli+rte@cased", more), more)
    assert max(one.seed for one in runs) == 2
    assert max(one.seed for one in runs_of(parse_model("rte@cased", more), more)) == 5


def test_a_second_stage_on_the_same_task_draws_another_head(config):
    once, twice, other = (
        finetuning.finetune_seed(parse_model(name, config), 1, 1)
        for name in ("rte", "rte+rte", "wnli+rte")
    )
    assert once == other != twice


def run(name, init, seed):
    return {"model": name, "init": str(init), "seed": str(seed)}


@pytest.mark.parametrize(
    ("request_", "asked", "sentence"),
    [
        (runs.scored, {"model": "base"}, "is not fine-tuned"),
        (finetuning.frozen, {"model": "base"}, "'base' is not fine-tuned to classify"),
        (finetuning.frozen, {"model": "rte.keep2"}, "without variants; write 'rte'"),
        (finetuning.trained_run, run("rte.random", 2, 1), "no replicate init2_seed1"),
        (finetuning.gaining, {"model": "rte", "reference": "mrpc"}, "only two models of one task"),
        (finetuning.gaining, {"model": "upos", "reference": "upos"}, "one task that classifies, rates or answers"),
        (finetuning.stepping, {"model": "rte.lora8"}, "only the adapters .* ask for results/spectra/rte.lora8_vs_base.tsv"),
        (finetuning.trained_run, run("rte.lora129", 1, 1), r"'\.lora129' is out of range for 'base', .* from 1 to 128"),
        (sweeps.row, run("cola.at10@cased", 1, 1) | {"sweep": "freeze"}, "is a snapshot, .* write 'cola@cased'"),
        (activations.after_and_before, {"model": "base"}, "examples/base.json: 'base' is not fine-tuned, .* name a task's model"),
        (activations.after_and_before, {"model": "rte.reinit3"}, "weights drawn anew"),
        (activations.after_and_before, {"model": "rte.keep0"}, "'rte.keep0' has no layer"),
        (ablation.restored, {"model": "rte.keep0"}, "restored/rte.keep0.tsv: 'rte.keep0' has no layer"),
        (patterns.sorted_runs, {"model": "rte.keep0"}, "'rte.keep0' has no layer"),
        (relations.finding, {"model": "rte.keep0"}, "'rte.keep0' has no layer"),
        (forgetting.with_checkpoints, {"model": "base"}, "nothing that it can have forgotten; name a task's model"),
        (forgetting.with_checkpoints, {"model": "rte.random"}, "'rte.random' was not fine-tuned from a checkpoint"),
        (runs.scored, {"model": "rte.noise"}, "no head, no score and no training; write 'rte'"),
        (finetuning.stepping, {"model": "rte.noise"}, "write 'rte'"),
        (sweeps.rows, {"model": "cola.noise@cased"}, "write 'cola@cased'"),
        (finetuning.gaining, {"model": "rte", "reference": "rte.noise"}, "write 'rte'"),
        (finetuning.trained_run, run("rte.at10.noise", 1, 1), "write 'rte.at10'"),
        (sweeps.row, run("cola.noise@cased", 1, 1) | {"sweep": "freeze"}, "write 'cola@cased'"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_served_gets_a_sentence(config, request_, asked, sentence):
    with pytest.raises(UserError, match=sentence):
        request_(config, **asked)


@pytest.mark.parametrize(
    ("request_", "asked", "changes", "sentence"),
    [
        (probing.edge_files, {"task": "pos"}, {"edge_tasks": {"pos": "gum_pos", "coref": "gum_coref"}},
         "edge_tasks.pos, coref: the generated world has no gum_pos, gum_coref; write world_pos, world_coref, or set"),
        (probing.edge_files, {"task": "pos"}, {"scale": "small", "edge_tasks": {"pos": "world_pos"}},
         "edge_tasks.pos: only the generated world has world_pos"),
        (sweeps.row, run("mnli", 1, 2) | {"sweep": "freeze"}, {"tasks": {"mnli": {"seeds": 2}}, "sweeps": {"seeds": 1}},
         "'mnli.freeze' has no replicate init1_seed2; raise sweeps.seeds"),
        (activations.after_and_before, {"model": "rte"}, {"samples": {"examples": 0}}, "samples.examples is 0; write how many"),
        (relations.file, {}, {"relations": {"source": "/nowhere"}}, "relations.source: /nowhere does not exist"),
        (pretraining.corpus_of_vocabulary, {"vocabulary": "demo-cased"}, {"vocabularies": {"demo-cased": {"special": "gpt2"}}},
         "vocabularies.demo-cased.special: .*; write kind: byte_bpe"),
        (pretraining.vocabulary, {"base": "base"}, {"bases": {"base": {"pretrain": {"vocabulary": "demo-gpt2"}}}},
         "bases.base.pretrain.vocabulary: 'demo-gpt2' does not fit family bert; name a vocabulary of kind wordpiece"),
        (pretraining.vocabulary, {"base": "roberta"}, {"bases": {"roberta": {"pretrain": {"vocabulary": "demo-gpt2"}}}},
         "does not fit family roberta; .* special: roberta"),
        (pretraining.vocabulary, {"base": "base"}, {"bases": {"base": {"pretrain": {"family": "mpnet"}}}},
         "does not fit family mpnet; name a vocabulary of kind byte_bpe"),
    ],
)  # fmt: skip
def test_data_that_are_not_there_get_a_sentence(request_, asked, changes, sentence):
    with pytest.raises(UserError, match=sentence):
        request_(configured(**changes), **asked)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            {"source": "world"},
            "the generated world has no 'mytask'; set data.source to mirror or hub",
        ),
        (
            {"source": "mirror", "mirror": "there"},
            r"there has none of my/train.tsv \(train split of 'mytask'\); none of my/dev.tsv .*; put the file there\.$",
        ),
        (
            {"source": "mirror", "mirror": "there"},
            r"'mytask' has no 'mirror'; write which files below data.mirror hold its splits\.$",
        ),
        (
            {"source": "mirror", "mirror": "nowhere"},
            "data.mirror: /.*/nowhere is not a folder; write the one",
        ),
        ({"source": "hub"}, "'mytask' has no 'hub'; write where on the hub it is"),
    ],
)
def test_a_data_set_of_ones_own_is_not_asked_of_the_world(source, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    files = (
        {}
        if "no 'mirror'" in sentence
        else {"mirror": {"train": "my/train.tsv", "dev": "my/dev.tsv"}}
    )
    columns, labels = {"text_a": "text", "label": "label"}, {"0": "bad", "1": "good"}
    entry = {
        "kind": "sentence",
        "format": "glue_tsv",
        "columns": columns,
        "labels": labels,
        **files,
    }
    config = configured(data=source, datasets={"mytask": entry})
    with pytest.raises(UserError, match=sentence):
        sources.mirror_files(config, dataset="mytask")
    if source["source"] == "world":
        made = sources.mirror_files(config, dataset="rte")
        assert "results/world/glue/RTE/dev.tsv" in made and not any(
            "/my/" in file for file in made
        )


def own_base(*folders, **more):
    shape = {"layers": 2, "heads": 4, "vocabulary": "own", "seeds": 1}
    return shape | {"checkpoints": [{"path": str(folder)} | more for folder in folders]}


def test_checkpoints_of_one_folder_name_are_told_apart():
    bases = {
        "base": own_base("/a/one/bert", "/b/one/bert"),
        "cased": own_base("/a/one/bert", "/c/electra"),
        "large": own_base("/b/one/bert", label="mine"),
    }
    config = configured(bases=bases, grounded=[])
    labels = {
        name: [
            one["label"]
            for one in runs.checkpoints(
                config, runs_of(parse_model(name, config), config)
            ).values()
        ]
        for name in bases
    }
    assert labels == {
        "base": ["local a/one/bert", "local b/one/bert"],
        "cased": ["local a/one/bert", None],
        "large": ["mine"],
    }


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("[]", "config.json holds no JSON object"),
        ({"num_attention_heads": 3}, "config.json: hidden_size 32 cannot be divided among num_attention_heads 3"),
        ({"num_attention_heads": 0}, "config.json: num_attention_heads is 0"),
        ({"hidden_size": "32"}, "config.json: hidden_size is '32'"),
        ({"num_hidden_layers": 3}, "mine has 3 layers of 4 heads, the configuration says 2 of 4; write layers: 3"),
        (None, "config.json is missing"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_cannot_be_read_is_told_before_any_job(tmp_path, said, sentence):
    folder = tmp_path / "mine"
    folder.mkdir()
    good = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    if said:
        text = said if isinstance(said, str) else json.dumps(good | said)
        (folder / "config.json").write_text(text)
    (folder / "model.safetensors").touch()
    with pytest.raises(UserError, match=sentence):
        pretraining.contents_of_checkpoint(
            configured(bases={"base": own_base(folder)}), base="base", init="1"
        )


def test_weights_are_looked_for_before_any_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    config = configured(bases={"base": own_base(tmp_path)})
    asked = {"base": "base", "init": "1"}
    with pytest.raises(UserError, match="model.safetensors is missing"):
        pretraining.contents_of_checkpoint(config, **asked)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "../part.safetensors"}}')
    with pytest.raises(
        UserError, match="names ../part.safetensors, which is outside of its folder"
    ):
        pretraining.contents_of_checkpoint(config, **asked)
    index.unlink()
    (tmp_path / "model.safetensors").touch()
    assert "model.safetensors" in str(pretraining.contents_of_checkpoint(config, **asked))

    def forbidden(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(own_files, "sha256", forbidden)
    (tmp_path / "model.safetensors").write_text("other")
    with pytest.raises(UserError, match="model.safetensors cannot be read .Permission denied."):
        pretraining.contents_of_checkpoint(config, **asked)


def test_forgetting_is_told_by_the_head_of_the_checkpoint_that_a_chain_began_with(
    config, tmp_path
):
    (run, checkpoint), *_ = forgetting.with_checkpoints(config, model="mrpc+rte")
    assert run.folder == "results/models/mrpc+rte/init1_seed1"
    assert checkpoint.folder == "results/pretrained/base/init1"
    assert forgetting.file_of_corpus(config, model="rte") == config["corpora"]["world"]
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text('{"model_type": "bert"}')
    weights = {
        "embeddings.word_embeddings.weight": np.zeros((2, 2)),
        "pooler.dense.bias": np.zeros(2),
    }
    save_file(weights, bare / "model.safetensors")
    own = configured(bases={"base": own_base(bare)})
    with pytest.raises(
        UserError, match="bare has no head for words, so nothing tells what .*; name a checkpoint"
    ):
        forgetting.with_checkpoints(own, model="rte")
    one, both = (
        {**own, "figures": {"beyond": {"forgetting": {"models": models}}}}
        for models in (["rte"], ["rte", "rte@cased"])
    )
    left, said = catalogue.drawable(one)
    assert left["figures"]["beyond"]["forgetting"] is None and said == [
        f"{bare} has no head for words, so the figure beyond/forgetting is left out."
    ]
    left, said = catalogue.drawable(both)
    assert left["figures"]["beyond"]["forgetting"] == {"models": ["rte@cased"]} and said[
        0
    ].endswith("drawn without rte.")
    save_file(weights | {"cls.predictions.bias": np.zeros(2)}, bare / "model.safetensors")
    assert catalogue.drawable(both) == (both, [])
    assert not forgetting.file_of_corpus(own, model="rte")


def test_each_draw_of_noise_has_a_seed_of_its_own(config):
    seeds = [
        pretraining.seed_of_noise(config, runs.run_named(config, **run(name, 1, seed)))
        for name in ("mrpc+rte.freeze2.noise@cased", "mrpc+rte.noise@cased")
        for seed in range(1, 7)
    ]
    assert len({*seeds}) == 12


def test_shuffled_labels_change_nothing_else_of_a_training(config):
    plain, shuffled = (
        finetuning.settings_of_run(finetuning.trained_run(config, **run(name, 1, 2)), config)
        for name in ("mrpc+rte.freeze2@cased", "mrpc+rte.freeze2.shuffled@cased")
    )
    assert shuffled == plain | {"variants": ["freeze2", "shuffled"]}


def test_examples_are_of_the_models_of_figures_that_show_heads():
    shown = {
        "kovaleva2019": {"figure5": {"models": ["rte", "base", "sst2"], "reference": "base"}, "figure3": {"models": ["base"]},
                         "figure8": {"models": ["sst2", "sst2.random", "sst2.keep1"]}},
        "merchant2020": {"figure2": {"models": ["mnli"], "reference": "base"}},
        "beyond": {"decoders": {"models": ["cola@gpt2"]}, "forgetting": {"models": ["squad"]}},
    }  # fmt: skip
    config = configured()
    config["figures"] = shown
    names = figures.figures_of(shown, config)
    assert figures.examples_of(config, names) == ["rte", "sst2", "sst2.keep1", "cola@gpt2"]
    assert figures.examples_of(config, figures.figures_of(["beyond"], config)) == ["cola@gpt2"]
    config["samples"]["examples"] = 0
    assert not figures.examples_of(config, names)


def test_the_page_reads_the_tables_that_it_has_a_line_for(config):
    folders = {table.split("/")[1] for table in figures.tables_of_page(config)}
    assert {"rsa", "scores"} <= folders and not folders & {"ablation", "attention_to", "sweeps"}


def test_a_row_takes_the_plain_model_from_its_fine_tuning_where_that_is_the_same(config):
    same = configured(
        tasks={"rte": {"max_train": 90, "max_dev": 80}},
        sweeps={"max_dev": 80, "tasks": {"rte": {"max_train": 90}}},
    )
    row = sweeps.row(same, **run("rte", 1, 1), sweep="freeze")
    assert sweeps.folders_of_plain(same, row) == {"rte": "results/models/rte/init1_seed1"}
    trained = sweeps.settings_of_runs(same, row)
    assert "rte" not in trained and "rte.freeze0" in trained
    other = sweeps.row(config, **run("rte", 1, 1), sweep="freeze")
    assert not other.plain and "rte" in sweeps.settings_of_runs(config, other)


def test_runs_of_a_task_are_grounded_together():
    listed = ["rte+mrpc@cased", "mrpc.freeze1@cased", "rte@cased", "mrpc"]
    config = configured(grounded=listed, bases={"cased": {"seeds": 1}})
    grounded = grounding.runs_of_group(config, "mrpc@cased")
    assert [str(run.model) for run in grounded] == ["mrpc@cased", *listed[:2]]
    for name, sentence in (
        ("mrpc.freeze1@cased", "write 'mrpc@cased', and list 'mrpc.freeze1@cased' under 'grounded'"),
        ("rte@cased", "needs 3 runs of one pretraining run, and rte@cased has 1; list more models of rte under"),
        ("squad", "'squad' is not fine-tuned to classify or to rate"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence):
            grounding.runs_of_group(config, name)


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (
            "hao2020/figure1",
            r"figures\.hao2020\.figure1 is null; write there which models it shows",
        ),
        (
            "hao2020/figure2",
            r"figures\.hao2020\.figure2 is missing; write there which models it shows",
        ),
    ],
)
def test_a_figure_that_is_not_drawn_is_told_what_to_write(figure, told):
    with pytest.raises(UserError, match=told):
        figures.tables_of_figure({"figures": {"hao2020": {"figure1": None}}}, *figure.split("/"))


def test_a_mirror_may_hold_framenet_where_its_download_lies(tmp_path):
    config = configured(scale="small", data={"source": "mirror", "mirror": str(tmp_path)})
    file = tmp_path / config["relations"]["download"]["url"].partition("://")[2]
    file.parent.mkdir(parents=True)
    file.touch()
    assert relations.file(config) == str(file)


def test_a_pretrained_model_has_three_probes_and_one_for_each_seed():
    def probe_settings(model, **more):
        return ProbeSettings(**probing.probe(configured(**more), model, kind="edge"))

    assert probe_settings("base").seeds_of(0) == [1, 2, 3]
    assert probe_settings("base", tasks={"rte": {"seeds": 5}}).seeds_of(0) == [1, 2, 3, 4, 5]
    one = {"probes": {"edge": {"probe_seeds": 1}}}
    tuned = probe_settings("rte", **one)
    assert [tuned.seeds_of(seed) for seed in (1, 2, 3, 4)] == [[1], [2], [3], [1]]
    assert probe_settings("base.random", **one).seeds_of(0) == [1]


def test_an_edit_stands_on_noise_of_the_first_run_from_the_same_checkpoint():
    on_noise = {"kind": "feed_forward", "layer": 2, "size": 0.3, "background": "mnli"}
    config = configured(edits={"onnoise": on_noise}, bases={"base": {"seeds": 2}})
    run = runs.run_named(config, "base.edit_onnoise", "2")
    [background] = edits.background(config, run)
    assert background.folder == "results/models/mnli/init2_seed1"
    assert edits.background(config, runs.run_named(config, "base.edit_ff2", "2")) == []


def test_changes_are_planted_in_checkpoints_on_noise_of_a_tasks_first_run():
    config = configured(bases={"base": {"seeds": 2}})
    assert edits.starts(config, "base")[1] == {
        "init": 2,
        "start": "results/pretrained/base/init2",
        "changed": "results/models/mnli/init2_seed1",
    }
    assert edits.planted(config, "large")["layers"] == 6
    with pytest.raises(UserError, match=r"results/planted/mnli.tsv: .* write 'base'"):
        edits.backgrounds(config, "mnli")
    without = config | {"planted": {}}
    with pytest.raises(UserError, match=r"planted\.stimuli is missing"):
        edits.stimuli(without, "base")
