"""The answers of two models: what is asked, what comes out, and what is refused."""

import json

import numpy as np
import peft
import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of
from transformers import (
    AutoModelForSequenceClassification,
    BertForMaskedLM,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    GPT2LMHeadModel,
)

import bertshift
from bertshift.api.answers import question_of
from bertshift.api.command import main
from bertshift.api.models import head_of
from bertshift.api.text_files import read_labels
from bertshift.models.answering import Head

NAMES = {0: "bad", 1: "so-so", 2: "good"}
LABELS = ["bad", "good", "so-so", "good", "bad", "bad"]


def saved(kind, folder, seed, family="bert", **changes):
    """Save a tiny model with a head of this class, all weights random."""
    config = model_of(family, vocab_size=len(tokenizer_of(family))).config
    config.update(changes)
    generator = torch.manual_seed(seed)
    model = kind(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    model.save_pretrained(folder)
    tokenizer_of(family).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of classifiers, regressions, models of masked and of next words, and bare ones."""
    folder = tmp_path_factory.mktemp("models")
    kinds = {
        "classes": (BertForSequenceClassification, "bert", {"id2label": NAMES}),
        "outputs": (BertForSequenceClassification, "bert", {"num_labels": 1}),
        "masked": (BertForMaskedLM, "bert", {}),
        "next": (GPT2LMHeadModel, "gpt2", {}),
    }
    for name, (kind, family, changes) in kinds.items():
        for number in (1, 2):
            saved(kind, folder / f"{name}{number}", number, family, **changes)
    model = AutoModelForSequenceClassification.from_pretrained(folder / "classes1").bert
    model.save_pretrained(folder / "bare")
    tokenizer_of("bert").save_pretrained(folder / "bare")
    return folder


def compared(folders, first, second, texts=TEXTS, **options):
    return bertshift.compare(
        folders / first, folders / second, texts, measures="rsa", made=False, **options
    )


@torch.no_grad()
def outputs_by_hand(folder, texts):
    """A padded batch, as a notebook runs it."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = tokenizer_of("bert")
    parts = (text if isinstance(text, tuple) else (text,) for text in texts)
    rows = [dict(tokenizer(*part, return_token_type_ids=True)) for part in parts]
    return model(**DataCollatorWithPadding(tokenizer)(rows)).logits.double().softmax(-1).numpy()


def test_classifiers_and_their_labels(folders, tmp_path):
    change = compared(folders, "classes1", "classes2", labels=LABELS)
    table = change.behaviour.set_index("measure")
    assert list(change.behaviour) == ["measure", "value", "low", "high", "n"]
    p, q = (outputs_by_hand(folders / name, TEXTS) for name in ("classes1", "classes2"))
    m = (p + q) / 2
    js = (p * np.log(p / m) + q * np.log(q / m)).sum(1) / 2
    assert table.loc["js", "value"] == pytest.approx(js.mean(), rel=1e-4)
    answers, others = (np.array([*NAMES.values()])[each.argmax(1)] for each in (p, q))
    texts = change.answers.texts
    assert texts["answer"].tolist() == answers.tolist()
    assert texts["reference_answer"].tolist() == others.tolist()
    assert table.loc["accuracy", "value"] == np.mean(answers == LABELS)
    is_lost = (answers != LABELS) & (others == LABELS)
    lost = texts.query("outcome == 'lost'")
    assert lost["position"].tolist() == np.flatnonzero(is_lost).tolist()
    assert table.loc["lost", "value"] == is_lost.sum() and (table["n"] == len(TEXTS)).all()
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
    row = table.loc["answers_changed"]
    said = f"a share of {row['value']:.4g} [{row['low']:.4g}, {row['high']:.4g}] gets another"
    assert said in change.report[1] and change.report[1] in str(change)
    difference = table.loc["accuracy_difference"]
    assert f"a difference of {difference['value']:.4g} [" in change.report[2]
    files = [path.name for path in change.write(tmp_path)]
    assert files[:3] == ["change.tsv", "behaviour.tsv", "answers.tsv"]


def test_pairs_are_read_as_pairs(folders):
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    texts = compared(folders, "classes1", "classes2", pairs).answers.texts
    assert list(zip(texts["text"], texts["text_pair"], strict=True)) == pairs
    p, q = (outputs_by_hand(folders / name, pairs) for name in ("classes1", "classes2"))
    m = (p + q) / 2
    js = (p * np.log(p / m) + q * np.log(q / m)).sum(1) / 2
    np.testing.assert_allclose(texts["change"], js, rtol=1e-3)


SAID = {
    "classes": "Of 6 texts a share of 0 [0, ",
    "outputs": "The outputs for 6 texts differ by 0 [0, 0] on average, and correlate by 1 [1, 1]",
    "masked": " masked tokens the prediction of masked1 (model) differs from that of masked1",
    "next": " next tokens the prediction of next1 (model) differs from that of next1 (reference)",
}


@pytest.mark.parametrize("kind", ["classes", "outputs", "masked", "next"])
def test_a_model_answers_as_itself(kind, folders):
    change = compared(folders, f"{kind}1", f"{kind}1")
    table = change.behaviour.set_index("measure")["value"]
    one = table.filter(regex="kept|pearson|spearman")
    same = table.filter(regex="^(js|answers_changed|difference|kl|bits_difference)$")
    assert (same == 0).all() and (one.round(12) == 1).all() and len(same) and len(table) > 1
    assert SAID[kind] in change.report[1]


@torch.no_grad()
def test_next_words_by_hand(folders):
    change = compared(folders, "next1", "next2")
    table = change.behaviour.set_index("measure")
    tokenizer, bits = tokenizer_of("gpt2"), 0
    model = GPT2LMHeadModel.from_pretrained(folders / "next1").eval()
    characters = 0
    for text in TEXTS:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        bits += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1) / np.log(2)
        characters += len(text) - len(tokenizer.decode(ids[0, :1]))
    assert table.loc["bits_per_character", "n"] == characters
    assert table.loc["bits_per_character", "value"] == pytest.approx(bits / characters, rel=1e-5)
    [said] = [line for line in change.report if line.startswith("A character takes next1 ")]
    assert f"a difference of {table.loc['bits_difference', 'value']:.4g} [" in said


