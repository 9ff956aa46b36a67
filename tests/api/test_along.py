"""`bertshift.along` of tiny models: the checkpoints of a training, step by step."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of
from made_tables import WITHOUT, of_columns

import bertshift
from bertshift.api.command import main
from bertshift.api.course import Course
from bertshift.files import read_tsv
from bertshift.models.loading import save_model

PAIRS = [*TEXTS, *zip(TEXTS, reversed(TEXTS))]
STEPS = (5, 20, 100)


def model_after(step):
    """A model whose layers are moved in one direction, the farther the later."""
    model = model_of("bert", vocab_size=len(tokenizer_of("bert")))
    generator = torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.encoder.parameters():
            weight += 4e-4 * step * torch.randn(weight.shape, generator=generator)
    return model


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """The folder of a training's checkpoints, and that of what it began with."""
    folder = tmp_path_factory.mktemp("training")
    for step in STEPS:
        save_model(folder / f"run/checkpoint-{step}", model_after(step), tokenizer_of("bert"))
    save_model(folder / "base", model_after(0), tokenizer_of("bert"))
    return folder / "run", folder / "base"


@pytest.fixture(scope="module")
def course(training):
    return bertshift.along(*training, PAIRS)


def test_each_checkpoint_has_the_numbers_of_compare(course, training):
    folder, base = training
    assert list(course.table) == ["step", "measure", "layer", "value", "low", "high"]
    assert course.steps == list(STEPS) and course.model == "run" and not course.left_out
    for step in STEPS:
        change = bertshift.compare(folder / f"checkpoint-{step}", base, PAIRS, made=False)
        found = course.table[course.table["step"] == step]
        for measure in change.profile.index:
            expected = change.by_layer(measure)[["value", "low", "high"]]
            rows = found[found["measure"] == measure].set_index("layer")
            pd.testing.assert_frame_equal(rows[["value", "low", "high"]], expected)


def test_half_of_the_final_change_is_between_two_checkpoints(course):
    """By hand, on the straight line between the two."""
    halves = course.halves.set_index(["measure", "layer"])
    values = course.by_step("rsa")
    for layer in range(1, 5):
        five, twenty, hundred = 1 - values.loc[layer]
        assert five < twenty < hundred / 2
        half = 20 + 80 * (hundred / 2 - twenty) / (hundred - twenty)
        row = halves.loc["rsa", layer]
        assert row["step"] == pytest.approx(half)
        assert 5 <= row["low"] < row["step"] < row["high"] <= 100
    assert ("rsa", 0) not in halves.index  # the embeddings did not change


def test_the_report_has_the_numbers_of_the_tables(course):
    last = course.table.query("step == 100 and measure == 'js'").set_index("layer")["value"]
    assert f"At step 100 js has changed most in layer {last.idxmax()}: {last.max():.4g} [" in str(
        course
    )
    halves = course.halves.query("measure == 'rsa'").set_index("layer")["step"]
    [said] = [line for line in course.report if line.startswith("Half of the final change by rsa")]
    assert f"between steps {halves.min():.4g} [" in said and f"and {halves.max():.4g} [" in said
    assert said.endswith(f" (layer {halves.idxmax()}).") and f" (layer {halves.idxmin()}) " in said


def made(values, blocks):
    """The course of a distance in one layer, with `blocks` added without each block."""
    rows = []
    for step, value in values.items():
        keys = {"metric": "svcca", "model": "m", "reference": "r", "variant": "svcca99"}
        keys |= {"layer": 1, "ref_layer": 1, "head": 0, "init": 1, "ref_init": 1}
        without = dict(zip(WITHOUT, value + np.asarray(blocks), strict=True))
        rows.append(keys | {"seed": 1, "ref_seed": 0, "value": value, "step": step} | without)
    return Course(of_columns(pd.DataFrame(rows)), "m", "r", 60)


def test_a_first_checkpoint_with_half_says_so():
    course = made({10: 0.4, 20: 0.6}, np.linspace(-1e-4, 1e-4, 20))
    assert course.halves["step"].tolist() == [10]
    assert any("the first checkpoint has half already" in line for line in course.report)


def test_a_training_that_changed_nothing_says_so():
    course = made({10: 0.0, 20: 1e-16}, np.zeros(20))
    assert "At step 20 svcca differs in no layer." in course.report
    assert course.halves.empty and course.plot()


def test_a_change_that_may_be_none_has_no_half():
    course = made({10: 0.1, 20: 0.2}, np.linspace(-0.19, 0.19, 20))
    assert course.halves.empty
    assert any("no layer has surely changed" in line for line in course.report)


def test_checkpoints_are_given_by_step(course, training):
    """A list in any order, and loaded models by their steps."""
    folder, base = training
    listed = [folder / f"checkpoint-{step}" for step in (100, 5, 20)]
    loaded = {step: model_after(step) for step in STEPS}
    for given in (listed, loaded):
        found = bertshift.along(given, base, PAIRS, measures="js", tokenizer=base)
        expected = course.table[course.table["measure"] == "js"].reset_index(drop=True)
        assert found.table.equals(expected)


