"""`bertshift.Watch` in the training of a tiny model by transformers' Trainer."""

import random

import numpy as np
import peft
import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of
from transformers import BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

import bertshift
from bertshift.api import along
from bertshift.api import watch as module
from bertshift.api.along import Against
from bertshift.files import read_tsv

EVERY, STEPS = 4, 10


def data():
    encoded = [tokenizer_of("bert")(text, padding="max_length", max_length=40) for text in TEXTS]
    return [dict(row) | {"labels": number % 2} for number, row in enumerate(encoded)]


def classifier():
    """With dropout, which draws random numbers in each step."""
    base = model_of("bert", vocab_size=len(tokenizer_of("bert")), hidden_dropout_prob=0.3)
    torch.manual_seed(0)
    model = BertForSequenceClassification(base.config)
    model.bert.load_state_dict(base.state_dict(), strict=False)
    return model


class Heard(TrainerCallback):
    """What a Trainer reports to."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs.append((state.global_step, dict(logs)))


@pytest.fixture
def make(tmp_path):
    """A function that makes a Trainer, which sets the seed of all random numbers."""

    def make_trainer(**options):
        arguments = TrainingArguments(
            output_dir=str(tmp_path / "run"),
            max_steps=STEPS,
            per_device_train_batch_size=2,
            learning_rate=1e-3,
            logging_steps=2,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            seed=3,
            **options,
        )
        return Trainer(
            classifier(), arguments, train_dataset=data(), processing_class=tokenizer_of("bert")
        )

    return make_trainer


def watched(trainer, **options):
    watch = bertshift.Watch(trainer, TEXTS, every=EVERY, **{"budget": None} | options)
    trainer.add_callback(watch)
    trainer.train()
    return watch


def bytes_of(trainer):
    state = trainer.model.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


def own_logs(logs):
    """What a Trainer says by itself, without times."""
    return [(step, row["loss"], row["grad_norm"]) for step, row in logs if "loss" in row]


def restless(x, y):
    """A distance that draws of all generators of random numbers."""
    random.random(), np.random.rand(), torch.rand(1)
    return float(np.abs(x - y).max())


def test_a_training_is_the_same_bytes_with_and_without_it(make):
    heard_alone, heard = Heard(), Heard()
    alone = make()
    alone.add_callback(heard_alone)
    alone.train()
    beside = make()
    beside.add_callback(heard)
    watch = watched(beside, measures=["rsa", "js", restless])
    assert watch.course.steps == [0, 4, 8, 10]
    assert bytes_of(alone) == bytes_of(beside)
    assert bytes_of(alone) != bytes_of(make())  # it learnt
    assert own_logs(heard.logs) == own_logs(heard_alone.logs)
    assert len(own_logs(heard.logs)) == STEPS // 2
    assert beside.model.training == alone.model.training


def test_its_numbers_are_those_of_compare_and_are_logged(make, tmp_path):
    trainer, heard = make(), Heard()
    trainer.add_callback(heard)
    before = classifier()
    watch = watched(trainer, measures=["rsa", "js"])
    change = bertshift.compare(
        trainer.model, before, TEXTS, measures=["rsa", "js"], made=False,
        tokenizer=tokenizer_of("bert"),
    )  # fmt: skip
    end = watch.table[watch.table["step"] == STEPS]
    for measure in ("rsa", "js"):
        rows = end[end["measure"] == measure].set_index("layer")
        expected = change.by_layer(measure)
        for column in ("value", "low", "high"):
            np.testing.assert_array_equal(rows[column], expected[column])
        logged = [
            row
            for step, row in heard.logs
            if step == STEPS and f"bertshift/{measure}/layer_4" in row
        ]
        assert [row[f"bertshift/{measure}/layer_4"] for row in logged] == [rows["value"][4]]
    assert (watch.table.query("step == 0 and measure == 'js'")["value"] == 0).all()
    files = watch.write(tmp_path / "out")
    assert [file.name for file in files] == ["steps.tsv", "halves.tsv", "steps.png", "index.html"]
    assert len(read_tsv(files[0])) == len(watch.table)


def test_the_model_in_training_is_written_to_files_once(make, monkeypatch):
    written, extract_states = [], along.extract_states

    def count(models, *rest):
        written.extend(models)
        return extract_states(models, *rest)

    monkeypatch.setattr(along, "extract_states", count)
    trainer = make()
    watch = watched(trainer, measures="js")
    assert written == [trainer.model] and watch.course.steps == [0, 4, 8, 10]


class Clock:
    """Time that passes by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Lasting(TrainerCallback):
    """Let each step of a training take a second."""

    def __init__(self, clock):
        self.clock = clock

    def on_step_end(self, args, state, control, **kwargs):
        self.clock.now += 1


