import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.ablation.table import Headline, ablate, replicate, with_provenance
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.loading import save_model
from bertshift.significance import benjamini_hochberg, mcnemar
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.question_answering import Answer, AnswerSpans
from bertshift.tasks.text_classification import TextClassification

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
N = 120
ROWS = [{"id": str(i), "text_a": "a", "label": "yes" if i < 70 else "no"} for i in range(N)]
GOLD = np.array([1] * 70 + [0] * 50)
ABLATIONS = [Ablation("zero", layer, head) for layer in (1, 2) for head in (0, 1, 2)]


def made_predictions():
    """Whole layer 2 is ruinous, L1H2 helps, the rest is noise."""
    base = np.where(RNG.uniform(size=N) < 0.75, GOLD, 1 - GOLD)
    noisy = {one: np.where(RNG.uniform(size=N) < 0.03, 1 - base, base) for one in ABLATIONS}
    noisy[ABLATIONS[3]] = 1 - GOLD
    noisy[ABLATIONS[2]] = np.where(np.arange(N) % 5 < 4, GOLD, base)
    return {NOTHING: base} | noisy


def table_of(metrics, predictions):
    task = TextClassification("toy", "toys", metrics, 16, ("no", "yes"))
    return replicate(task, ROWS, predictions, Headline.of(task, ROWS, list(predictions.values())))


def test_a_table_says_what_each_ablation_does_and_how_sure_that_is():
    predictions = made_predictions()
    table = table_of(("accuracy", "f1"), predictions)
    ablations = table[(table["metric"] == "ablation") & table["headline"]].reset_index(drop=True)
    assert list(zip(ablations["layer"], ablations["head"])) == [(one.layer, one.head) for one in predictions]
    right = np.array([said == GOLD for said in predictions.values()])
    found = {name: ablations[name].to_numpy(float) for name in ("value", "delta", "p", "q")}
    assert found["value"] == pytest.approx(right.mean(1))
    assert found["delta"] == pytest.approx(right.mean(1) - right[0].mean())
    assert np.isnan([found["p"][0], found["q"][0]]).all()
    p = mcnemar(right[0], right[1:])
    assert found["p"][1:] == pytest.approx(p)
    for whole in (True, False):  # heads and layers are corrected apart
        family = np.array([(one.head == 0) == whole for one in ABLATIONS])
        assert found["q"][1:][family] == pytest.approx(benjamini_hochberg(p[family]))
    others = table[~table["headline"]]
    assert len(others) == len(predictions) and others[["p", "q"]].isna().all(axis=None)


@pytest.mark.parametrize("metrics", [("accuracy",), ("f1", "accuracy"), ("mcc",)])
def test_the_head_that_helps_helps_on_the_other_half_too(metrics):
    table = table_of(metrics, made_predictions())
    [best] = table[table["metric"] == "ablation_split_half"].to_dict("records")
    one = table[(table["metric"] == "ablation") & table["headline"]].set_index(["layer", "head"])
    assert (best["layer"], best["head"]) == (1, 2) and best["n"] == N // 2 and np.isnan(best["p"])
    assert best["delta"] == pytest.approx(one.loc[(1, 2), "delta"], abs=0.03) and best["sd"] > 0
    assert best["value"] == pytest.approx(one.loc[(0, 0), "value"] + best["delta"])
    assert one.loc[(1, 2), "q"] < 0.05 and one.loc[(2, 0), "q"] < 0.05 and one.loc[(1, 1), "p"] > 0.05