def test_labels_of_another_order_are_matched_by_name(folders, tmp_path):
    """The same classifier with its classes in another order changes no answer."""
    model = AutoModelForSequenceClassification.from_pretrained(folders / "classes1")
    order = [2, 0, 1]
    with torch.no_grad():
        model.classifier.weight.copy_(model.classifier.weight[order])
        model.classifier.bias.copy_(model.classifier.bias[order])
    model.config.id2label = {place: NAMES[number] for place, number in enumerate(order)}
    model.save_pretrained(tmp_path / "reordered")
    tokenizer_of("bert").save_pretrained(tmp_path / "reordered")
    table = compared(folders, "classes1", tmp_path / "reordered", labels=LABELS).behaviour
    values = table.set_index("measure")["value"]
    assert values["js"] < 1e-10 and values["answers_changed"] == 0
    assert values["accuracy_difference"] == values["lost"] == values["won"] == 0


def test_replicates_are_averaged_and_crossed_with_texts(folders):
    several = bertshift.compare(
        [folders / "classes1", folders / "classes2"],
        folders / "classes2",
        TEXTS,
        measures="rsa",
        made=False,
    )
    single = compared(folders, "classes1", "classes2").behaviour.set_index("measure")["value"]
    values = several.behaviour.set_index("measure")["value"]
    assert values["js"] == pytest.approx(single["js"] / 2)
    assert several.answers.texts.groupby("seed")["change"].mean()[2] == 0