@pytest.mark.parametrize(
    "budget, steps, seconds, skipped",
    [
        (1.0, [0, 4, 8, 10], 5, 0),
        (0.5, [0, 8, 10], 4, 1),
        (0.41, [0, 8, 10], 4, 1),
        (0.39, [0, 10], 3, 2),  # at step 8 too little would be left for the end
        (0.31, [0, 10], 3, 2),
        (0.05, [0], 2, 3),
    ],
)
def test_what_it_takes_is_bounded(budget, steps, seconds, skipped, make, monkeypatch):
    """A pass of a model takes a second, as a step does; two passes come before the first step."""
    clock, extract = Clock(), Against._extract

    def take_a_second(self, model, folder):
        clock.now += 1
        return extract(self, model, folder)

    monkeypatch.setattr(module, "perf_counter", clock)
    monkeypatch.setattr(Against, "_extract", take_a_second)
    trainer = make()
    trainer.add_callback(Lasting(clock))
    watch = watched(trainer, budget=budget, measures="js")
    assert watch.course.steps == steps
    said = f"Measuring took {seconds} s, {seconds / STEPS:.1%} of the {STEPS} s of training: "
    assert any(line.startswith(said) for line in watch.report)
    of_skipped = [line for line in watch.report if "were skipped" in line]
    assert len(of_skipped) == (skipped > 0)
    assert all(line.startswith(f"{skipped} measurements would") for line in of_skipped)


class Breaking(TrainerCallback):
    """Make a model useless before its second measurement."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step == EVERY:
            with torch.no_grad():
                model.bert.encoder.layer[0].output.dense.weight.fill_(float("nan"))


def test_a_training_goes_on_where_its_model_cannot_be_measured(make):
    trainer = make()
    trainer.add_callback(Breaking())
    with pytest.warns(UserWarning, match="step 8 is not measured: "):
        watch = watched(trainer, measures="js")
    assert trainer.state.global_step == STEPS and watch.course.steps == [0]
    assert "The model could not be measured at steps 4, 8, 10." in watch.report


def test_adapters_in_training_are_measured_and_stay_as_they_are(make):
    def with_adapters(trainer):
        torch.manual_seed(5)
        lora = peft.LoraConfig(r=2, lora_dropout=0.2, target_modules=["query", "value"])
        trainer.model = peft.get_peft_model(trainer.model, lora)
        return trainer

    alone = with_adapters(make())
    alone.train()
    beside = with_adapters(make())
    watch = watched(beside, measures="js")
    assert bytes_of(alone) == bytes_of(beside)
    js = watch.course.by_step("js")
    assert (js[0] == 0).all() and (js.loc[2:, STEPS] > 0).all()


def test_it_stops_where_the_training_does(make):
    class Stopping(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            control.should_training_stop = state.global_step == 5

    trainer = make()
    trainer.add_callback(Stopping())
    assert watched(trainer, measures="js").course.steps == [0, 4, 5]


REFUSED = {
    "every": (lambda trainer: {"every": 0}, "every is 0; write 1 or more"),
    "budget": (lambda trainer: {"budget": 0}, "budget is 0; write a share"),
    "texts": (lambda trainer: {"texts": []}, "texts is empty"),
    "measures": (lambda trainer: {"measures": "pca"}, "no measure 'pca'"),
    "no trainer": (lambda trainer: {"trainer": trainer.model}, "trainer is of type BertFor"),
    "itself": (lambda trainer: {"reference": trainer.model}, "are one model in memory"),
    "no model": (lambda trainer: {"reference": "/none/here"}, "/none/here is neither a folder"),
}


@pytest.mark.parametrize("change, said", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_the_first_step(change, said, make):
    trainer = make()
    before = bytes_of(trainer)
    given = {"trainer": trainer, "texts": TEXTS} | change(trainer)
    with pytest.raises(bertshift.UserError, match=said):
        trainer.add_callback(bertshift.Watch(**given))
        trainer.train()
    assert bytes_of(trainer) == before


def test_before_the_training_there_is_nothing(make):
    with pytest.raises(bertshift.UserError, match="nothing is measured yet"):
        bertshift.Watch(make(), TEXTS).course  # noqa: B018
