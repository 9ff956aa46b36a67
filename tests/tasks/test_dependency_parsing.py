import logging
from random import Random

import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from fine_tuning import finetune, score_untrained
from made_sidecars import sidecar
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.models.heads import load_task_model
from bertshift.models.loading import save_model
from bertshift.models.tokenizer import word_pieces
from bertshift.rows.failure import failed
from bertshift.tasks.dependency_parsing import METRICS, UNREAD, Parse, best_parses
from bertshift.tasks.loading import load_task
from bertshift.training.finetuning import starting_model
from bertshift.training.settings import TrainSettings
from demo_world.edges import sentence

torch.set_num_threads(1)
TASK = {"name": "dep", "dataset": "bank", "kind": "dependencies", "metrics": list(METRICS), "max_length": 64}
TREEBANK = sidecar(train=60, dev=20, name="ewt", kind="treebank")


def drawn(number):
    rng = Random(0)
    for i in range(number):
        found = sentence(rng)
        columns = {key: getattr(found, key) for key in ("words", "upos", "xpos", "heads", "deprels")}
        yield {"id": f"s{i}", "split": "train", "text": " ".join(found.words), **columns}


def row(words, upos, heads, deprels):
    return {"id": "x", "words": words.split(), "upos": upos.split(), "xpos": upos.split(), "heads": heads,
            "deprels": deprels.split()}  # fmt: skip


ROWS = list(drawn(12))
WORDS = sorted({word.lower() for each in ROWS for word in each["words"] if len(word) > 1})
LETTERS = sorted(set("".join(WORDS)) | {".", ","})
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *LETTERS, *("##" + x for x in LETTERS), *WORDS[::2]]
TOKENIZER = BertTokenizer(vocab={piece: i for i, piece in enumerate(VOCABULARY)})


@pytest.fixture
def bert():
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    return BertModel(
        BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=64, initializer_range=0.1, **sizes)
    ).eval()


@pytest.fixture
def start(bert, tmp_path):
    save_model(tmp_path / "start", bert, TOKENIZER)
    return tmp_path / "start"


def batch_of(task, rows):
    return task.collate(task.encode(rows, TOKENIZER)[0], TOKENIZER.pad_token_id)


def test_scores_of_two_sentences():
    rows = [
        row("They were seen today .", "PRON AUX VERB NOUN PUNCT", [3, 3, 0, 3, 3],
            "nsubj:pass aux:pass root obl:tmod punct"),
        row("Go unbelievably fast", "VERB ADV ADV", [0, 3, 1], "root advmod advmod"),
    ]  # fmt: skip
    first = [
        (3, "nsubj:pass"),
        (3, "aux"),
        (0, "root"),
        (3, "obl"),
        (4, "punct"),
    ]  # two subtypes, one head wrong
    second = [(0, "root"), (1, "advmod"), UNREAD]
    parses = [
        Parse(first, ["nsubj", "aux:pass", "root", "obl:tmod", "punct"], [1, 1, 1, 1, 1]),
        Parse(second, ["root", "obl", "_"], [1, 4, 2]),
    ]
    task = load_task(TASK, TREEBANK, rows)
    assert task.score(rows, parses) == {
        "las_ud": 5 / 8,
        "las_full": 3 / 8,
        "las_nopunct": 5 / 7,
        "uas": 5 / 8,
        "label_accuracy_gold_heads": 5 / 8,
        "las_wordpiece": (5 + 3) / (5 + 7),
    }
    assert load_task(TASK | {"metrics": ["uas"]}, TREEBANK, rows).score(rows, parses) == {"uas": 5 / 8}
    columns = task.columns(rows, parses)
    assert columns["gold"][1] == "0:root 3:advmod 1:advmod" and columns["correct"] == [4 / 5, 1 / 3]
    assert columns["prediction"] == ["3:nsubj:pass 3:aux 0:root 3:obl 4:punct", "0:root 1:advmod -1:_"]


