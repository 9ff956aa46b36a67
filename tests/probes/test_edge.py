import numpy as np
import pytest
import torch
from made_tables import WITHOUT, in_columns
from made_toys import TOKENIZER, bert_with
from probes.edge_world import make, random_sentences, record

from bertshift.models.loading import save_model
from bertshift.probes import edge
from bertshift.probes.edge import COLUMNS, probe, variant_layers, word_vectors
from bertshift.probes.scores import counts_key, f1, sentences_key
from bertshift.probes.settings import ProbeSettings
from bertshift.rows.blocks import block_of

SETTINGS = ProbeSettings(width=32, learning_rate=0.01, max_steps=160, validate_every=40,
                         probe_seeds=1, input_dropout=0,
                         hidden_dropout=0.1)  # fmt: skip


def split(records, dev, test):
    return {"train": records[:dev], "dev": records[dev:test], "test": records[test:]}


def test_selectivity_is_0_for_labels_by_word_and_negative_for_noise(tmp_path):
    """The labels of a control task, and of a task that is like one, follow from the words; those
    of noise from nothing."""
    rng = np.random.default_rng(0)
    sentences = random_sentences(120, types=20)
    label = {f"w{number}": "abcd"[rng.integers(4)] for number in range(20)}
    world, edges = make(tmp_path, sentences, noise=0.1), {}
    for task, draw in (("pos", label.get), ("entities", lambda _: "abcd"[rng.integers(4)])):
        records = [
            record(w, *((draw(word), (i, i + 1)) for i, word in enumerate(w))) for w in sentences
        ]
        edges[task] = world.edges(task, 1, split(records, 70, 80))
    sources = {(2, 1): world.source}
    table, counts = probe("base", sources, edges, world.sentences, SETTINGS, world.parts)
    table = in_columns(table)
    assert list(table) == [*COLUMNS, *WITHOUT]
    assert set(table["train"]) == {70} and set(table["dropped"]) == {0}
    scores = table[table["view"] == "micro_all"].set_index(["task", "variant"])
    selectivity = scores["selectivity"]
    assert scores["value"]["pos"].min() > 0.95 and scores["control"]["entities", "mix"] > 0.95
    assert abs(selectivity["pos", "mix"]) < 0.05 and selectivity["entities", "mix"] < -0.5
    for row in table.to_dict("records"):
        [counted] = counts[counts_key(row["task"], row["variant"], row["view"], 2, 1)]
        assert f1(counted.sum(axis=0)) == pytest.approx(row["value"])
        assert row["without3"] == pytest.approx(f1(counted[block_of(40) != 2].sum(axis=0)))
        assert row["selectivity"] == pytest.approx(row["value"] - row["control"])
    assert counts[sentences_key("pos")].tolist() == [f"s{number}" for number in range(80, 120)]


def test_several_replicates_tasks_variants_and_labels(tmp_path, capsys, monkeypatch):
    sentences = random_sentences(30)
    world = make(tmp_path, sentences, dtype="float16")
    several = [
        record(w, (["x", "y"] if i % 2 else [], (0, 1), (1, 3))) for i, w in enumerate(sentences)
    ]
    few = [record(w, ("new" if i == 25 else "old", (0, 2))) for i, w in enumerate(sentences)]
    edges = {
        "spr": world.edges("spr", 2, split(several, 15, 20), multilabel=True),
        "entities": world.edges("entities", 1, split(few, 15, 20)),
    }
    sources = dict.fromkeys([(1, 1), (1, 2)], world.source)
    vectors = np.random.default_rng(0).normal(size=(50, 12)).astype(np.float32)
    monkeypatch.setattr(edge, "word_vectors", lambda folder: vectors)
    short = ProbeSettings(width=4, max_steps=2, probe_seeds=2, parent_seeds=3, max_train=10)
    variants = ("mix", "top", "lexical", "word_only")
    table, counts = probe("base", sources, edges, world.sentences, short, world.parts, variants)
    table = table.rows
    assert len(table) == 2 * 4 * 2 * (2 + 3)  # replicates, variants, seeds; views of both tasks
    assert set(table[table.task == "spr"]["view"]) == {"micro_all", "clean"}
    assert (table[["train", "n"]] == 10).all(axis=None)
    # The second probe of each, which are the same, as their states are.
    assert table.groupby("seed")["probe_seed"].unique().map(list).to_dict() == {
        1: [1, 2],
        2: [2, 3],
    }
    first, second = (table[(table.seed == seed) & (table.probe_seed == 2)] for seed in (1, 2))
    scores = ["task", "variant", "view", "value", "control"]
    assert np.array_equal(first[scores], second[scores])
    assert counts[counts_key("spr", "word_only", "clean", 1, 2)].shape == (2, 10, 3)
    warning = "entities: 1 of 10 test targets have a label that no training target has"
    assert warning in capsys.readouterr().err


def test_the_mix_is_of_all_layers_and_the_top_is_the_last():
    layers = {variant: variant_layers(variant, 12) for variant in ("mix", "top", "lexical")}
    assert layers == {"mix": tuple(range(13)), "top": (12,), "lexical": (0,)}


def test_word_vectors_are_embeddings_without_position_and_segment(tmp_path):
    model = bert_with(TOKENIZER, layer_norm_eps=0.1)
    save_model(tmp_path, model, TOKENIZER)
    model.embeddings.position_embeddings.weight.data.zero_()
    model.embeddings.token_type_embeddings.weight.data.zero_()
    expected = model.embeddings(torch.arange(len(TOKENIZER))[:, None])[:, 0].detach()
    np.testing.assert_allclose(word_vectors(tmp_path), expected, atol=1e-6)