@pytest.mark.parametrize(
    "name, step",
    [
        ("somebody/model@step1000", 1000),
        ("somebody/model@stage1-step1000-tokens3B", 1000),
        ("somebody/model-seed_0-step_20k", 20_000),
        ("runs/step3/checkpoint-500", 500),
    ],
)
def test_a_step_is_read_from_a_name(name, step):
    from bertshift.api.along import steps_of

    assert steps_of([name, "somebody/model@step1"]) == {1: "somebody/model@step1", step: name}


def test_copies_are_named(training, tmp_path):
    folder, base = training
    shutil.copytree(folder, tmp_path / "run")
    shutil.copytree(folder / "checkpoint-20", tmp_path / "run/checkpoint-30")
    with pytest.warns(UserWarning, match="steps 20 and 30 have the same weights"):
        found = bertshift.along(tmp_path / "run", base, PAIRS, measures="js")
    assert "The weights are the same at steps 20, 30." in found.report


def without_model(folder, to):
    shutil.copytree(folder / "checkpoint-5", to / "checkpoint-5")
    (to / "checkpoint-6").mkdir()
    (to / "checkpoint-6/inner").mkdir()
    shutil.copy(folder / "checkpoint-5/config.json", to / "checkpoint-6/inner")
    return to


one = model_after(0)
REFUSED = {
    "a folder of nothing": (lambda folder, to: to, "is no folder with folders checkpoint-"),
    "a folder without a model": (without_model, "checkpoint-6 holds no model itself"),
    "a type": (lambda folder, to: 3, "checkpoints is of type int"),
    "one": (lambda folder, to: [folder / "checkpoint-5"], "checkpoints has 1 of them"),
    "no step": (lambda folder, to: ["a/b", "a/c@step1"], "nothing says at which step a/b was"),
    "loaded": (lambda folder, to: [one, one], "at which step BertModel was taken"),
    "a step twice": (lambda folder, to: ["a/b@step1", "a/c@step1"], "are both of step 1; give"),
    "half a step": (lambda folder, to: {0.5: "a/b", 1: "a/b@c"}, "a step is 0.5; write 0 or"),
    "a model's type": (lambda folder, to: {0: 3, 1: "a/b"}, "a model is of type int"),
    "a model twice": (lambda folder, to: {0: one, 1: one}, "are one model in memory"),
}


@pytest.mark.parametrize("checkpoints, said", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_a_model_is_run(checkpoints, said, training, tmp_path, monkeypatch):
    folder, base = training
    monkeypatch.setattr("bertshift.api.along.Against", None)
    with pytest.raises(bertshift.UserError, match=said):
        bertshift.along(checkpoints(folder, tmp_path), base, PAIRS)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"texts": []}, "texts is empty"),
        ({"measures": "pca"}, "no measure 'pca'"),
        ({"tokens": 0}, "tokens is 0"),
        ({"max_length": 0}, "max_length is 0"),
        ({"reference": "/none/here"}, "/none/here is neither a folder"),
    ],
)
def test_a_question_is_refused_before_a_model_is_run(options, said, training, monkeypatch):
    folder, base = training
    monkeypatch.setattr("bertshift.api.along.Against", None)
    with pytest.raises(bertshift.UserError, match=said):
        bertshift.along(folder, **{"reference": base, "texts": PAIRS} | options)


def test_checkpoints_of_another_shape_are_refused(training):
    folder, base = training
    shorter = model_of("bert", vocab_size=len(tokenizer_of("bert")), num_hidden_layers=2)
    with pytest.raises(bertshift.UserError, match="has 2 layers, and the first checkpoint 4"):
        bertshift.along(
            {1: folder / "checkpoint-5", 2: shorter}, base, TEXTS, measures="rsa", tokenizer=base
        )


def test_the_command_prints_and_writes(course, training, tmp_path, capsys):
    folder, base = training
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    asked = ["--texts", str(tmp_path / "texts.txt"), "--measures", "rsa,js"]
    out = tmp_path / "out"
    assert main(["along", str(folder), str(base), *asked, "--out", str(out)]) == 0
    printed = capsys.readouterr()[0]
    assert printed.startswith("run is compared with base at 3 steps, from 5 to 100, on 6 texts.")
    table = read_tsv(out / "steps.tsv")
    assert all(f"{value:.4g}" in printed for value in table["value"])
    assert {*read_tsv(out / "halves.tsv")["measure"]} == {"rsa", "js"}
    assert (out / "steps.png").read_bytes().startswith(b"\x89PNG")
    listed = [str(folder / f"checkpoint-{step}") for step in (5, 100)]
    assert main(["along", *listed, str(base), *asked]) == 0
    assert "at 2 steps, from 5 to 100" in capsys.readouterr()[0]
    assert main(["along", str(tmp_path), str(base), *asked]) == 1
    assert "bertshift: " in capsys.readouterr()[1]
