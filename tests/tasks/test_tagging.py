from itertools import chain

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from made_toys import bert_with, tokenizer_with

from bertshift.errors import UserError
from bertshift.tasks.loading import load_task
from bertshift.tasks.tagging import NONE, UNREAD

TASK = {"name": "upos", "dataset": "bank", "kind": "tags", "metrics": ["accuracy"]}
TASK |= {"max_length": 12}
TOKENIZER = tokenizer_with([*"abcd", *("##" + x for x in "abcd")])
TAGS = {"a": "NOUN", "b": "VERB", "c": "DET"}


def row(words, tags=None):
    tags = tags or " ".join(TAGS[word[0]] for word in words.split())
    return {"id": "x", "words": words.split(), "upos": tags.split()}


def task_of(*train, **changes):
    return load_task(TASK | changes, {"kind": "treebank"}, train)


TASK_ABC = task_of(row("a b c"))


@torch.inference_mode()
def test_a_word_is_tagged_by_its_first_piece_whatever_else_is_in_the_batch():
    rows = [row("ab b cda"), row("a"), row("bb a a a", "VERB X NOUN NOUN")]
    task, bert = TASK_ABC, bert_with(TOKENIZER)
    model, alone = task.model(bert, 1).eval(), []
    for sentence in rows:
        pieces = TOKENIZER(sentence["words"], add_special_tokens=False)["input_ids"]
        first = np.cumsum([1, *map(len, sentence["words"])])[:-1]
        states = bert(torch.tensor([[2, *chain(*pieces), 3]])).last_hidden_state[0, first]
        alone.append(model.head(states))
    tags = [[task.labels[i] for i in logits.argmax(-1)] for logits in alone]
    assert task.predict(model, rows, TOKENIZER) == tags
    batch = task.collate(task.encode(rows, TOKENIZER), TOKENIZER.pad_token_id)
    number = {tag: i for i, tag in enumerate(task.labels)} | {"X": NONE}
    gold = torch.tensor([number[tag] for sentence in rows for tag in sentence["upos"]])
    expected = F.cross_entropy(torch.cat(alone), gold)
    torch.testing.assert_close(task.loss(model, batch), expected, rtol=1e-5, atol=0)


def test_words_beyond_the_window_are_wrong_and_counted(caplog):
    task, long = TASK_ABC, row("aaaa bbbb cccc a")  # 13 pieces; the window of 12 holds 10 of them
    assert [len(example.target) for example in task.encode([long], TOKENIZER)] == [2]
    [tags] = task.predict(task.model(bert_with(TOKENIZER), 1), [long], TOKENIZER)
    assert tags[2:] == [UNREAD, UNREAD] and "2 words lie beyond 12 pieces" in caplog.text
    assert task.score([long], [[*long["upos"][:2], UNREAD, UNREAD]]) == {"accuracy": 0.5}


def test_majority_is_that_of_what_is_scored():
    dev, train = [row("a b"), row("b")], [row("a a b c")]
    # VERB, which is not the most frequent of train.
    assert task_of(*train).majority(train, dev) == {"accuracy": 2 / 3}


def test_inputs_have_128_tokens_where_nothing_is_said():
    settings = {key: value for key, value in TASK.items() if key != "max_length"}
    assert load_task(settings, {"kind": "treebank"}, [row("a")]).max_length == 128


def test_heads_of_other_tags_cannot_replace_each_other():
    bert = bert_with(TOKENIZER)
    three, two = (task_of(row(words)).model(bert, 1).outputs for words in ("a b c", "a b"))
    assert three != two and three == task_of(row("c b a")).model(bert, 2).outputs


def test_errors_say_what_to_write(caplog):
    task = TASK_ABC
    with pytest.raises(UserError, match="bank is not a treebank"):
        load_task(TASK, {"kind": "pair"}, [])
    with pytest.raises(UserError, match="'f1'"):
        task_of(row("a"), metrics=["f1"])
    with pytest.raises(UserError, match="split dev, x: 2 words and 1 tags"):
        task.check({"dev": [row("a b", "NOUN")]})
    task.check({"dev": [row("a b", "NOUN X")]})
    assert "1 of 2 words of split dev have tags that split train lacks (X)" in caplog.text
    with pytest.raises(UserError, match="max_length 12"):
        task.training_examples([row("a" * 20)], TOKENIZER)
