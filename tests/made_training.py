"""Something to train of each kind: fine-tuning on every kind of task, and pretraining."""

from functools import partial

import numpy as np
import torch
from made_toys import CASES, LETTERS, TOKENIZER, model_of
from transformers import BertConfig, BertForPreTraining

from bertshift.tasks.loading import load_task
from bertshift.training import pretraining

TREEBANK = [
    {
        "id": str(size),
        "words": LETTERS[:size],
        # A tag that is not known is no part of the mean.
        "upos": ["UNKNOWN" if i % 4 == 3 else "XY"[i % 2] for i in range(size)],
        "heads": list(range(size)),
        "deprels": ["UNKNOWN" if i % 5 == 4 else ["root", "obj"][i % 2] for i in range(size)],
    }
    for size in (9, 1, 4, 12, 2, 7, 3)
]
LABELS = {"upos": ["X", "Y"], "deprels": ["root", "obj"]}


def parsed(kind, metric):
    settings = {
        "name": "toy",
        "dataset": "bank",
        "kind": kind,
        "metrics": [metric],
        "max_length": 16,
    }
    task = load_task(settings, {"kind": "treebank"}, [LABELS])
    return task, TREEBANK


TASKS = CASES | {
    "tags": parsed("tags", "accuracy"),
    "dependencies": parsed("dependencies", "las_ud"),
}


def case(kind):
    """(model without dropout, collate, loss, 7 examples)"""
    if kind == "pretraining":
        torch.manual_seed(1)
        config = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                            max_position_embeddings=16)  # fmt: skip
        ids = pretraining.PieceIds(0, 2, 3, 4, np.arange(5, 20))
        rng = np.random.default_rng(0)
        examples = [
            pretraining.mask(*rng.integers(5, 20, (2, size)).tolist(), size % 2, ids, 0.15, rng)
            for size in (6, 1, 2, 5, 3, 1, 6)
        ]
        return BertForPreTraining(config).eval(), ids.collate, pretraining.loss, examples
    task, rows = TASKS[kind]
    collate = partial(task.collate, pad_id=TOKENIZER.pad_token_id)
    return model_of(task), collate, task.loss, task.training_examples(rows, TOKENIZER)[:7]
