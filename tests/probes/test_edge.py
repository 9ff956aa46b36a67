from dataclasses import replace

import numpy as np
import pytest
import torch
from probes.edge_world import make, random_sentences, record
from transformers import BertConfig, BertModel

from bertshift.files import write_json
from bertshift.models.loading import save_weights
from bertshift.probes import edge
from bertshift.probes.edge import COLUMNS, probe, word_vectors
from bertshift.probes.scores import counts_key, f1, sentences_key
from bertshift.probes.settings import ProbeSettings
from bertshift.rows.blocks import WITHOUT, block_of

SETTINGS = ProbeSettings(
    width=32,
    learning_rate=0.01,
    max_steps=240,
    validate_every=60,
    probe_seeds=1,
    input_dropout=0,
    hidden_dropout=0.1,
)


def value(table, variant="mix", view="micro_all", column="value"):
    return table[(table.variant == variant) & (table["view"] == view)][column].mean()


def test_learns_64_sentences_of_random_labels_by_heart(tmp_path):
    """Two targets of every sentence have labels that nothing but memory can tell."""
    rng = np.random.default_rng(0)
    sentences = random_sentences(64)
    records = [
        record(w, *(("abcd"[rng.integers(4)], (start, start + 2)) for start in (0, 2))) for w in sentences
    ]
    made = make(tmp_path, sentences)
    folder = made.edges("pos", 1, dict.fromkeys(("train", "dev", "test"), records))
    settings = replace(SETTINGS, width=64, max_steps=600, hidden_dropout=0)
    table, _ = probe("base", {(1, 0): made.source}, {"pos": folder}, made.sentences, settings, made.kept)
    assert value(table) > 0.99 and value(table, "top") > 0.99
    assert list(table.columns) == [*COLUMNS, *WITHOUT] and len(table) == 2 * 3
    assert set(table["n"]) == {128} and set(table["train"]) == {64} and set(table["dropped"]) == {0}


def test_selectivity_is_0_for_labels_by_word_and_negative_for_noise(tmp_path):
    """Words tell a control task's labels, and those of a task that is as good as one; of noise nothing does."""
    rng = np.random.default_rng(0)
    sentences = random_sentences(160, types=30)
    label = {f"w{number}": "abcd"[rng.integers(4)] for number in range(30)}
    made, edges = make(tmp_path, sentences, noise=0.1), {}
    for task, draw in (("pos", label.get), ("entities", lambda _: "abcd"[rng.integers(4)])):
        records = [record(w, *((draw(word), (i, i + 1)) for i, word in enumerate(w))) for w in sentences]
        splits = {"train": records[:110], "dev": records[110:120], "test": records[120:]}
        edges[task] = made.edges(task, 1, splits)
    table, counts = probe("base", {(2, 1): made.source}, edges, made.sentences, SETTINGS, made.kept)
    by_word, noise = table[table.task == "pos"], table[table.task == "entities"]
    assert value(by_word) > 0.95 and abs(value(by_word, column="selectivity")) < 0.05
    assert value(noise, column="control") > 0.95 and value(noise, column="selectivity") < -0.5
    for row in table.to_dict("records"):
        counted = counts[counts_key(row["task"], row["variant"], row["view"], 2, 1)]
        assert counted.shape == (1, 40, 3)
        assert f1(counted[0].sum(axis=0)) == pytest.approx(row["value"])
        assert row["without3"] == pytest.approx(f1(counted[0][block_of(40) != 2].sum(axis=0)))
        assert row["selectivity"] == pytest.approx(row["value"] - row["control"])
    assert counts[sentences_key("pos")].tolist() == [f"s{number}" for number in range(120, 160)]


def test_several_replicates_tasks_variants_and_labels(tmp_path, capsys, monkeypatch):
    sentences = random_sentences(30)
    made = make(tmp_path, sentences, dtype="float16")
    some = [record(w, (["x", "y"] if i % 2 else [], (0, 1), (1, 3))) for i, w in enumerate(sentences)]
    few = [record(w, ("new" if i == 25 else "old", (0, 2))) for i, w in enumerate(sentences)]
    splits = [{"train": r[:15], "dev": r[15:20], "test": r[20:]} for r in (some, few)]
    edges = {
        "spr": made.edges("spr", 2, splits[0], multilabel=True),
        "entities": made.edges("entities", 1, splits[1]),
    }
    sources = {(1, 1): made.source, (1, 2): made.source}
    vectors = np.random.default_rng(0).normal(size=(50, 12)).astype(np.float32)
    monkeypatch.setattr(edge, "word_vectors", lambda folder: vectors)
    short = ProbeSettings(width=4, max_steps=2, probe_seeds=2, max_train=10)
    table, counts = probe(
        "base", sources, edges, made.sentences, short, made.kept, ("mix", "top", "lexical", "word_only")
    )
    assert len(table) == 2 * 4 * 2 * (2 + 3)  # replicates, variants, seeds; views of both tasks
    assert set(table[table.task == "spr"]["view"]) == {"micro_all", "clean"}
    assert (table["train"] == 10).all() and (table["n"] == 10).all()
    first, second = (table[table.seed == seed].drop(columns="seed").reset_index(drop=True) for seed in (1, 2))
    assert first.equals(second)
    assert counts[counts_key("spr", "word_only", "clean", 1, 2)].shape == (2, 10, 3)
    assert (
        "entities: 1 of 10 test targets have a label that no training target has" in capsys.readouterr().err
    )


def test_each_seed_has_the_probe_of_its_pretrained_model_that_has_its_number(tmp_path):
    sentences = random_sentences(30)
    made = make(tmp_path, sentences)
    some = [record(w, ("ab"[i % 2], (0, 1))) for i, w in enumerate(sentences)]
    edges = {"pos": made.edges("pos", 1, {"train": some[:15], "dev": some[15:20], "test": some[20:]})}
    tuned = replace(SETTINGS, width=8, max_steps=20, parent_seeds=3)
    pretrained = replace(tuned, pretrained=True)

    def trained(settings, *seeds):
        sources = {(1, seed): made.source for seed in seeds}
        return probe("made", sources, edges, made.sentences, settings, made.kept)

    table, of_seeds = trained(tuned, 1, 2, 4)
    assert table.groupby("seed")["probe_seed"].unique().map(list).to_dict() == {1: [1], 2: [2], 4: [1]}
    table, of_base = trained(pretrained, 0)
    assert sorted(table["probe_seed"].unique()) == [1, 2, 3]
    every = of_base[counts_key("pos", "mix", "micro_all", 1, 0)]
    assert (every[0] != every[1]).any()
    for seed in (1, 2):
        own = of_seeds[counts_key("pos", "mix", "micro_all", 1, seed)]
        np.testing.assert_array_equal(own, every[[seed - 1]])


def test_word_vectors_are_embeddings_without_position_and_segment(tmp_path):
    config = BertConfig(
        vocab_size=9,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        layer_norm_eps=0.1,
    )
    model = BertModel(config).eval()
    write_json(tmp_path / "config.json", config.to_dict())
    save_weights(tmp_path / "model.safetensors", model.state_dict())
    for other in (model.embeddings.position_embeddings, model.embeddings.token_type_embeddings):
        other.weight.data.zero_()
    expected = model.embeddings(torch.arange(9)[None])[0].detach()
    np.testing.assert_allclose(word_vectors(tmp_path), expected, atol=1e-6)
