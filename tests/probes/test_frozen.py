import numpy as np
import pytest
import torch
from fine_tuning import score_untrained
from made_sidecars import sidecar
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.files import write_tsv
from bertshift.models.loading import load_encoder, save_model
from bertshift.probes.frozen import features, frozen, with_provenance
from bertshift.tasks.loading import load_task
from bertshift.tasks.scores import accuracy, f1

torch.set_num_threads(1)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
TOKENIZER = BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)})
SHARED = {"dataset": "toys", "max_length": 16}
CLASSES = SHARED | {"name": "classes", "kind": "classification", "metrics": ["f1", "accuracy"]}
VALUES = SHARED | {"name": "values", "kind": "regression", "metrics": ["pearson", "spearman"]}
SIDECAR = sidecar(train=480, dev=160, origin="mirror")
SEEDS = [11, 12, 13]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=13, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        initializer_range=0.2, max_position_embeddings=16)  # fmt: skip
    folder = tmp_path_factory.mktemp("start")
    save_model(folder, BertModel(config), TOKENIZER)
    return folder


def rows_of(label):
    """`label` of the number of times that "a" is said."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("aabcdefgh"), size=rng.integers(2, 9))) for _ in range(640)]
    rows = [
        {"id": str(i), "text_a": text, "label": label(text.count("a"))}
        for i, text in enumerate(texts)
    ]
    return {"train": [row | {"split": "train"} for row in rows[:480]], "dev": rows[480:]}


ROWS = {"classes": rows_of(lambda n: "yes" if n else "no"), "values": rows_of(float)}
FEW = {name: {split: rows[:40] for split, rows in own.items()} for name, own in ROWS.items()}


def table_of(task, *starts, rows=ROWS, **more):
    starts = {str(start): {"init": 1, "seed": 0, "heads": SEEDS} for start in starts}
    return frozen(task, starts, rows[task["name"]], SIDECAR, **more)


@pytest.fixture(scope="module")
def tables(start):
    return {task["name"]: table_of(task, start) for task in (CLASSES, VALUES)}


@pytest.mark.parametrize("task", [CLASSES, VALUES], ids=["classes", "values"])
def test_a_random_head_is_the_one_that_fine_tuning_starts_with(task, start, tables):
    table, used = tables[task["name"]]
    heads = table[table["variant"] == "random_head"].pivot(
        index="draw", columns="score", values="value"
    )
    assert used == {"train": 480, "dev": 160} and list(heads.index) == [1, 2, 3]
    for draw, seed in enumerate(SEEDS, 1):
        expected = score_untrained(task, ROWS[task["name"]], SIDECAR, start, seed)
        assert heads.loc[draw].to_dict() == pytest.approx(expected, abs=1e-6)


def test_a_linear_probe_reads_what_constant_answers_cannot(tables):
    table, _ = tables["classes"]
    gold = np.array([row["label"] == "yes" for row in ROWS["classes"]["dev"]])
    by = table.set_index(["variant", "draw", "score"])["value"].sort_index()
    for draw, said in ((1, 0 * gold), (2, 0 * gold + 1)):
        assert by["constant", draw].to_dict() == {
            "accuracy": accuracy(gold, said),
            "f1": f1(gold, said),
        }
    assert by["linear_probe_mean", 0, "accuracy"] > gold.mean() + 0.1
    answers = table.drop_duplicates(["variant", "draw"]).set_index("variant")["answer"]
    assert answers["constant"].tolist() == ["no", "yes"] and answers["linear_probe_mean"] == ""
    assert table["l2"].notna().equals(table["variant"].str.startswith("linear_probe"))

    values = tables["values"][0].set_index(["variant", "score"])["value"]
    assert values["constant", "pearson"] == 0 and values["linear_probe_mean", "pearson"] > 0.5


def test_a_head_that_always_says_the_same_is_marked(start, tmp_path):
    bert = load_encoder(start)
    torch.nn.init.zeros_(bert.pooler.dense.weight)
    torch.nn.init.ones_(bert.pooler.dense.bias)
    save_model(tmp_path, bert, TOKENIZER)
    table, _ = table_of(CLASSES, tmp_path, rows=FEW)
    answers = table.set_index("variant")["answer"]
    assert answers["random_head"].isin(["yes", "no"]).all()
    assert set(answers["linear_probe_pooled"]) == {"yes"}  # the majority of the training rows


def test_padding_leaves_no_trace_and_the_mean_is_over_every_token(start):
    bert, task = load_encoder(start), load_task(CLASSES, SIDECAR)
    examples = task.encode(ROWS["classes"]["dev"], TOKENIZER)
    together = features(task.model(bert, 0).eval(), examples, pad_id=0)
    for i in (0, 7):
        with torch.inference_mode():
            states = bert(torch.tensor([examples[i].input_ids]))
        assert together["pooled"][i] == pytest.approx(states.pooler_output[0].numpy(), abs=1e-5)
        assert together["mean"][i] == pytest.approx(
            states.last_hidden_state[0].mean(0).numpy(), abs=1e-5
        )


def test_the_same_bytes_twice_and_where_they_come_from(start, tmp_path):
    settings = {
        "model": "base",
        "child": "classes",
        "scale": "demo",
        "checkpoints": {"1": {"label": "tiny"}},
    }
    for name in "ab":
        table, used = table_of(CLASSES, start, rows=FEW, max_train=30)
        write_tsv(tmp_path / name, with_provenance(table, settings, SIDECAR, used))
    text = (tmp_path / "a").read_text()
    assert text == (tmp_path / "b").read_text()
    assert "toys dev 40 of 160 (mirror); linear probes on toys train 30 of 480 (mirror)" in text
