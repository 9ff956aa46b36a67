from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from disabling import disabled
from made_toys import SETTINGS, SIDECAR
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.ablation.table import Headline, ablate, replicate, with_provenance
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import BLOCKS, WITHOUT
from bertshift.rows.significance import benjamini_hochberg, mcnemar
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.loading import load_task
from bertshift.tasks.question_answering import Answer, AnswerSpans
from bertshift.tasks.text_classification import TextClassification

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
N = 120
ROWS = [{"id": str(i), "text_a": "a", "label": "yes" if i < 70 else "no"} for i in range(N)]
GOLD = np.array([1] * 70 + [0] * 50)
PROVENANCE = {"scale": "demo", "checkpoints": {"1": {"label": "one"}, "2": {"label": "two"}}}
OUTCOMES = {
    (init, 1): {
        "metric": "f1",
        "scores": {"f1": f1, "accuracy": f1},
        "majority": {"accuracy": 0.5},
        "data": {"train": "toys train 9 of 9 (generated)"},
    }
    for init, f1 in ((1, 0.9), (2, 0.51))
}
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
    assert len(others) == len(predictions) and others[["p", "q", *WITHOUT]].isna().all(axis=None)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "pearson", "spearman"])
def test_without_a_block_as_if_its_examples_were_not_scored(metric):
    regression = metric in ("pearson", "spearman")
    metrics = ("f1", "accuracy") if metric == "f1" else (metric,)
    task = TextClassification("toy", "toys", metrics, 16, None if regression else ("no", "yes"))
    rows = [row | {"label": float(i % 9)} for i, row in enumerate(ROWS)] if regression else ROWS
    said = {
        one: RNG.normal(task.targets(rows), 2) if regression else found
        for one, found in made_predictions().items()
    }
    table = replicate(task, rows, said, Headline.of(task, rows, list(said.values())))
    ours = table[table["headline"] & (table["metric"] == "ablation")].set_index(["layer", "head"])[WITHOUT]
    for block in (0, 11, BLOCKS - 1):
        rest = np.flatnonzero(np.arange(N) * BLOCKS // N != block)
        for one in (NOTHING, ABLATIONS[3]):
            expected = task.score([rows[i] for i in rest], said[one][rest])[metric]
            assert ours.loc[(one.layer, one.head), WITHOUT[block]] == pytest.approx(expected, abs=1e-12)
    assert table.loc[table["metric"] == "ablation_split_half", WITHOUT].isna().all(axis=None)


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


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Task settings, runs, rows and sidecar of a model of two pretraining runs."""
    folder = tmp_path_factory.mktemp("models")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    task, runs = TextClassification("toy", "toys", ("f1", "accuracy"), 16, ("no", "yes")), {}
    for init in (1, 2):
        torch.manual_seed(init)
        bert = BertModel(
            BertConfig(vocab_size=11, max_position_embeddings=16, initializer_range=0.5, **sizes)
        )
        tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)})
        save_model(folder / f"init{init}", task.model(bert, seed=init), tokenizer)
        runs[str(folder / f"init{init}")] = (init, 1)
    rows = [{"id": f"r{i}", "split": "dev", "text_a": " ".join(RNG.choice(list("abcdef"), 5)), "label": ["no", "yes"][i % 2]}
            for i in range(40)]  # fmt: skip
    return SETTINGS, runs, rows, SIDECAR


def test_all_replicates_of_a_saved_model(saved):
    table, arrays = ablate("toy", *saved, ["uniform", "zero"], max_dev=30)
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
    whole = with_provenance(table, PROVENANCE, saved[-1], OUTCOMES)
    assert whole.groupby("init")["failed"].unique().map(list).tolist() == [[False], [True]]
    assert set(whole["data"]) == {"toys dev 30 of 40 (generated); trained on toys train 9 of 9 (generated)"}
    assert whole.groupby("init")["checkpoint"].first().tolist() == ["one", "two"]
    pd.testing.assert_frame_equal(ablate("toy", *saved, ["uniform", "zero"], max_dev=30)[0], table)


def test_the_extremes_of_a_sample_are_run_again_on_all_examples(saved):
    settings, runs, rows, sidecar = saved
    sampled = ablate("toy", *saved, ["uniform", "zero"], max_dev=30)[0]
    table, arrays = ablate("toy", *saved, ["uniform", "zero"], max_dev=30, confirm=1)
    again = table[table["sample"] == "complete"]
    pd.testing.assert_frame_equal(table[table["sample"] == "sample"].reset_index(drop=True), sampled)
    assert set(sampled["sample"]) == {"sample"} and len(again) == 2 * 2 * 3
    task = load_task(settings, sidecar)
    for folder, (init, _) in runs.items():
        [swept, rerun] = (
            rows[(rows["init"] == init) & rows["headline"] & (rows["metric"] == "ablation")]
            for rows in (sampled, again)
        )
        swept = swept[(swept["variant"] == "uniform") & (swept["head"] > 0)].set_index(["layer", "head"])
        heads = rerun[rerun["head"] > 0].set_index(["layer", "head"])
        low, high = sorted(swept.loc[heads.index, "delta"])
        assert (low, high) == (swept["delta"].min(), swept["delta"].max())
        model, tokenizer = load_task_model(Path(folder)), load_tokenizer(Path(folder))
        for layer, head, f1 in rerun[["layer", "head", "value"]].itertuples(index=False):
            with disabled(model.encoder, Ablation("uniform", layer, head) if layer else NOTHING):
                said = task.predict(model, rows, tokenizer)
            assert f1 == task.score(rows, said)["f1"]
        assert heads["q"].to_numpy() == pytest.approx(benjamini_hochberg([*heads["p"], 1, 1])[:2])
        assert arrays[f"init{init}_seed1.complete.said"].shape == (3, 40) == (3, len(arrays["complete.ids"]))
    told = with_provenance(table, PROVENANCE, sidecar, OUTCOMES).groupby("sample")["data"].unique()
    assert told["complete"][0].startswith("toys dev 40 of 40") and told["sample"][0].startswith(
        "toys dev 30 of 40"
    )
    assert len(told["complete"]) == len(told["sample"]) == 1


@pytest.mark.parametrize("max_dev", [None, 40])
def test_nothing_runs_again_after_a_sweep_on_all_examples(saved, max_dev):
    settings, runs, *data = saved
    one = dict(list(runs.items())[:1])
    table, arrays = ablate("toy", settings, one, *data, ["uniform"], max_dev, confirm=3)
    assert (
        set(table["sample"]) == {"complete"}
        and not table.duplicated(["metric", "layer", "head", "score"]).any()
    )
    assert "complete.ids" not in arrays
    # What the task is scored on is all there is, be it a sample of the data set.
    table, _ = ablate("toy", settings | {"max_dev": 20}, one, *data, ["uniform"], 30, confirm=3)
    assert set(table["sample"]) == {"complete"} and table["n"].max() == 20
