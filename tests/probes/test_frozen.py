import numpy as np
import pytest
import torch
from fine_tuning import score_untrained
from made_sidecars import sidecar
from made_tables import in_columns
from made_toys import bert_with, tokenizer_with

from bertshift.models.loading import load_encoder, save_model
from bertshift.probes.frozen import features, frozen, with_provenance
from bertshift.tasks.loading import load_task
from bertshift.tasks.scores import accuracy, f1

TOKENIZER = tokenizer_with("abcdefgh")
SHARED = {"dataset": "toys", "max_length": 16}
CLASSES = SHARED | {"name": "classes", "kind": "classification", "metrics": ["f1", "accuracy"]}
VALUES = SHARED | {"name": "values", "kind": "regression", "metrics": ["pearson", "spearman"]}
SIDECAR = sidecar(train=480, dev=160, origin="mirror")
SEEDS = [11, 12, 13]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    save_model(folder, bert_with(TOKENIZER, layers=2), TOKENIZER)
    return folder


def rows_of(label):
    """`label` is a function of the number of "a"s."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("aabcdefgh"), size=rng.integers(2, 9))) for _ in range(640)]
    rows = [
        {"id": str(i), "text_a": text, "label": label(text.count("a"))}
        for i, text in enumerate(texts)
    ]
    return {"train": [row | {"split": "train"} for row in rows[:480]], "dev": rows[480:]}


ROWS = {"classes": rows_of(lambda n: "yes" if n else "no"), "values": rows_of(float)}
FEW = {name: {split: rows[:40] for split, rows in splits.items()} for name, splits in ROWS.items()}


def table_of(task, start, rows=ROWS, **more):
    starts = {str(start): {"init": 1, "seed": 0, "heads": SEEDS}}
    table, used = frozen(task, starts, rows[task["name"]], SIDECAR, **more)
    return in_columns(table), used


@pytest.fixture(scope="module")
def tables(start):
    return {task["name"]: table_of(task, start) for task in (CLASSES, VALUES)}


@pytest.mark.parametrize("task", [CLASSES, VALUES], ids=["classes", "values"])
def test_a_random_head_is_the_one_that_fine_tuning_starts_with(task, start, tables):
    table, used = tables[task["name"]]
    heads = table[table["variant"] == "random_head"]
    scores = heads.pivot(index="draw", columns="score", values="value").to_dict("index")
    assert used == {"train": 480, "dev": 160} and list(scores) == [1, 2, 3]
    for draw, seed in enumerate(SEEDS, 1):
        expected = score_untrained(task, ROWS[task["name"]], SIDECAR, start, seed)
        assert scores[draw] == pytest.approx(expected, abs=1e-6)


def test_a_linear_probe_beats_constant_answers(tables):
    table, _ = tables["classes"]
    gold = np.array([row["label"] == "yes" for row in ROWS["classes"]["dev"]])
    values = table.set_index(["variant", "draw", "score"])["value"].sort_index()
    for draw, answer in ((1, 0), (2, 1)):
        answers = np.full(160, answer)
        expected = {"accuracy": accuracy(gold, answers), "f1": f1(gold, answers)}
        assert values["constant", draw].to_dict() == expected
    assert values["linear_probe_mean", 0, "accuracy"] > gold.mean() + 0.1
    answers = table.drop_duplicates(["variant", "draw"]).set_index("variant")["answer"]
    assert answers["constant"].tolist() == ["no", "yes"] and answers["linear_probe_mean"] == ""
    assert table["l2"].notna().equals(table["variant"].str.startswith("linear_probe"))

    values = tables["values"][0].set_index(["variant", "score"])["value"]
    assert values["constant", "pearson"] == 0 and values["linear_probe_mean", "pearson"] > 0.5


def test_a_head_that_always_gives_the_same_answer_is_marked_and_so_twice(start, tmp_path):
    bert = load_encoder(start)
    torch.nn.init.zeros_(bert.pooler.dense.weight)
    torch.nn.init.ones_(bert.pooler.dense.bias)
    save_model(tmp_path, bert, TOKENIZER)
    settings = {"model": "base", "child": "classes", "scale": "demo"}
    settings["checkpoints"] = {"1": {"label": "tiny"}}

    def made():
        table, used = table_of(CLASSES, tmp_path, rows=FEW, max_train=30)
        return with_provenance(table, settings, SIDECAR, used)

    table = made()
    assert table.to_csv() == made().to_csv()
    answers = table.set_index("variant")["answer"]
    assert answers["random_head"].isin(["yes", "no"]).all()
    assert set(answers["linear_probe_pooled"]) == {"yes"}  # the majority of the training rows
    data = "toys dev 40 of 160 (mirror); linear probes on toys train 30 of 480 (mirror)"
    assert set(table["data"]) == {data}


def test_padding_leaves_no_trace_and_the_mean_is_over_every_token(start):
    bert, task = load_encoder(start), load_task(CLASSES, SIDECAR)
    examples = task.encode(ROWS["classes"]["dev"], TOKENIZER)
    together = features(task.model(bert, 0).eval(), examples, pad_id=0)
    for i in (0, 7):
        with torch.inference_mode():
            alone = bert(torch.tensor([examples[i].input_ids]))
        mean = alone.last_hidden_state[0].mean(0)
        for name, expected in (("pooled", alone.pooler_output[0]), ("mean", mean)):
            assert together[name][i] == pytest.approx(expected.numpy(), abs=1e-5)
