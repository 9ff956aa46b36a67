"""A small slice of docs/real: a real encoder, fine-tuned on real data in the publishers'
layouts."""

import plain_measures
import pytest
import yaml
from conftest import ROOT

from bertshift.config import merge
from bertshift.files import read_json, read_tsv

pytestmark = pytest.mark.slow("real input")

HEADS = (6, 8, 10)  # figures of one sweep
# Measured once more by an independent version.
MEASURES = ("cosine", "js", "rsa", "svcca", "similarity")

SLICE = {
    # Not every CPU is fast in bfloat16.
    "training": {"max_train": 48, "max_dev": 40, "norms_every": 1, "precision": "float32"},
    "tasks": {
        "rte": {"epochs": 1, "max_length": 64},
        "mrpc": {"epochs": 1},
        "squad": {"max_train": 10, "max_dev": 5},
        "dep": {"max_train": 48, "max_dev": 20, "epochs": 1},
        "stsb": {"max_length": 32, "per_base": {"cased": {"epochs": 1}}},
    },
    # The heads of the last layer alone, eight rows a run.
    "bases": {"base": {"seeds": 2}, "cased": {"seeds": 1}},
    "sweeps": {
        "max_train": 8,
        "max_dev": 16,
        "head_layers": [-1],
        "baseline_seeds": 2,
        "tasks": {"rte": {"max_train": 8}, "stsb": {"max_train": 8}},
    },
    "probes": {
        "edge": {
            "max_train": 150,
            "max_dev": 50,
            "max_test": 100,
            "max_steps": 150,
            "validate_every": 50,
            "width": 64,
        },
        "structural": {"max_train": 300, "epochs": 3, "rank": 32},
    },
    "samples": {
        "task": 24,
        "combined": 12,
        "text": 40,
        "tokens": 400,
        "svcca_tokens": 1000,
        "max_length": 64,
    },
    "figures": {
        "kovaleva2019": {"figure5": {"models": ["rte", "mrpc"]}},
        "college2020": {f"figure{number}": {"models": ["stsb@cased"]} for number in HEADS},
        "hao2020": {item: {"models": ["rte"]} for item in ("figure1", "figure2")},
        "merchant2020": {item: {"models": ["rte"]} for item in ("figure2", "figure3", "figure5")},
    },
    "analyses": {"rsa": {"stimuli": ["wiki", "wiki_pair", "mnli"]}},
}

DRAWN = [
    "kovaleva2019/figure5",
    "hao2020/figure1",
    "hao2020/figure2",
    "merchant2020/figure2",
    "merchant2020/figure3",
    "merchant2020/figure5",
    *(f"college2020/figure{number}" for number in HEADS),
]


@pytest.fixture(scope="module")
def sliced(copy_project, mirror, encoder):
    project = copy_project()
    real = yaml.safe_load((ROOT / "docs/real/experiments.yaml").read_text())
    local = {
        "data": {"source": "mirror", "mirror": str(mirror)},
        "corpora": {"wikipedia": str(mirror / "wiki_raw/squad_paragraphs.txt")},
        "bases": {name: {"checkpoints": [{"path": str(encoder)}]} for name in ("base", "cased")},
    }
    project.config = merge(merge(merge(project.config, real), SLICE), local)
    figures = [f"results/figures/{name}.png" for name in DRAWN]
    tables = ["results/scores/rte.tsv", "results/scores/dep.tsv"]
    tables += [f"results/{measure}/rte_vs_base.tsv" for measure in MEASURES]
    probes = [f"results/{kind}/base.tsv" for kind in ("edge_probes", "structural_probes")]
    project.snakemake(*figures, *tables, *probes)
    return project.folder / "results"


def test_figures_come_from_real_data(sliced):
    for name in DRAWN:
        ours = read_tsv(sliced / f"figures/{name}.tsv").query("source == 'ours'")
        numbers = ours.loc[ours["series"] != "std", "value"]  # one layer has no spread
        assert len(numbers) and numbers.notna().all() and ours["data"].str.contains("mirror").all()


