from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from disabling import disabled
from made_toys import CASES, SETTINGS, SIDECAR, TOKENIZER, model_of

from bertshift.ablation.table import Headline, ablate, replicate, with_provenance
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import BLOCKS, JACKKNIFE_COLUMNS
from bertshift.rows.significance import SCORES, benjamini_hochberg, mcnemar, paired_bootstrap
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.loading import load_task
from bertshift.tasks.question_answering import Answer, AnswerSpans
from bertshift.tasks.text_classification import TextClassification

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
N = 120
GOLD = np.repeat([1, 0], [70, 50])
ABLATIONS = [Ablation("zero", layer, head) for layer in (1, 2) for head in (0, 1, 2)]


def said_of(gold):
    """Whole layer 2 is ruinous, L1H2 helps, the rest is noise."""
    base = np.where(RNG.uniform(size=N) < 0.75, gold, 1 - gold)
    noisy = {one: np.where(RNG.uniform(size=N) < 0.03, 1 - base, base) for one in ABLATIONS}
    noisy[ABLATIONS[3]] = 1 - gold
    noisy[ABLATIONS[2]] = np.where(np.arange(N) % 5 < 4, gold, base)
    return {NOTHING: base} | noisy


def made(metric):
    """(task, rows, what the model says under each ablation), of which `metric` is the headline."""
    rows = [
        {"id": str(i), "text_a": "a", "label": ["no", "yes"][label]}
        for i, label in enumerate(GOLD)
    ]
    if metric == "exact_match":  # of answers, whose F1 is the headline
        rows = [row | {"question": "q", "context": "b c", "answers": [{"text": "b c", "start": 0}], "impossible": False}
                for row in rows]  # fmt: skip
        said = {
            one: [Answer(["b d", "b c"][right], 0.0) for right in each]
            for one, each in said_of(GOLD).items()
        }
        return AnswerSpans("squad", "squad"), rows, said
    if metric in ("pearson", "spearman"):
        rows = [row | {"label": float(i % 9)} for i, row in enumerate(rows)]
        gold = np.arange(N) % 9
        said = {one: gold + RNG.normal(0, 2, N) for one in [NOTHING, *ABLATIONS]} | {
            ABLATIONS[3]: -1.0 * gold
        }
        return TextClassification("toy", "toys", ("pearson", "spearman"), 16, None), rows, said
    return (
        TextClassification(
            "toy", "toys", tuple(dict.fromkeys((metric, "accuracy"))), 16, ("no", "yes")
        ),
        rows,
        said_of(GOLD),
    )


