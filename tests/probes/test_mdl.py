import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from probes.edge_world import make, random_sentences, record

from bertshift.probes import mdl
from bertshift.probes.bank import Progress, train
from bertshift.probes.mdl import COLUMNS, CodeSettings, block_ends, describe, nats
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.running.parts import PartCache

SETTINGS = CodeSettings(width=32, learning_rate=0.01, max_steps=200, validate_every=20, probe_seeds=2, input_dropout=0,
                        portions=(0.1, 0.3, 0.6, 1))  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("mdl"), random_sentences(160, types=20))


@pytest.fixture
def kept(tmp_path):
    return PartCache(tmp_path / "parts", "code")


def splits(records):
    return {"train": records[:130], "dev": records[130:140], "test": records[140:]}


@pytest.fixture(scope="module")
def edges(made):
    """Labels that the first word tells, in records of one to three targets; and sets of labels."""
    sentences = random_sentences(160, types=20)
    single = [
        record(w, *(("abcde"[int(w[i][1:]) % 5], (i, i + 1)) for i in range(1 + n % 3)))
        for n, w in enumerate(sentences)
    ]
    several = [
        record(w, (["x", "y", "z"][: n % 4], (0, 1), (1, 2))) for n, w in enumerate(sentences)
    ]
    return {
        "pos": made.edges("pos", 1, splits(single)),
        "spr": made.edges("spr", 2, splits(several), multilabel=True),
    }


def totals(table, task):
    rows = table[(table.task == task) & (table.quantity != "f1")]
    return rows.pivot(index="probe_seed", columns="quantity", values="value")


def test_a_probe_that_knows_nothing_costs_the_uniform_code(made, edges, kept, monkeypatch):
    """Holds only if every target is coded once, and in bits; without any block, each target costs
    the same."""

    def untrained(bank, *_):
        return [Progress(torch.zeros_like(weights), bank.settings) for weights in bank.initial()]

    monkeypatch.setattr(mdl, "train", untrained)
    table = describe("base", {(1, 0): made.source}, edges, made.sentences, SETTINGS, kept)
    assert list(table.columns) == [*COLUMNS, *JACKKNIFE_COLUMNS]
    targets = sum(1 + number % 3 for number in range(130))
    for task, bits, n in (("pos", targets * math.log2(5), targets), ("spr", 130 * 3, 130)):
        np.testing.assert_allclose(totals(table, task)["uniform"], bits, rtol=1e-12)
        coded = table[(table.task == task) & (table.quantity == "codelength")]
        np.testing.assert_allclose(
            coded[["value", *JACKKNIFE_COLUMNS]], np.full((2, 21), bits), rtol=1e-6
        )
        assert coded[["n", "examples", "portion"]].to_numpy().tolist() == [[n, 130, 1]] * 2


def test_what_a_probe_can_learn_costs_less_and_more_of_it_helps(made, edges, kept):
    settings = replace(SETTINGS, probe_seeds=1)
    table = describe(
        "base", {(1, 0): made.source}, {"pos": edges["pos"]}, made.sentences, settings, kept
    )
    found = totals(table, "pos")
    assert (found["compression"] > 1.5).all()
    np.testing.assert_allclose(found["compression"], found["uniform"] / found["codelength"])
    [code] = table[table.quantity == "codelength"].to_dict("records")
    # 130 sentences of one to three targets, in 20 blocks; what each block costs makes up the
    # whole.
    per_block = np.bincount(np.arange(130) * 20 // 130, weights=1 + np.arange(130) % 3)
    left = np.array([code[name] for name in JACKKNIFE_COLUMNS]) * (1 - per_block / per_block.sum())
    costs = code["value"] - left
    assert (costs > 0).all() and costs.sum() == pytest.approx(code["value"])
    curve = table[table.quantity == "f1"]
    assert curve["examples"].tolist() == [39, 78, 130]  # 13 records are too few to train on
    assert curve["portion"].tolist() == [0.3, 0.6, 1]
    assert curve["value"].iloc[-1] > 0.9 and curve["value"].is_monotonic_increasing


def test_a_probe_of_few_records_is_validated_more_often():
    settings = CodeSettings(validate_every=1000)
    every = [settings.learning_from(records).validate_every for records in (32, 640, 3200, 10_000)]
    assert every == [100, 100, 500, 1000]


def test_nats():
    logits, gold = torch.tensor([[[0.0, math.log(3)]]]), torch.tensor([[[0.0, 1.0]]])
    found = [nats(logits, gold, exclusive).item() for exclusive in (True, False)]
    assert found == pytest.approx([math.log(4 / 3), math.log(2) + math.log(4 / 3)])


def test_blocks_of_fewer_than_32_records_join_the_uniform_one():
    default = CodeSettings().portions
    assert list(block_ends(default, 6851).values()) == [54, 109, 219, 428, 856, 1712, 3425, 6851]
    assert block_ends(default, 20) == {1: 20}


def test_records_too_few_for_any_code_but_the_uniform_one_are_told(made, edges, kept, capsys):
    settings = replace(SETTINGS, portions=(0.1, 1), max_steps=5)
    table = describe(
        "base", {(1, 0): made.source}, {"pos": edges["pos"]}, made.sentences, settings, kept
    )
    assert (totals(table, "pos")["compression"] == 1).all()
    assert capsys.readouterr().err.count("no portion of the 130 records but the whole has 32") == 1


SHORT = replace(SETTINGS, max_steps=6, validate_every=3)


class Stopped(Exception):
    pass


def test_stopped_work_goes_on_and_gives_the_same_table(made, edges, kept, tmp_path, monkeypatch):
    sources = {(1, 1): made.source, (1, 2): made.source}
    whole = describe(
        "mnli", sources, edges, made.sentences, SHORT, PartCache(tmp_path / "whole", "code")
    )
    learned = []

    def stopping(bank, *arguments):
        if len(learned) == 4:
            raise Stopped
        learned.append(bank.name)
        return train(bank, *arguments)

    monkeypatch.setattr(mdl, "train", stopping)
    with pytest.raises(Stopped):
        describe("mnli", sources, edges, made.sentences, SHORT, kept)
    learned.insert(0, None)  # never stops again
    again = describe("mnli", sources, edges, made.sentences, SHORT, kept)
    assert again.to_csv() == whole.to_csv()
    assert (
        len(learned) == 1 + 2 * 2 * 3
    )  # replicates, tasks and portions that are large enough, each once
    describe(
        "mnli", sources, edges, made.sentences, replace(SHORT, tasks={"spr": {"width": 8}}), kept
    )
    assert set(learned[13:]) == {f"mdl spr {portion}" for portion in (0.3, 0.6, 1)}
