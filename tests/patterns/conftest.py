import numpy as np
import pytest
import torch

from bertshift.patterns import shares, sheet
from bertshift.patterns.attention import Attended

torch.set_num_threads(1)


def tokens_of(row):
    """[CLS] words [SEP] words [SEP], as `attend` yields it."""
    first, second = (row.get(side, "").split() for side in ("text_a", "text_b"))
    tokens = ["[CLS]", *first, "[SEP]"] + [*second, "[SEP]"] * bool(second)
    segment = np.arange(len(tokens)) > len(first) + 1
    return tokens, np.isin(tokens, ["[CLS]", "[SEP]"]), segment.astype(np.uint8)


@pytest.fixture
def attended(monkeypatch):
    """Takes the place of a model of 2 layers x 3 heads: maps drawn from the model folder's name
    and the row's id."""

    def attend(folder, rows, max_length):
        for number, row in reversed(list(enumerate(rows))):
            tokens, special, segment = tokens_of(row)
            maps = torch.from_numpy(maps_of(folder, row, len(tokens)))
            yield Attended(number, tokens, special, segment, maps, causal=False)

    for module in (sheet, shares):
        monkeypatch.setattr(module, "attend", attend)
    return maps_of


def maps_of(folder, row, length):
    random = np.random.default_rng(list(f"{folder} {row['id']}".encode()))
    return random.dirichlet(np.full(length, 0.2), (2, 3, length)).astype(np.float32)


@pytest.fixture(scope="session")
def inputs():
    """20 inputs of different lengths, every second one a pair."""
    rows = [{"id": f"dev-{n}", "text_a": "a " * (1 + n)} for n in range(20)]
    for n in range(1, 20, 2):
        rows[n]["text_b"] = "b " * (2 + n // 2)
    return rows


@pytest.fixture
def models():
    """What `sheet.choose` takes: two models, one of two replicates."""
    shape = {"layers": 2, "heads": 3}
    return {
        "rte": shape | {"task": "rte", "runs": {"r1": (1, 1), "r2": (2, 1)}},
        "sst2": shape | {"task": "sst2", "runs": {"s1": (1, 1)}},
    }