def test_change_grows_from_nothing_and_stays_in_range(sliced):
    js = read_tsv(sliced / "js/rte_vs_base.tsv").query("variant == 'nats' and head == 0")
    assert js["value"].between(0, 0.6932).all() and (js["value"] > 0).all()
    rsa = read_tsv(sliced / "rsa/rte_vs_base.tsv").query(
        "variant == 'content' and stimuli == 'wiki'"
    )
    by_layer = rsa.groupby("layer")["value"].mean()
    assert (
        list(by_layer.index) == list(range(7))
        and by_layer[0] > 0.999
        and by_layer.min() == by_layer[6]
    )


def test_a_model_with_one_layer_more_frozen_each_time_is_scored(sliced):
    table = read_tsv(sliced / "figures/merchant2020/figure3.tsv").query("source == 'ours'")
    assert set(range(-1, 6)) <= set(table["position"]) and set(table["replicates"]) == {2}
    assert table["data"].str.contains("rte train 8 of 2490").all()


def test_every_head_of_a_layer_is_drawn_anew_and_summed_up(sliced):
    tables = {
        n: read_tsv(sliced / f"figures/college2020/figure{n}.tsv").query("source == 'ours'")
        for n in HEADS
    }
    deltas = (
        tables[6].query("series == 'delta'").set_index(["layer", "head"])["value"].sort_index()
    )
    assert list(deltas.index) == [(6, head) for head in range(1, 13)] and deltas.nunique() > 1
    means = {
        n: table.query("series == 'mean'").sort_values("head")["value"]
        for n, table in tables.items()
    }
    assert means[8].tolist() == pytest.approx([deltas.mean()]) and means[
        10
    ].tolist() == pytest.approx(list(deltas))


def test_complete_data_are_counted_and_samples_are_called_samples(sliced):
    rte, mnli = (read_json(sliced / f"data/{name}/dataset.json") for name in ("rte", "mnli"))
    assert rte["rows"] == {"train": 2490, "dev": 277} and all(rte["complete"].values())
    assert not mnli["complete"]["train"]
    scores = read_tsv(sliced / "scores/rte.tsv")
    assert set(scores["seed"]) == {1, 2} and (scores["train"] == 48).all()
    assert scores["majority"].between(0.4, 0.6).all()


def test_probes_read_real_annotation(sliced):
    edges = read_tsv(sliced / "edge_probes/base.tsv").query("view == 'micro_all'")
    assert edges["task"].nunique() == 8 and edges["data"].str.contains("gum_pos").all()
    f1 = edges.groupby(["variant", "task"])["value"].mean()  # over probes
    # Even a few steps on 150 records find more in the layers' mix than in control labels.
    assert f1["mix", "dependencies"] > 0.1 and (f1[:, "coref"] > 0.5).all()
    trees = read_tsv(sliced / "structural_probes/base.tsv").query(
        "measure == 'spearman' and split == 'dev'"
    )
    assert (
        set(trees["layer"]) == set(range(7)) and trees.groupby("kind")["value"].max().gt(0.3).all()
    )


def test_the_treebank_is_parsed(sliced):
    scores = read_tsv(sliced / "scores/dep.tsv").set_index("metric")
    assert {
        "las_ud",
        "las_full",
        "las_nopunct",
        "uas",
        "label_accuracy_gold_heads",
        "las_wordpiece",
    } == set(scores.index)
    assert scores["value"].between(0, 1).all()


def test_measures_agree_with_a_version_apart_from_the_library(sliced):
    found = plain_measures.beside(sliced, "rte", SLICE["samples"])
    assert found.groupby("measure").size().to_dict() == {
        "cosine": 2 * 6 * 12, "js": 2 * 6 * 12, "rsa": 2 * 7, "svcca": 2 * 7, "cka": 2 * 7,
    }  # fmt: skip
    by = found["measure"]
    off = (found["ours"] - found["plain"]).abs().groupby(by).max()
    assert off.max() < 1e-6
    # So small a slice changes little: what differs between layers, heads and seeds is far above
    # `off`.
    assert (off < found["plain"].groupby(by).std() / 1000).all()
