from pathlib import Path

import numpy as np
import pytest
import torch
from disabling import disabled
from made_tables import WITHOUT, in_columns
from made_toys import CASES, SETTINGS, SIDECAR, TOKENIZER, model_of

from bertshift.ablation.table import Headline, ablate, replicate, with_provenance
from bertshift.errors import UserError
from bertshift.models.ablate import NOTHING, Ablation
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.blocks import BLOCKS
from bertshift.rows.significance import SCORES, benjamini_hochberg, mcnemar, paired_bootstrap
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.loading import load_task
from bertshift.tasks.question_answering import Answer, AnswerSpans
from bertshift.tasks.text_classification import TextClassification

RNG = np.random.default_rng(0)
N = 120
GOLD = np.repeat([1, 0], [70, 50])
ABLATIONS = [Ablation("zero", layer, head) for layer in (1, 2) for head in (0, 1, 2)]


def noisy_predictions(gold):
    """Disabling layer 2 ruins the model, disabling L1H2 helps, the rest is noise."""
    base = np.where(RNG.uniform(size=N) < 0.75, gold, 1 - gold)
    predictions = {NOTHING: base}
    for ablation in ABLATIONS:
        predictions[ablation] = np.where(RNG.uniform(size=N) < 0.03, 1 - base, base)
    predictions[ABLATIONS[3]] = 1 - gold
    predictions[ABLATIONS[2]] = np.where(np.arange(N) % 5 < 4, gold, base)
    return predictions


def case(metric):
    """(task, rows, predictions under each ablation) of a task with this headline; of answers, the
    F1."""
    rows = [
        {"id": str(i), "text_a": "a", "label": ["no", "yes"][label]}
        for i, label in enumerate(GOLD)
    ]
    if metric == "pearson":
        rows = [row | {"label": float(i % 9)} for i, row in enumerate(rows)]
        gold = np.arange(N) % 9
        predictions = {ablation: gold + RNG.normal(0, 2, N) for ablation in [NOTHING, *ABLATIONS]}
        predictions[ABLATIONS[3]] = -1.0 * gold
        return (
            TextClassification("toy", "toys", ("pearson", "spearman"), 16, None),
            rows,
            predictions,
        )
    predictions = noisy_predictions(GOLD)
    if metric == "answers":
        answer = {"answers": [{"text": "b c", "start": 0}], "impossible": False}
        answers = [Answer("b d", 0.0), Answer("b c", 0.0)]
        predictions = {key: [answers[i] for i in right] for key, right in predictions.items()}
        return AnswerSpans("squad", "squad"), [row | answer for row in rows], predictions
    metrics = tuple(dict.fromkeys((metric, "accuracy")))
    return TextClassification("toy", "toys", metrics, 16, ("no", "yes")), rows, predictions


def headlines(table):
    return table[table["headline"] & (table["metric"] == "ablation")].set_index(["layer", "head"])


def test_a_collapsed_regression_has_no_correlation_without_any_block():
    task, rows, predictions = case("pearson")
    noise = np.random.default_rng(0).uniform(size=(len(predictions), N))
    collapsed = dict(zip(predictions, (1 + 1e-7 * noise).astype(np.float32), strict=True))
    headline = Headline.of(task, rows, list(collapsed.values()))
    effects = headlines(in_columns(replicate(task, rows, collapsed, headline)))
    assert (effects[["value", *WITHOUT]] == 0).all(axis=None)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "pearson", "answers"])
