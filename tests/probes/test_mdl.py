import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_tables import WITHOUT, in_columns
from probes.edge_world import make, random_sentences, record

from bertshift.probes import mdl
from bertshift.probes.bank import Progress, train
from bertshift.probes.mdl import COLUMNS, CodeSettings, block_ends, describe, nats
from bertshift.running.parts import PartCache

SETTINGS = CodeSettings(width=32, learning_rate=0.01, max_steps=200, validate_every=20,
                        probe_seeds=2, input_dropout=0,
                        portions=(0.1, 0.3, 0.6, 1))  # fmt: skip
SHORT = replace(SETTINGS, max_steps=6, validate_every=3)
SENTENCES = random_sentences(160, types=20)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make(tmp_path_factory.mktemp("mdl"), SENTENCES)


@pytest.fixture
def describe_in(world, tmp_path):
    """A function (edges, settings, replicates) -> table, whose parts are in a new folder."""

    def describe_edges(edges, settings=SETTINGS, replicates=((1, 0),), folder="parts"):
        sources, parts = (
            dict.fromkeys(replicates, world.source),
            PartCache(tmp_path / folder, "code"),
        )
        return in_columns(describe("mnli", sources, edges, world.sentences, settings, parts))

    return describe_edges


def splits(records):
    return {"train": records[:130], "dev": records[130:140], "test": records[140:]}


@pytest.fixture(scope="module")
def edges(world):
    """Labels that follow from the first word, in records of one to three targets; and sets of
    labels."""
    single = [
        record(w, *(("abcde"[int(w[i][1:]) % 5], (i, i + 1)) for i in range(1 + n % 3)))
        for n, w in enumerate(SENTENCES)
    ]
    several = [
        record(w, (["x", "y", "z"][: n % 4], (0, 1), (1, 2))) for n, w in enumerate(SENTENCES)
    ]
    return {
        "pos": world.edges("pos", 1, splits(single)),
        "spr": world.edges("spr", 2, splits(several), multilabel=True),
    }


def totals(table, task):
    rows = table[(table.task == task) & (table.quantity != "f1")]
    return rows.pivot(index="probe_seed", columns="quantity", values="value")


def test_a_probe_that_knows_nothing_costs_the_uniform_code(describe_in, edges, monkeypatch):
    """Holds only if every target is coded once, and in bits; without any block, each target costs
    the same."""

    def untrained(bank, *_):
        return [Progress(torch.zeros_like(weights), bank.settings) for weights in bank.initial()]

    monkeypatch.setattr(mdl, "train", untrained)
    table = describe_in(edges)
    assert list(table.columns) == [*COLUMNS, *WITHOUT]
    targets = sum(1 + number % 3 for number in range(130))
    for task, bits, n in (("pos", targets * math.log2(5), targets), ("spr", 130 * 3, 130)):
        np.testing.assert_allclose(totals(table, task)["uniform"], bits, rtol=1e-12)
        coded = table[(table.task == task) & (table.quantity == "codelength")]
        assert (coded[["value", *WITHOUT]] / bits - 1).abs().max(axis=None) < 1e-6
        assert coded[["n", "examples", "portion"]].to_numpy().tolist() == [[n, 130, 1]] * 2


def test_labels_that_can_be_learned_cost_less_and_more_records_help(describe_in, edges):
    table = describe_in({"pos": edges["pos"]}, replace(SETTINGS, probe_seeds=1))
    values = totals(table, "pos")
    assert (values["compression"] > 1.5).all()
    np.testing.assert_allclose(values["compression"], values["uniform"] / values["codelength"])
    [code] = table[table.quantity == "codelength"].to_dict("records")
    # 130 sentences of one to three targets, in 20 blocks, whose costs add up to the total.
    targets = np.bincount(np.arange(130) * 20 // 130, weights=1 + np.arange(130) % 3)
    rest = np.array([code[name] for name in WITHOUT]) * (1 - targets / targets.sum())
    costs = code["value"] - rest
    assert (costs > 0).all() and costs.sum() == pytest.approx(code["value"])
    curve = table[table.quantity == "f1"]
    assert curve["examples"].tolist() == [39, 78, 130]  # 13 records are too few to train on
    assert curve["portion"].tolist() == [0.3, 0.6, 1]
    assert curve["value"].iloc[-1] > 0.9 and curve["value"].is_monotonic_increasing


def test_a_probe_of_few_records_is_validated_more_often():
    settings = CodeSettings(validate_every=1000)
    steps = [settings.learning_from(records).validate_every for records in (32, 640, 3200, 10_000)]
    assert steps == [100, 100, 500, 1000]


def test_nats():
    logits, gold = torch.tensor([[[0.0, math.log(3)]]]), torch.tensor([[[0.0, 1.0]]])
    costs = [nats(logits, gold, exclusive).item() for exclusive in (True, False)]
    assert costs == pytest.approx([math.log(4 / 3), math.log(2) + math.log(4 / 3)])


def test_blocks_of_fewer_than_32_records_join_the_uniform_one():
    default = CodeSettings().portions
    assert list(block_ends(default, 6851).values()) == [54, 109, 219, 428, 856, 1712, 3425, 6851]
    assert block_ends(default, 20) == {1: 20}


def test_records_too_few_for_any_code_but_the_uniform_one_are_warned_of(
    describe_in, edges, capsys
):
    table = describe_in({"pos": edges["pos"]}, replace(SHORT, portions=(0.1, 1)))
    assert (totals(table, "pos")["compression"] == 1).all()
    assert capsys.readouterr().err.count("no portion of the 130 records but the whole has 32") == 1


def test_what_is_done_is_not_done_again_and_tables_are_the_same_twice(
    describe_in, edges, monkeypatch
):
    replicates = [(1, 1), (1, 2)]
    trained = []

    def counted(bank, *arguments):
        trained.append(bank.name)
        return train(bank, *arguments)

    monkeypatch.setattr(mdl, "train", counted)
    table = describe_in({"pos": edges["pos"]}, SHORT, replicates)
    assert table.to_csv() == describe_in({"pos": edges["pos"]}, SHORT, replicates).to_csv()
    # Replicates and portions that are large enough, each once.
    assert len(trained) == 2 * 3
    again = describe_in({"pos": edges["pos"]}, SHORT, replicates, "again")
    assert table.to_csv() == again.to_csv()
    for width in (8, 4):  # of one task: the other one's probes stay
        describe_in(edges, replace(SHORT, tasks={"spr": {"width": width}}), replicates)
    assert len(trained) == 12 + 2 * 6
    assert set(trained[12:]) == {f"mdl spr {portion}" for portion in (0.3, 0.6, 1)}
