from itertools import chain

import numpy as np
import pytest
import torch

from bertshift.tasks.batching import Encoded, length_bucketed, pad


def batches_of(n, size, pool=100, seed=1):
    """Batches of sentences whose lengths in pieces are about log-normal, as GLUE's are."""
    lengths = np.random.default_rng(0).lognormal(3.5, 0.45, n).astype(int)
    return length_bucketed(lengths, size, np.random.default_rng(seed), pool), lengths


@pytest.mark.parametrize(
    ("n", "size", "pool"), [(1, 8, 10), (7, 8, 10), (100, 8, 3), (1000, 32, 100)]
)
def test_every_index_occurs_once_and_one_batch_a_pool_is_short(n, size, pool):
    batches, _ = batches_of(n, size, pool)
    assert sorted(chain(*batches)) == list(range(n))
    assert max(map(len, batches)) <= size and len(batches) == -(-n // size)
    assert sum(len(batch) < size for batch in batches) == (n % size > 0)


def test_batches_depend_on_the_generator_alone_and_are_shuffled():
    (first, lengths), (same, _), (different, _) = (
        batches_of(500, 16, seed=seed) for seed in (3, 3, 4)
    )
    assert first == same
    # Equal lengths are shuffled too.
    assert set(map(frozenset, first)) != set(map(frozenset, different))
    shortest = [min(lengths[batch]) for batch in first]
    assert shortest != sorted(shortest)


def test_padding_and_its_mask():
    long, short = Encoded([5, 6, 7], [0, 0, 1]), Encoded([8], [1])
    batch = {key: value.tolist() for key, value in pad([long, short], pad_id=9).items()}
    assert batch["input_ids"] == [[5, 6, 7], [8, 9, 9]]
    assert batch["token_type_ids"] == [[0, 0, 1], [1, 0, 0]]
    assert batch["attention_mask"] == [[1, 1, 1], [1, 0, 0]]
    whole = pad([long, long], pad_id=9)
    assert whole["attention_mask"] is None and whole["input_ids"].dtype == torch.int64