def headlines(table):
    return table[table["headline"] & (table["metric"] == "ablation")].set_index(["layer", "head"])


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "pearson", "exact_match"])
def test_a_table_says_what_each_ablation_does_and_how_sure_that_is(metric):
    """And without a block, as if its examples were not scored."""
    task, rows, said = made(metric)
    found = Headline.of(task, rows, list(said.values()))
    table = replicate(task, rows, said, found)
    ours, name = headlines(table), task.metrics[0]
    assert list(ours.index) == [(one.layer, one.head) for one in said] and set(ours["score"]) == {
        name
    }
    values = np.array([task.score(rows, each)[name] for each in said.values()])
    assert ours["value"].to_numpy() == pytest.approx(values)
    assert ours["delta"].to_numpy() == pytest.approx(values - values[0])
    if metric == "pearson":
        gold = np.array([row["label"] for row in rows])
        assert found.example_scores == pytest.approx((gold - np.array(list(said.values()))) ** 2)
    if metric == "accuracy":
        p = mcnemar(found.example_scores[0], found.example_scores[1:])
    else:
        score = SCORES["mean" if metric == "exact_match" else metric]
        p = paired_bootstrap(
            score, found.gold, found.predictions[0], found.predictions[1:], task.dataset
        )
    assert ours["p"].to_numpy() == pytest.approx([np.nan, *p], nan_ok=True)
    whole = np.array([one.head == 0 for one in ABLATIONS])  # heads and layers are corrected apart
    for family in (whole, ~whole):
        assert ours["q"].to_numpy()[1:][family] == pytest.approx(
            benjamini_hochberg(np.array(p)[family])
        )
    for block in (0, 11, BLOCKS - 1):
        rest = np.flatnonzero(np.arange(N) * BLOCKS // N != block)
        kept = [[each[i] for i in rest] for each in said.values()]
        kept = kept if metric == "exact_match" else np.array(kept)
        expected = [task.score([rows[i] for i in rest], each)[name] for each in kept]
        assert ours[JACKKNIFE_COLUMNS[block]].to_numpy() == pytest.approx(expected, abs=1e-12)
    others = table[~table["headline"] | (table["metric"] == "ablation_split_half")]
    assert len(others) > 0 and others[["p", "q", *JACKKNIFE_COLUMNS]].isna().all(axis=None)


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_the_head_that_helps_helps_on_the_other_half_too(metric):
    task, rows, said = made(metric)
    table = replicate(task, rows, said, Headline.of(task, rows, list(said.values())))
    [best] = table[table["metric"] == "ablation_split_half"].to_dict("records")
    one = headlines(table)
    assert (best["layer"], best["head"], best["n"]) == (1, 2, N // 2) and best["sd"] > 0
    assert best["delta"] == pytest.approx(one.loc[(1, 2), "delta"], abs=0.03)
    assert best["value"] == pytest.approx(one.loc[(0, 0), "value"] + best["delta"])
    assert one.loc[[(1, 2), (2, 0)], "q"].max() < 0.05 < one.loc[(1, 1), "p"]


def test_a_task_without_a_test_is_refused():
    parser = DependencyParsing("dep", "ewt", ("las_ud",), 16, ())
    with pytest.raises(UserError, match="tasks.dep: no test is known for las_ud"):
        Headline.of(parser, [], [])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Task settings, runs, rows and sidecar of a model of two pretraining runs."""
    task, rows = CASES["classification"]
    runs = {}
    for init in (1, 2):
        model = model_of(task, layers=2)
        for weight in model.parameters():
            weight.data += 0.1 * (init - 1) * torch.randn_like(weight)
        folder = tmp_path_factory.mktemp("models")
        save_model(folder, model, TOKENIZER)
        runs[str(folder)] = (init, 1)
    return SETTINGS, runs, [row | {"split": "dev"} for row in rows], SIDECAR


def test_replicates_of_a_saved_model_and_their_extremes_again_on_all_examples(saved):
    settings, runs, rows, sidecar = saved
    alone, _ = ablate("toy", *saved, ["uniform", "zero"], max_dev=30)
    table, arrays = ablate("toy", *saved, ["uniform", "zero"], max_dev=30, confirm=1)
    sampled, again = (table[table["sample"] == which] for which in ("sample", "complete"))
    pd.testing.assert_frame_equal(sampled.reset_index(drop=True), alone)
    ablations = 1 + 2 * 2 * 5
    assert len(sampled) == 2 * (ablations * 2 + 2) and len(again) == 2 * 2 * 3
    task = load_task(settings, sidecar)
    for folder, (init, _) in runs.items():
        mine = sampled[(sampled["init"] == init) & (sampled["metric"] == "ablation")]
        right = mine[mine["score"] == "accuracy"]
        kept = {
            key: arrays[f"init{init}_seed1.{key}"]
            for key in ("variant", "layer", "head", "each", "said", "gold")
        }
        assert all(
            kept[key].tolist() == right[key].tolist() for key in ("variant", "layer", "head")
        )
        assert kept["each"].shape == (ablations, 30) == (ablations, len(arrays["ids"]))
        assert np.array_equal(kept["each"], kept["gold"] == kept["said"])
        assert kept["each"].mean(1) == pytest.approx(right["value"].to_numpy())

        swept = mine[mine["headline"] & (mine["variant"] == "uniform") & (mine["head"] > 0)][
            "delta"
        ]
        rerun = again[(again["init"] == init) & again["headline"]].set_index(["layer", "head"])
        heads = rerun.drop((0, 0))
        chosen = mine[mine["headline"] & (mine["variant"] == "uniform")].set_index(
            ["layer", "head"]
        )
        assert sorted(chosen.loc[heads.index, "delta"]) == [swept.min(), swept.max()]
        model, tokenizer = load_task_model(Path(folder)), load_tokenizer(Path(folder))
        for (layer, head), f1 in rerun["value"].items():
            with disabled(model.encoder, Ablation("uniform", layer, head) if layer else NOTHING):
                assert f1 == task.score(rows, task.predict(model, rows, tokenizer))["f1"]
        # The other heads count as tests too.
        assert heads["q"].to_numpy() == pytest.approx(
            benjamini_hochberg([*heads["p"], *[1] * 6])[:2]
        )
        assert (
            arrays[f"init{init}_seed1.complete.said"].shape
            == (3, 40)
            == (3, len(arrays["complete.ids"]))
        )


def test_a_table_says_what_it_was_made_from_and_which_run_failed(saved):
    table, _ = ablate("toy", *saved, ["zero"], max_dev=30)
    table = pd.concat([table, table.assign(sample="complete", n=40)])
    outcomes = {
        (init, 1): {"metric": "f1", "scores": {"f1": f1, "accuracy": f1}, "majority": {"accuracy": 0.5},
                    "data": {"train": "toys train 9 of 9 (generated)"}}
        for init, f1 in ((1, 0.9), (2, 0.51))
    }  # fmt: skip
    settings = {"scale": "demo", "checkpoints": {"1": {"label": "one"}, "2": {"label": "two"}}}
    whole = with_provenance(table, settings, SIDECAR, outcomes)
    found = whole[["init", "failed", "checkpoint"]].drop_duplicates().to_numpy().tolist()
    assert found == [[1, False, "one"], [2, True, "two"]]
    assert whole.groupby("n")["data"].unique()[[30, 40]].map(list).tolist() == [
        [f"toys dev {n} of 40 (generated); trained on toys train 9 of 9 (generated)"]
        for n in (30, 40)
    ]


@pytest.mark.parametrize("max_dev", [None, 40])
def test_nothing_runs_again_after_a_sweep_on_all_examples(saved, max_dev):
    settings, runs, *data = saved
    one = dict(list(runs.items())[:1])
    table, arrays = ablate("toy", settings, one, *data, ["uniform"], max_dev, confirm=3)
    assert not table.duplicated(["metric", "layer", "head", "score"]).any()
    # What the task is scored on is all there is, be it a sample of the data set.
    part, _ = ablate("toy", settings | {"max_dev": 20}, one, *data, ["uniform"], 30, confirm=3)
    assert {*table["sample"], *part["sample"]} == {"complete"} and "complete.ids" not in arrays
    assert part["n"].max() == 20
