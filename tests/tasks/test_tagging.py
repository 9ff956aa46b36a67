from itertools import chain

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.errors import UserError
from bertshift.rows.failure import failed
from bertshift.tasks.loading import load_task
from bertshift.tasks.tagging import NONE, UNREAD

torch.set_num_threads(1)
TASK = {"name": "upos", "dataset": "bank", "kind": "tags", "metrics": ["accuracy"], "max_length": 12}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcd", *("##" + x for x in "abcd")]
TOKENIZER = BertTokenizer(vocab={piece: i for i, piece in enumerate(PIECES)})
TAGS = {"a": "NOUN", "b": "VERB", "c": "DET"}


def row(words, tags=None):
    words = words.split()
    return {"id": "x", "words": words, "upos": tags.split() if tags else [TAGS[word[0]] for word in words]}


@pytest.fixture
def bert():
    torch.manual_seed(0)
    return BertModel(
        BertConfig(vocab_size=len(PIECES), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                   intermediate_size=32, max_position_embeddings=16, initializer_range=0.2)
    ).eval()  # fmt: skip


@pytest.fixture
def task():
    return load_task(TASK, {"kind": "treebank"}, [row("a b c")])


def test_a_word_is_tagged_by_its_first_piece_whatever_stands_beside_it_in_the_batch(task, bert):
    rows = [row("ab b cda"), row("a"), row("bb a a a", "VERB X NOUN NOUN")]
    model = task.model(bert, 1).eval()
    alone = []
    for each in rows:
        pieces = [TOKENIZER(word, add_special_tokens=False)["input_ids"] for word in each["words"]]
        first = np.cumsum([1, *map(len, each["words"])])[:-1]
        with torch.inference_mode():
            states = bert(torch.tensor([[2, *chain(*pieces), 3]])).last_hidden_state[0, first]
            alone.append(model.head(states))
    assert task.predict(model, rows, TOKENIZER) == [
        [task.labels[i] for i in logits.argmax(-1)] for logits in alone
    ]
    batch = task.collate(task.encode(rows, TOKENIZER), TOKENIZER.pad_token_id)
    number = {tag: i for i, tag in enumerate(task.labels)} | {"X": NONE}
    gold = torch.tensor([number[tag] for each in rows for tag in each["upos"]])
    with torch.inference_mode():
        assert task.loss(model, batch).item() == pytest.approx(F.cross_entropy(torch.cat(alone), gold).item(), rel=1e-5)  # fmt: skip


def test_words_beyond_the_window_are_wrong_and_told(task, bert, caplog):
    long = row("aaaa bbbb cccc a")  # 13 pieces; the window of 12 holds 10 of them
    assert [len(e.target) for e in task.encode([long], TOKENIZER)] == [2]
    said = task.predict(task.model(bert, 1), [long], TOKENIZER)
    assert said[0][2:] == [UNREAD, UNREAD] and "2 words lie beyond 12 pieces" in caplog.text
    assert task.score([long], [[*long["upos"][:2], UNREAD, UNREAD]]) == {"accuracy": 0.5}


def test_majority_is_that_of_what_is_scored():
    dev, train = [row("a b", "NOUN VERB"), row("b", "VERB")], [row("a a b c", "NOUN NOUN VERB DET")]
    task = load_task(TASK, {"kind": "treebank"}, train)
    majority = task.majority(train, dev)
    assert majority == {"accuracy": 2 / 3}  # VERB, which is not the most frequent of train
    for tag in task.labels:
        said = task.score(dev, [[tag] * len(each["words"]) for each in dev])
        assert failed({"metric": "accuracy", "scores": said, "majority": majority})
    assert task.majority(train, [row("b c", "VERB DET"), row("c b", "DET VERB")]) == {"accuracy": 1 / 2}


def test_errors_say_what_to_write(task, caplog):
    with pytest.raises(UserError, match="bank is no treebank"):
        load_task(TASK, {"kind": "pair"}, [])
    with pytest.raises(UserError, match="'f1' does not suit"):
        load_task(TASK | {"metrics": ["f1"]}, {"kind": "treebank"}, [row("a")])
    with pytest.raises(UserError, match="split dev, x: 2 words and 1 tags"):
        task.check({"dev": [row("a b", "NOUN")]})
    task.check({"dev": [row("a b", "NOUN X")]})
    assert "1 of 2 words of split dev have tags that split train lacks (X)" in caplog.text
    with pytest.raises(UserError, match="no word of bank fits into max_length 12"):
        task.training_examples([row("a" * 20)], TOKENIZER)