def test_regression_and_answers():
    rows = [row | {"label": float(i)} for i, row in enumerate(ROWS)]
    task = TextClassification("toy", "toys", ("pearson", "spearman"), 16, None)
    base = np.arange(N) + RNG.normal(0, 20, N)
    said = {NOTHING: base} | {one: base + RNG.normal(0, 1, N) for one in ABLATIONS} | {ABLATIONS[4]: -base}
    headline = Headline.of(task, rows, list(said.values()))
    table = replicate(task, rows, said, headline)
    ours = table[table["headline"] & (table["metric"] == "ablation")].set_index(["layer", "head"])
    assert ours.loc[(2, 1), "p"] < 0.001 and ours.loc[(1, 1), "p"] > 0.01
    assert headline.each[0] == pytest.approx((np.arange(N) - base) ** 2)

    spans = AnswerSpans("squad", "squad")
    rows = [{"id": str(i), "question": "q", "context": "b c", "answers": [{"text": "b c", "start": 0}], "impossible": False}
            for i in range(N)]  # fmt: skip
    said = {
        one: [Answer(["b c", "b d", "x"][i % 3 - (one.layer == 2)], 0.0) for i in range(N)]
        for one in [NOTHING, *ABLATIONS]
    }
    headline = Headline.of(spans, rows, list(said.values()))
    assert headline.each[0, :3] == pytest.approx([1, 0.5, 0])
    table = replicate(spans, rows, said, headline)
    f1 = table[table["headline"] & (table["metric"] == "ablation")]
    assert f1["value"].unique() == pytest.approx([0.5]) and set(f1["score"]) == {"f1"}


def test_a_task_without_a_test_is_refused():
    parser = DependencyParsing("dep", "ewt", ("las_ud",), 16, ())
    with pytest.raises(UserError, match="tasks.dep: no test is known for las_ud"):
        Headline.of(parser, [], [])


def test_all_replicates_of_a_saved_model(tmp_path):
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    settings = {
        "name": "toy",
        "dataset": "toys",
        "kind": "classification",
        "metrics": ["f1", "accuracy"],
        "max_length": 16,
    }
    sidecar = {"name": "toys", "labels": ["no", "yes"], "rows": {"train": 9, "dev": 40}, "published": None}
    task, runs = TextClassification("toy", "toys", ("f1",), 16, ("no", "yes")), {}
    for init in (1, 2):
        torch.manual_seed(init)
        bert = BertModel(
            BertConfig(vocab_size=11, max_position_embeddings=16, initializer_range=0.5, **sizes)
        )
        tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)})
        save_model(tmp_path / f"init{init}", task.model(bert, seed=init), tokenizer)
        runs[str(tmp_path / f"init{init}")] = (init, 1)
    rows = [{"id": f"r{i}", "split": "dev", "text_a": " ".join(RNG.choice(list("abcdef"), 5)), "label": ["no", "yes"][i % 2]}
            for i in range(40)]  # fmt: skip
    table, arrays = ablate("toy", settings, runs, rows, sidecar, ["uniform", "zero"], max_dev=30)
    ablations = 1 + 2 * 2 * 3
    assert len(table) == 2 * (ablations * 2 + 2)
    for init in (1, 2):
        ours = table[
            (table["init"] == init) & (table["score"] == "accuracy") & (table["metric"] == "ablation")
        ]
        kept = {
            key: arrays[f"init{init}_seed1.{key}"]
            for key in ("variant", "layer", "head", "each", "said", "gold")
        }
        for key in ("variant", "layer", "head"):
            assert kept[key].tolist() == ours[key].tolist()
        assert kept["each"].shape == (ablations, 30) == (ablations, len(arrays["ids"]))
        assert kept["each"].mean(1) == pytest.approx(ours["value"].to_numpy())
        assert np.array_equal(kept["each"], kept["gold"] == kept["said"])
    provenance = {"scale": "demo", "source": "world", "checkpoints": {"1": "one", "2": "two"}}
    whole = with_provenance(table, provenance, sidecar, trained=9)
    assert set(whole["data"]) == {"toys dev 30 of 40 (generated); trained on toys train 9 of 9 (generated)"}
    assert whole.groupby("init")["checkpoint"].first().tolist() == ["one", "two"]
    pd.testing.assert_frame_equal(
        ablate("toy", settings, runs, rows, sidecar, ["uniform", "zero"], max_dev=30)[0], table
    )
