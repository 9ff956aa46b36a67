"""Small tasks, each with rows, and models for them."""

import numpy as np
import torch
from made_sidecars import sidecar
from transformers import BertConfig, BertModel, BertTokenizer

from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.text_classification import TextClassification

torch.set_num_threads(1)
LETTERS = list("abcdefghijkl")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *LETTERS]


def tokenizer_with(words):
    """Return BERT's tokenizer with these words and its special tokens."""
    return BertTokenizer(vocab={word: i for i, word in enumerate([*SPECIAL, *words])})


def bert_with(tokenizer, layers=1, **config):
    """Return a small random BERT, in eval mode, for this tokenizer."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    sizes |= {"num_hidden_layers": layers, "max_position_embeddings": 16, "initializer_range": 0.2}
    return BertModel(BertConfig(vocab_size=len(tokenizer), **sizes | config)).eval()


TOKENIZER = tokenizer_with(LETTERS)
RNG = np.random.default_rng(0)
# A classification task as the configuration has it, and what its data set's sidecar says.
SETTINGS = {
    "name": "toy",
    "dataset": "toys",
    "kind": "classification",
    "metrics": ["f1", "accuracy"],
    "max_length": 16,
}
SIDECAR = sidecar(train=9, dev=40)


def words(least, most):
    return " ".join(RNG.choice(LETTERS, RNG.integers(least, most)))


def pair(i, label):
    return {"id": str(i), "text_a": words(1, 6), "text_b": words(1, 9), "label": label}


def question(i):
    context = words(2, 20)
    answers = [{"text": context[:3], "start": 0}]
    row = {"id": str(i), "question": words(1, 4), "context": context}
    return row | {"answers": answers, "impossible": False}


CASES = {
    "classification": (
        TextClassification("toy", "toys", ("f1", "accuracy"), 16, ("no", "yes")),
        [pair(i, ["no", "yes"][i % 2]) for i in range(40)],
    ),
    "regression": (
        TextClassification("toy", "toys", ("pearson", "spearman"), 16, None),
        [pair(i, RNG.normal()) for i in range(30)],
    ),
    "spans": (
        AnswerSpans("squad", "squad", max_length=16, doc_stride=4, max_query_length=4),
        [question(i) for i in range(20)],
    ),
}  # fmt: skip


def model_of(task, layers=3):
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": layers, "num_attention_heads": 4}
    sizes |= {"intermediate_size": 64, "max_position_embeddings": 16, "initializer_range": 0.4}
    return task.model(BertModel(BertConfig(vocab_size=len(VOCABULARY), **sizes)), seed=1).eval()
