import pytest
import yaml
from conftest import ROOT

from bertshift.config import load_config
from bertshift.data.examples import sample
from bertshift.data.stimuli import draw_stimuli
from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.recipes import task_settings, train_size
from bertshift.requests.data import sources_of, stimuli_of

BASE = {"layers": 12, "heads": 12, "vocabulary": "v", "seeds": 1, "checkpoints": [{}]}
CONFIG = {
    "tasks": {name: {"dataset": name} for name in ("mnli", "rte", "squad")},
    "bases": {"base": BASE},
    "stimuli": {
        "wiki": {"dataset": "wikipedia", "form": "sentences", "split": "text"},
        "wiki_like_mnli": {
            "dataset": "wikipedia",
            "form": "like",
            "split": "text",
            "like": "mnli",
        },
        "mnli_train": {"dataset": "mnli", "form": "inputs", "split": "train"},
    },
    "analyses": {
        "js": {"stimuli": ["own"]},
        "rsa": {"stimuli": ["wiki", "own"], "per_model": {"squad": ["squad", "mnli"]}},
    },
}


@pytest.mark.parametrize(
    ("metric", "model", "reference", "names"),
    [
        ("js", "mnli", "base", ["mnli"]),
        ("js", "rte", "mnli", ["mnli+rte"]),
        ("js", "mnli", "rte", ["mnli+rte"]),  # both orders share their inputs
        ("js", "base", "base", ["wiki"]),
        ("rsa", "mnli", "base", ["wiki", "mnli"]),
        ("rsa", "squad", "base", ["squad", "mnli"]),
        ("rsa", "squad.freeze1", "base", ["wiki", "squad"]),
        ("new", "mnli", "base", ["mnli"]),
    ],
)
def test_stimuli_of_a_metric(metric, model, reference, names):
    models = [parse_model(name, CONFIG) for name in (model, reference)]
    assert stimuli_of(metric, *models, CONFIG) == names


def test_sources_are_the_configured_split_and_the_task_whose_lengths_are_copied():
    assert sources_of(CONFIG, "mnli_train") == [("mnli", "train")]
    assert sources_of(CONFIG, "wiki_like_mnli") == [("wikipedia", "text"), ("mnli", "dev")]
    assert sources_of(CONFIG, "mnli+rte") == [("mnli", "dev"), ("rte", "dev")]
    with pytest.raises(UserError, match="write one of wiki, .*, mnli"):
        sources_of(CONFIG, "mnli+rtx")


TEXT = [
    {"id": f"s{document}.{sentence}", "text": "a b c d e" if sentence != 2 else "short",
     "document": document,
     "sentence": sentence}
    for document in range(2)
    for sentence in range(5)
]  # fmt: skip


def test_pairs_are_consecutive_sentences_of_one_document():
    settings = {"form": "consecutive_pairs", "number": 99}
    rows = draw_stimuli("wiki_pair", {"wikipedia": TEXT}, settings)
    assert [row["id"] for row in rows] == ["s0.0+s0.1", "s0.3+s0.4", "s1.0+s1.1", "s1.3+s1.4"]


def test_text_like_a_task_has_its_lengths_and_stays_within_a_document():
    inputs = [
        {"id": f"m{n}", "text_a": "w " * n, "text_b": "v " * 3, "label": "y"} for n in (1, 4, 7)
    ]
    settings = {"form": "like", "number": 99}
    rows = draw_stimuli("wiki_like_mnli", {"wikipedia": TEXT, "mnli": inputs}, settings)
    assert [len(row["text_a"].split()) for row in rows] == [4, 7, 10]
    assert all("text_b" not in row for row in rows)
    long = [{"id": "m", "text_a": "w " * 99}]
    with pytest.raises(UserError, match="no document is as long"):
        draw_stimuli("x", {"wikipedia": TEXT, "mnli": long}, settings)


def test_the_first_text_alone():
    rows = [{"id": "1", "text_a": "a", "text_b": "b"}]
    stimuli = draw_stimuli("p", {"d": rows}, {"form": "first", "number": 1})
    assert stimuli == [{"id": "1", "text_a": "a"}]


def test_a_sample_is_the_same_each_time_without_repeats_in_order_and_of_its_name():
    examples = [{"id": "x", "text_a": i, "text_b": "x", "label": "y"} for i in range(50)]

    def drawn(name):
        rows = draw_stimuli(name, {name: examples}, {"form": "inputs", "number": 20})
        assert set(rows[0]) == {"id", "text_a", "text_b"}
        return [row["text_a"] for row in rows]

    first = drawn("rte")
    assert first == drawn("rte") == sorted(set(first)) and len(first) == 20
    assert first != drawn("mnli")


def test_questions_come_before_their_passage():
    rows = [{"id": "q", "question": "Who?", "context": "Me.", "answers": [], "impossible": False}]
    stimuli = draw_stimuli("squad", {"squad": rows}, {"form": "inputs", "number": 5})
    assert stimuli == [{"id": "q", "text_a": "Who?", "text_b": "Me."}]


def test_inputs_of_the_training_set_are_among_those_that_every_model_was_trained_on():
    user = yaml.safe_load((ROOT / "config/experiments.yaml").read_text()) | {"scale": "small"}
    user["tasks"]["mnli"]["per_base"]["cased"] = {"max_train": 700}
    user["training"] = {"max_train": 900}
    config = load_config(user, ROOT)
    examples = [{"id": str(i), "text_a": str(i)} for i in range(3000)]

    def drawn(**limit):
        settings = {"form": "inputs", "number": 500} | limit
        rows = draw_stimuli("mnli_train", {"mnli": examples}, settings)
        return {row["id"] for row in rows}

    inputs = drawn(max_train={"mnli": train_size("mnli", config)})
    assert len(inputs) == 500
    for name in ("mnli", "mnli@cased"):
        size = task_settings(parse_model(name, config), config)["task"]["max_train"]
        assert inputs <= {row["id"] for row in sample(examples, size, "mnli", "train")}
    # Without a limit, inputs are drawn from all examples.
    assert drawn(max_train={"mnli": None}) == drawn() != inputs
