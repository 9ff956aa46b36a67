from itertools import accumulate, chain
from random import Random

import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from fine_tuning import finetune, score_untrained
from made_sidecars import sidecar
from made_toys import bert_with, tokenizer_with

from bertshift.errors import UserError
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import word_pieces
from bertshift.tasks.dependency_parsing import METRICS, UNREAD, Parse
from bertshift.tasks.loading import load_task
from bertshift.training.finetuning import starting_model
from bertshift.training.settings import TrainSettings
from demo_world.edges import sentence

TASK = {"name": "dep", "dataset": "bank", "kind": "dependencies", "metrics": list(METRICS)}
TASK |= {"max_length": 64}
TREEBANK = sidecar(train=60, dev=20, name="ewt", kind="treebank")


def row(words, upos, heads, deprels):
    words, upos, deprels = words.split(), upos.split(), deprels.split()
    return {
        "id": "x",
        "words": words,
        "upos": upos,
        "xpos": upos,
        "heads": heads,
        "deprels": deprels,
    }


def random_rows(number):
    rng = Random(0)
    columns = ("words", "upos", "xpos", "heads", "deprels")
    sentences = [sentence(rng) for _ in range(number)]
    return [{"id": "x"} | {key: getattr(tree, key) for key in columns} for tree in sentences]


def task_of(rows, **changes):
    return load_task(TASK | changes, TREEBANK, rows)


ROWS = random_rows(12)
TASK_12 = task_of(ROWS)
WORDS = sorted({word.lower() for tree in ROWS for word in tree["words"]})
LETTERS = sorted({*"".join(WORDS)})
TOKENIZER = tokenizer_with(dict.fromkeys([*LETTERS, *("##" + x for x in LETTERS), *WORDS[::2]]))


@pytest.fixture
def bert():
    sizes = {"hidden_size": 64, "intermediate_size": 128, "max_position_embeddings": 64}
    return bert_with(TOKENIZER, layers=2, initializer_range=0.1, **sizes)


def test_scores_of_two_sentences():
    rows = [
        row("They were seen today .", "PRON AUX VERB NOUN PUNCT", [3, 3, 0, 3, 3],
            "nsubj:pass aux:pass root obl:tmod punct"),
        row("Go unbelievably fast", "VERB ADV ADV", [0, 3, 1], "root advmod advmod"),
    ]  # fmt: skip
    # Two subtypes and one head are wrong.
    first = [(3, "nsubj:pass"), (3, "aux"), (0, "root"), (3, "obl"), (4, "punct")]
    second = [(0, "root"), (1, "advmod"), UNREAD]
    parses = [
        Parse(first, ["nsubj", "aux:pass", "root", "obl:tmod", "punct"], [1, 1, 1, 1, 1]),
        Parse(second, ["root", "obl", "_"], [1, 4, 2]),
    ]
    task = task_of(rows)
    assert task.score(rows, parses) == {
        "las_ud": 5 / 8,
        "las_full": 3 / 8,
        "las_nopunct": 5 / 7,
        "uas": 5 / 8,
        "label_accuracy_gold_heads": 5 / 8,
        "las_wordpiece": (5 + 3) / (5 + 7),
    }
    columns = task.columns(rows, parses)
    assert columns["gold"][1] == "0:root 3:advmod 1:advmod"
    assert columns["prediction"][1] == "0:root 1:advmod -1:_"
    assert columns["correct"] == [4 / 5, 1 / 3]


def test_majority_is_the_chain_and_label_that_attach_most_words_of_what_is_scored():
    train = [row("a b c", "X X X", [0, 1, 2], "root punct punct")]
    # "punct" is the most frequent label, but no word beside its head has it.
    dev = [
        row("a b c d", "X X X PUNCT", [2, 3, 0, 1], "nmod:poss nmod root punct"),
        row("a b c d", "X X PUNCT PUNCT", [2, 0, 1, 1], "det root punct punct"),
    ]
    task = task_of([*train, *dev])
    majority = task.majority(train, dev)
    assert (majority["las_ud"], majority["las_full"], majority["uas"]) == (2 / 8, 1 / 8, 3 / 8)


@pytest.mark.parametrize(
    ("heads", "problem"),
    [([2, 1, 0], "a cycle"), ([0, 0, 1], "2 roots"), ([4, 0, 1], "a head 4")],
)
def test_rows_must_be_trees(heads, problem):
    bad = row("a b c", "X X X", heads, "root root root")
    with pytest.raises(UserError, match=f"bank, split dev, x: .*{problem}"):
        TASK_12.check({"train": ROWS, "dev": [bad]})


def test_labels_that_training_lacks_are_counted_and_wrong(bert, caplog):
    dev = [row("go now", "VERB ADV", [0, 1], "root never:seen")]
    TASK_12.check({"train": ROWS, "dev": dev})
    assert "1 of 2 words of split dev" in caplog.text and "(never:seen)" in caplog.text
    parses = TASK_12.predict(TASK_12.model(bert, 1), dev, TOKENIZER)
    assert TASK_12.score(dev, parses)["las_full"] <= 0.5