def test_a_table_has_the_effect_of_each_ablation_its_tests_and_its_blocks(metric):
    task, rows, predictions = case(metric)
    answers = list(predictions.values())
    headline = Headline.of(task, rows, answers)
    table = in_columns(replicate(task, rows, predictions, headline))
    effects, name = headlines(table), task.metrics[0]
    assert list(effects.index) == [(ablation.layer, ablation.head) for ablation in predictions]
    assert set(effects["score"]) == {name}
    values = np.array([task.score(rows, answer)[name] for answer in answers])
    assert effects["value"].to_numpy() == pytest.approx(values)
    assert effects["delta"].to_numpy() == pytest.approx(values - values[0])
    if metric == "pearson":
        gold = np.array([row["label"] for row in rows])
        assert headline.example_scores == pytest.approx((gold - np.array(answers)) ** 2)
    if metric == "accuracy":
        p = mcnemar(headline.example_scores[0], headline.example_scores[1:])
    else:
        score = SCORES["mean" if metric == "answers" else metric]
        base, *others = headline.predictions
        p = paired_bootstrap(score, headline.gold, base, np.array(others), task.dataset)
    assert effects["p"].to_numpy() == pytest.approx([np.nan, *p], nan_ok=True)
    layers = np.array([ablation.head == 0 for ablation in ABLATIONS])
    for family in (layers, ~layers):
        q = effects["q"].to_numpy()[1:][family]
        assert q == pytest.approx(benjamini_hochberg(np.array(p)[family]))
    for block in (0, 11, BLOCKS - 1):
        rest = np.flatnonzero(np.arange(N) * BLOCKS // N != block)
        scored = [rows[i] for i in rest]
        parts = [[answer[i] for i in rest] for answer in answers]
        parts = parts if metric == "answers" else np.array(parts)
        expected = [task.score(scored, part)[name] for part in parts]
        without_block = effects[WITHOUT[block]].to_numpy()
        assert without_block == pytest.approx(expected, abs=1e-12)
    others = table[~table["headline"] | (table["metric"] == "ablation_split_half")]
    assert len(others) > 0 and others[["p", "q", *WITHOUT]].isna().all(axis=None)


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_the_head_that_helps_on_one_half_helps_on_the_other(metric):
    task, rows, predictions = case(metric)
    headline = Headline.of(task, rows, list(predictions.values()))
    table = in_columns(replicate(task, rows, predictions, headline))
    [best] = table[table["metric"] == "ablation_split_half"].to_dict("records")
    effects = headlines(table)
    assert (best["layer"], best["head"], best["n"]) == (1, 2, N // 2) and best["sd"] > 0
    assert best["delta"] == pytest.approx(effects["delta"][1, 2], abs=0.03)
    assert best["value"] == pytest.approx(effects["value"][0, 0] + best["delta"])
    assert effects["q"][[(1, 2), (2, 0)]].max() < 0.05 < effects["p"][1, 1]


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


@pytest.fixture(scope="module")
def swept(saved):
    """The table and the arrays of a sweep on 30 of 40 examples."""
    table, arrays = ablate("toy", *saved, ["uniform", "zero"], max_dev=30, confirm=1)
    return table.rows, arrays


def test_the_extremes_of_each_replicate_are_run_again_on_all_examples(saved, swept):
    settings, runs, rows, sidecar = saved
    table, arrays = swept
    sampled, complete = (table[table["sample"] == which] for which in ("sample", "complete"))
    ablations = 1 + 2 * 2 * 5
    assert len(sampled) == 2 * (ablations * 2 + 2) and len(complete) == 2 * 2 * 3
    task = load_task(settings, sidecar)
    for folder, (init, _) in runs.items():
        effects = sampled[(sampled["init"] == init) & (sampled["metric"] == "ablation")]
        names = ["variant", "layer", "head"]
        prefix = f"init{init}_seed1"
        columns = {name: arrays[f"{prefix}.{name}"] for name in (*names, "each", "said", "gold")}
        accuracies = effects[effects["score"] == "accuracy"]
        assert accuracies[names].to_dict("list") == {name: [*columns[name]] for name in names}
        assert columns["each"].shape == (ablations, 30) == (ablations, len(arrays["ids"]))
        assert np.array_equal(columns["each"], columns["gold"] == columns["said"])
        assert columns["each"].mean(1) == pytest.approx(accuracies["value"].to_numpy())
        complete_said = arrays[f"{prefix}.complete.said"]
        assert complete_said.shape == (3, 40) == (3, len(arrays["complete.ids"]))

        swept = headlines(effects[(effects["variant"] == "uniform") & (effects["head"] > 0)])
        confirmed = headlines(complete[complete["init"] == init])
        heads = confirmed.drop((0, 0))
        deltas = swept["delta"]
        assert sorted(deltas[heads.index]) == [deltas.min(), deltas.max()]
        model, tokenizer = load_task_model(Path(folder)), load_tokenizer(Path(folder))
        for (layer, head), f1 in confirmed["value"].items():
            with disabled(model.encoder, Ablation("uniform", layer, head) if layer else NOTHING):
                assert f1 == task.score(rows, task.predict(model, rows, tokenizer))["f1"]
        # The other heads count as tests too.
        q = benjamini_hochberg([*heads["p"], *[1] * 6])
        assert heads["q"].to_numpy() == pytest.approx(q[:2])


def test_a_table_says_what_it_was_made_from_and_which_run_failed(swept):
    outcomes = {
        (init, 1): {"metric": "f1", "scores": {"f1": f1, "accuracy": f1},
                    "majority": {"accuracy": 0.5},
                    "data": {"train": "toys train 9 of 9 (generated)"}}
        for init, f1 in ((1, 0.9), (2, 0.51))
    }  # fmt: skip
    settings = {"scale": "demo", "checkpoints": {"1": {"label": "one"}, "2": {"label": "two"}}}
    table = with_provenance(swept[0], settings, SIDECAR, outcomes)
    runs = table[["init", "failed", "checkpoint"]].drop_duplicates().to_numpy().tolist()
    assert runs == [[1, False, "one"], [2, True, "two"]]
    data = "toys dev {} of 40 (generated); trained on toys train 9 of 9 (generated)"
    samples = {(row.sample, row.data) for row in table.itertuples()}
    assert samples == {("sample", data.format(30)), ("complete", data.format(40))}


def test_nothing_runs_again_after_a_sweep_on_all_examples(saved):
    settings, runs, *data = saved
    run = dict([*runs.items()][:1])
    # The examples that the task is scored on are complete, even if a sample of the data set.
    for max_dev, limit, size in ((None, None, 40), (20, 30, 20)):
        task = settings | {"max_dev": max_dev}
        table, arrays = ablate("toy", task, run, *data, ["uniform"], limit, confirm=3)
        table = table.rows
        assert not table.duplicated(["metric", "layer", "head", "score"]).any()
        assert {*table["sample"]} == {"complete"} and "complete.ids" not in arrays
        assert table["n"].max() == size