def test_a_head_that_was_not_in_the_checkpoint_is_not_asked(folders, tmp_path):
    """Of a bare model; of one that transformers put a new head on; and of a folder whose weights
    lack it."""
    change = compared(folders, "bare", "classes1")
    assert change.behaviour.empty and list(change.behaviour) == [
        "measure",
        "value",
        "low",
        "high",
        "n",
    ]
    reason = f"{folders / 'bare'} (BertModel) has no head that classifies texts or predicts words"
    assert change.report[1] == f"No answers are compared: {reason}."
    fresh = AutoModelForSequenceClassification.from_pretrained(folders / "masked1")
    assert "not in the checkpoint that it was loaded from" in head_of(fresh).reason
    loaded = AutoModelForSequenceClassification.from_pretrained(folders / "classes1")
    assert head_of(loaded).labels == tuple(NAMES.values())
    config = json.loads((folders / "bare/config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    for file in (folders / "bare").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(config))
    lacking = compared(folders, tmp_path, "classes1")
    assert lacking.behaviour.empty and not lacking.left_out
    assert "its weights lack classifier.bias" in lacking.report[1]


def test_a_loaded_model_answers_as_its_folder(folders):
    loaded = AutoModelForSequenceClassification.from_pretrained(folders / "classes1").train()
    expected = compared(folders, "classes1", "classes2")
    found = bertshift.compare(loaded, folders / "classes2", TEXTS, measures="rsa", made=False)
    assert found.behaviour.equals(expected.behaviour)
    loaded.classifier.register_forward_hook(lambda _, __, output: output * 2)
    found = bertshift.compare(loaded, folders / "classes2", TEXTS, measures="rsa", made=False)
    assert found.behaviour.empty and "gives other answers than its weights" in found.report[1]


def test_a_head_alone_that_changed_is_no_sameness(folders, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(folders / "classes1")
    with torch.no_grad():
        model.classifier.bias += torch.tensor([1.0, 0, 0])
    model.save_pretrained(tmp_path / "head")
    tokenizer_of("bert").save_pretrained(tmp_path / "head")
    change = compared(folders, tmp_path / "head", "classes1")
    assert "are the same below their heads" in change.report[0]


CLASSES = Head("classes", tuple(NAMES.values()))
REFUSED = {
    "too few": ([("m", CLASSES)], ["bad"], "there are 1 labels and 2 texts"),
    "a string": ([("m", CLASSES)], "bad", "labels is one string"),
    "a number": ([("m", CLASSES)], 3, "labels is of type int"),
    "no name": ([("m", CLASSES)], ["bad", "fine"], "label 2 is 'fine'; write bad, so-so, good"),
    "none": ([("m", CLASSES)], [0, -1], "label 2 is -1; .*numbers 0 to 2"),
    "no classes": ([("m", Head("masked"))], [0, 1], "these models predict words, so labels"),
    "no head": ([("m", Head(reason="m is bare"))], [0, 1], "m is bare, so labels of texts"),
    "no output": ([("m", Head("classes", ("x",)))], [0.5, "nan"], "label 2 is 'nan'; write a num"),
}


@pytest.mark.parametrize(("heads", "labels", "said"), REFUSED.values(), ids=REFUSED)
def test_labels_that_are_refused_before_a_model_is_loaded(heads, labels, said):
    with pytest.raises(bertshift.UserError, match=said):
        question_of(heads, labels, 2)


def test_heads_that_cannot_be_compared_are_both_named():
    others = {
        "m has the labels bad, so-so, good and o predicts masked words": Head("masked"),
        "m has .* bad, so-so, good and o has a, b, c, so": Head("classes", ("a", "b", "c")),
        "m has .* good and o gives a number": Head("classes", ("x",)),
    }
    for said, other in others.items():
        with pytest.raises(bertshift.UserError, match=said):
            question_of([("m", CLASSES), ("o", other)], [0, 1], 2)
        assert not question_of([("m", CLASSES), ("o", other)], None, 2).head.kind


def test_names_and_numbers_are_labels():
    labels = question_of([("m", CLASSES)], ["good", 0, "1", np.int64(2)], 4).labels
    assert labels.tolist() == [2, 0, 1, 2]


def test_labels_come_from_a_column_or_a_file(folders, tmp_path):
    table = {"sentence": list(TEXTS), "gold": LABELS}
    rows = [dict(zip(table, row)) for row in zip(*table.values())]
    found = compared(
        folders, "classes1", "classes2", iter(rows), columns="sentence", labels="gold"
    )
    assert found.answers.texts["label"].tolist() == LABELS
    with pytest.raises(bertshift.UserError, match="no column 'y', only sentence, gold; correct l"):
        compared(folders, "classes1", "classes2", table, columns="sentence", labels="y")
    (tmp_path / "labels").write_text("bad\ngood \n\n")
    assert read_labels(tmp_path / "labels") == ["bad", "good"]
    (tmp_path / "labels").write_text("bad\n\ngood\n")
    with pytest.raises(bertshift.UserError, match="labels:2 is empty; write the label of text 2"):
        read_labels(tmp_path / "labels")


def test_an_adapter_has_the_head_of_its_base_unless_it_changes_that(folders, tmp_path):
    base = folders / "masked1"
    adapted = peft.get_peft_model(
        BertForMaskedLM.from_pretrained(base),
        peft.LoraConfig(r=2, init_lora_weights=False, target_modules=["query", "value"]),
    )
    adapted.save_pretrained(tmp_path / "adapter")
    assert "merged without its head" in head_of(adapted).reason
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    tokenizer_of("bert").save_pretrained(tmp_path / "merged")
    found = bertshift.compare(tmp_path / "adapter", None, TEXTS, measures="rsa", made=False)
    expected = compared(folders, tmp_path / "merged", "masked1").behaviour
    assert found.behaviour["measure"].tolist() == ["kl", "first_guess_kept"]
    np.testing.assert_allclose(found.behaviour["value"], expected["value"], rtol=1e-5)
    classifier = peft.get_peft_model(
        AutoModelForSequenceClassification.from_pretrained(folders / "classes1"),
        peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query"]),
    )
    classifier.save_pretrained(tmp_path / "classifier")
    assert "changes its base's head" in head_of(tmp_path / "classifier").reason


def test_the_command_reads_labels(folders, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    asked = ["compare", str(folders / "classes1"), str(folders / "classes2"), "--measures", "rsa"]
    assert main([*asked, "--texts", str(tmp_path / "texts.txt"),
                 "--labels", str(tmp_path / "labels.txt")]) == 0  # fmt: skip
    from_a_file = capsys.readouterr()[0]
    assert "\nAccuracy is " in from_a_file and "answers_changed" in from_a_file
    lines = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "table.tsv").write_text("\n".join(["a\tb", *lines]), encoding="utf-8")
    assert main([*asked, "--texts", str(tmp_path / "table.tsv"),
                 "--columns", "a", "--labels", "b"]) == 0  # fmt: skip
    assert capsys.readouterr()[0] == from_a_file