def test_loss_is_that_of_the_formulas_sentence_by_sentence(bert):
    model = TASK_12.model(bert, seed=1).eval()
    head, arc_losses, label_losses = model.head, [], []

    def features(layer, states, bias=False):
        return F.pad(F.leaky_relu(layer(states), 0.1), (0, int(bias)), value=1)

    for tree in ROWS[:3]:
        pieces = word_pieces(TOKENIZER, [tree["words"]])[0]
        ids = [TOKENIZER.cls_token_id, *chain(*pieces), TOKENIZER.sep_token_id]
        first = [0, *accumulate(map(len, pieces[:-1]), initial=1)]
        states = bert(torch.tensor([ids])).last_hidden_state[0, first]
        heads = torch.tensor(tree["heads"])
        dependent = features(head.arc_dependent, states[1:], bias=True)
        scores = dependent @ head.arc_weight @ features(head.arc_head, states).T
        arc_losses.append(F.cross_entropy(scores, heads, reduction="none"))
        dependent = features(head.label_dependent, states[1:], bias=True)
        above = features(head.label_head, states[heads], bias=True)
        scores = torch.einsum("wi,lij,wj->wl", dependent, head.label_weight, above)
        labels = torch.tensor([TASK_12.labels.index(label) for label in tree["deprels"]])
        label_losses.append(F.cross_entropy(scores, labels, reduction="none"))
    expected = torch.cat(arc_losses).mean() + torch.cat(label_losses).mean()
    batch = TASK_12.collate(TASK_12.encode(ROWS[:3], TOKENIZER)[0], TOKENIZER.pad_token_id)
    torch.testing.assert_close(TASK_12.loss(model, batch), expected)


def test_a_parse_does_not_depend_on_its_batch(bert):
    model = TASK_12.model(bert, seed=1).train()
    together = TASK_12.predict(model, ROWS, TOKENIZER)
    assert model.training
    assert together == [TASK_12.predict(model, [tree], TOKENIZER)[0] for tree in ROWS]
    assert [len(parse.arcs) for parse in together] == [len(tree["words"]) for tree in ROWS]


def test_dropout_takes_the_same_features_from_all_words_of_a_sentence(bert):
    head = TASK_12.model(bert, seed=1).head.train()
    dropped = head._compute_features(head.arc_head, torch.randn(3, 5, 64)) == 0
    assert (dropped == dropped[:, :1]).all() and 0.2 < dropped.float().mean() < 0.45
    assert (dropped[0, 0] != dropped[1, 0]).any()


def test_sentences_that_are_too_long_are_cut_off_and_counted(bert, caplog):
    pieces = word_pieces(TOKENIZER, [tree["words"] for tree in ROWS])
    sizes = [len([*chain(*words)]) + 2 for words in pieces]
    longest = max(sizes)
    task = task_of(ROWS, max_length=longest - 1)
    examples = task.training_examples(ROWS, TOKENIZER)
    assert [len(example) for example in examples] == [size for size in sizes if size < longest]
    assert f"{sizes.count(longest)} of 12 sentences" in caplog.text

    # The last word, a full stop of one piece, does not fit: it is the root of the others.
    tree = ROWS[sizes.index(longest)]
    words = len(tree["words"])
    tree = tree | {"heads": [*range(2, words + 1), 0]}
    [parse] = task.predict(task.model(bert, 1), [tree], TOKENIZER)
    assert "bank: 1 words of 1 sentences lie beyond" in caplog.text
    assert parse.arcs.index(UNREAD) == words - 1
    assert parse.under_gold.index("_") == words - 2 and parse.under_gold[-1] == "_"
    assert sum(parse.pieces) + 2 == longest

    with pytest.raises(UserError, match="bank .*max_length 4"):
        task_of(ROWS, max_length=4).training_examples(ROWS, TOKENIZER)


def test_twelve_sentences_are_learned_by_heart(bert, tmp_path):
    start, run, rows = tmp_path / "start", tmp_path / "run", {"train": ROWS, "dev": ROWS}
    save_model(start, bert, TOKENIZER)
    settings = TrainSettings(learning_rate=1e-3, batch_size=12, steps=60)
    assert score_untrained(TASK, rows, TREEBANK, start, 1)["las_ud"] < 0.5
    result = finetune(TASK, rows, TREEBANK, start, run, settings, 1)
    assert result["scores"]["las_full"] > 0.95 and result["metric"] == "las_ud"
    assert result["majority"]["las_ud"] < 0.5
    table = pd.read_csv(run / "predictions.tsv", sep="\t")
    assert list(table) == ["id", "gold", "prediction", "correct"] and table.correct.mean() > 0.95

    renamed = [tree | {"deprels": [f"{label}:z" for label in tree["deprels"]]} for tree in ROWS]
    with pytest.raises(UserError, match=r"has \d+ labels .*task dep needs .*:z"):
        starting_model(task_of(renamed), start, 2, head_from=run)
