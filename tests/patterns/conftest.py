import numpy as np
import pytest
import torch

from bertshift.patterns import shares, sheet
from bertshift.patterns.attention import Attended

torch.set_num_threads(1)


def tokens_of(row):
    """[CLS] words [SEP] words [SEP], as `attend` says it."""
    tokens, segment = ["[CLS]"], [0]
    for number, text in enumerate(filter(None, (row["text_a"], row.get("text_b")))):
        tokens += [*text.split(), "[SEP]"]
        segment += [number] * (len(text.split()) + 1)
    return tokens, np.isin(tokens, ["[CLS]", "[SEP]"]), np.array(segment, np.uint8)


@pytest.fixture
def attended(monkeypatch):
    """Takes the place of a model of 2 layers x 3 heads: maps drawn from the model folder's name
    and the row's id."""

    def attend(folder, rows, max_length):
        for number, row in reversed(list(enumerate(rows))):
            tokens, special, segment = tokens_of(row)
            yield Attended(
                number,
                tokens,
                special,
                segment,
                torch.from_numpy(maps_of(folder, row, len(tokens))),
                causal=False,
            )

    for module in (sheet, shares):
        monkeypatch.setattr(module, "attend", attend)
    return maps_of


def maps_of(folder, row, length):
    random = np.random.default_rng(list(f"{folder} {row['id']}".encode()))
    return random.dirichlet(np.full(length, 0.2), (2, 3, length)).astype(np.float32)


@pytest.fixture(scope="session")
def inputs():
    """20 inputs of different lengths, every second one a pair."""
    return [
        {
            "id": f"dev-{n}",
            "text_a": "a " * (1 + n),
            **({"text_b": "b " * (2 + n // 2)} if n % 2 else {}),
        }
        for n in range(20)
    ]


@pytest.fixture
def models():
    """What `sheet.choose` takes: two models, one of two replicates."""
    shape = {"layers": 2, "heads": 3}
    return {
        "rte": shape | {"task": "rte", "runs": {"r1": (1, 1), "r2": (2, 1)}},
        "sst2": shape | {"task": "sst2", "runs": {"s1": (1, 1)}},
    }