def test_majority_is_the_chain_and_label_that_attach_most_words_of_what_is_scored():
    train = [row("a b c", "X X X", [0, 1, 2], "root punct punct")]
    # "punct" is the most frequent label, but no word beside its head has it.
    dev = [
        row("a b c d", "X X X PUNCT", [2, 3, 0, 1], "nmod:poss nmod root punct"),
        row("a b c d", "X X PUNCT PUNCT", [2, 0, 1, 1], "det root punct punct"),
    ]
    task = load_task(TASK, TREEBANK, [*train, *dev])
    majority = task.majority(train, dev)
    assert majority["las_ud"] == 2 / 8 and majority["las_full"] == 1 / 8 and majority["uas"] == 3 / 8
    rows = [(each, len(each["words"])) for each in dev]
    for label in task.labels:
        for chain in (lambda n: [*range(n)], lambda n: [*range(2, n + 1), 0]):
            said = [Parse([(head, label) for head in chain(n)], [label] * n, [1] * n) for _, n in rows]
            assert failed({"metric": "las_ud", "scores": task.score(dev, said), "majority": majority})


@pytest.mark.parametrize(
    ("heads", "words"), [([2, 1, 0], "a cycle"), ([0, 0, 1], "2 roots"), ([4, 0, 1], "a head 4")]
)
def test_rows_must_be_trees(heads, words):
    bad = row("a b c", "X X X", heads, "root root root")
    with pytest.raises(UserError, match=f"bank, split dev, x: the sentence has {words}"):
        load_task(TASK, TREEBANK, ROWS).check({"train": ROWS, "dev": [bad]})


def test_labels_that_training_lacks_are_counted_and_wrong(bert, caplog):
    task = load_task(TASK, TREEBANK, ROWS)
    assert task.labels == tuple(sorted(set(task.labels))) and "root" in task.labels
    dev = [row("go now", "VERB ADV", [0, 1], "root never:seen")]
    with caplog.at_level(logging.WARNING):
        task.check({"train": ROWS, "dev": dev})
    assert "1 of 2 words of split dev have relations that split train lacks (never:seen)" in caplog.text
    found = task.score(dev, task.predict(task.model(bert, 1), dev, TOKENIZER))
    assert found["las_full"] <= 0.5 and found["uas"] in (0, 1)


def test_loss_is_that_of_the_formulas_word_by_word(bert):
    task = load_task(TASK, TREEBANK, ROWS)
    model = task.model(bert, seed=1).eval()
    head, arcs, labels = model.head, [], []

    def features(layer, state):
        return F.leaky_relu(layer(state), 0.1)

    for each in ROWS[:3]:
        pieces = word_pieces(TOKENIZER, [each["words"]])[0]
        ids = [TOKENIZER.cls_token_id, *(i for word in pieces for i in word), TOKENIZER.sep_token_id]
        states = bert(torch.tensor([ids])).last_hidden_state[0]
        places = [0, *(1 + sum(map(len, pieces[:i])) for i in range(len(pieces)))]
        one = torch.ones(1)
        for word, (gold, label) in enumerate(zip(each["heads"], each["deprels"]), 1):
            x = states[places[word]]
            dependent = torch.cat([features(head.arc_dependent, x), one])
            scores = [
                dependent @ head.arc_weight @ features(head.arc_head, states[place]) for place in places
            ]
            arcs.append(F.cross_entropy(torch.stack(scores), torch.tensor(gold)))
            dependent = torch.cat([features(head.label_dependent, x), one])
            above = torch.cat([features(head.label_head, states[places[gold]]), one])
            scores = [dependent @ weight @ above for weight in head.label_weight]
            labels.append(F.cross_entropy(torch.stack(scores), torch.tensor(task.labels.index(label))))
    expected = torch.stack(arcs).mean() + torch.stack(labels).mean()
    torch.testing.assert_close(task.loss(model, batch_of(task, ROWS[:3])), expected)


def test_a_parse_does_not_depend_on_its_batch(bert):
    task = load_task(TASK, TREEBANK, ROWS)
    model = task.model(bert, seed=1).train()
    together = task.predict(model, ROWS, TOKENIZER)
    assert model.training
    assert together == [task.predict(model, [each], TOKENIZER)[0] for each in ROWS]
    assert [len(parse.arcs) for parse in together] == [len(each["words"]) for each in ROWS]


def test_dropout_takes_the_same_features_from_all_words_of_a_sentence(bert):
    task = load_task(TASK, TREEBANK, ROWS)
    head = task.model(bert, seed=1).head.train()
    dropped = head._features(head.arc_head, torch.randn(3, 5, 64)) == 0
    assert (dropped == dropped[:, :1]).all() and 0.2 < dropped.float().mean() < 0.45
    assert (dropped[0, 0] != dropped[1, 0]).any()


def test_what_is_too_long_is_cut_off_and_counted(bert, caplog):
    sizes = [sum(map(len, pieces)) + 2 for pieces in word_pieces(TOKENIZER, [each["words"] for each in ROWS])]
    longest = max(sizes)
    task = load_task(TASK | {"max_length": longest - 1}, TREEBANK, ROWS)
    with caplog.at_level(logging.WARNING):
        examples = task.training_examples(ROWS, TOKENIZER)
    lost = sizes.count(longest)
    assert [len(example) for example in examples] == [size for size in sizes if size < longest]
    assert f"{lost} of 12 sentences have more than {longest - 1} pieces and are left out" in caplog.text

    chained = ROWS[sizes.index(longest)]  # only its last word, a full stop of one piece, does not fit
    words = len(chained["words"])
    cut = [chained | {"heads": [*range(2, words + 1), 0]}]
    with caplog.at_level(logging.WARNING):
        [parse] = task.predict(task.model(bert, 1), cut, TOKENIZER)
    assert "bank: 1 words of 1 sentences lie beyond" in caplog.text
    assert [arc == UNREAD for arc in parse.arcs] == [False] * (words - 1) + [True]
    assert [label == "_" for label in parse.under_gold] == [False] * (words - 2) + [True, True]
    assert sum(parse.pieces) + 2 == longest

    with pytest.raises(UserError, match="no sentence of bank has at most max_length 4 pieces"):
        load_task(TASK | {"max_length": 4}, TREEBANK, ROWS).training_examples(ROWS, TOKENIZER)


def test_twelve_sentences_are_learned_by_heart(start, tmp_path):
    settings = TrainSettings(learning_rate=1e-3, batch_size=12, steps=60)
    rows, run = {"train": ROWS, "dev": ROWS}, tmp_path / "run"
    untrained = score_untrained(TASK, rows, TREEBANK, start, 1)
    result = finetune(TASK, rows, TREEBANK, start, run, settings, 1)
    assert result["scores"]["las_full"] > 0.95 and result["metric"] == "las_ud"
    assert untrained["las_ud"] < 0.5 and untrained["uas"] >= untrained["las_ud"] >= untrained["las_full"]
    assert result["majority"]["las_ud"] < 0.5 and result["rows"] == {"train": 12, "dev": 12}
    table = pd.read_csv(run / "predictions.tsv", sep="\t")
    assert list(table) == ["id", "gold", "prediction", "correct"] and table.correct.mean() > 0.95
    batch = batch_of(load_task(TASK, TREEBANK, ROWS), ROWS)
    heads = best_parses(load_task_model(run), batch)[0][:, 1:]
    assert (heads == batch["targets"][:, 1:, 1].clamp(min=0).numpy()).mean() > 0.95


def test_a_head_is_not_carried_where_the_labels_differ(start, tmp_path, bert):
    save_model(tmp_path / "run", load_task(TASK, TREEBANK, ROWS).model(bert, 1), TOKENIZER)
    renamed = [each | {"deprels": [f"{label}:z" for label in each["deprels"]]} for each in ROWS]
    with pytest.raises(UserError, match=r"has \d+ labels .*task dep needs .*:z"):
        starting_model(load_task(TASK, TREEBANK, renamed), start, 2, head_from=tmp_path / "run")
