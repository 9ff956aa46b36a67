import numpy as np
import pytest
import torch

from bertshift.tasks.batching import Encoded, length_bucketed, pad


def lengths_like_glue(n: int, mean: float) -> np.ndarray:
    """Sentence lengths in pieces are about log-normal."""
    return np.clip(np.random.default_rng(0).lognormal(np.log(mean), 0.45, n).astype(int), 4, 128)


@pytest.mark.parametrize(("n", "batch_size", "pool"), [(1, 8, 10), (7, 8, 10), (100, 8, 3), (1000, 32, 100)])
def test_every_index_occurs_once_and_one_batch_a_pool_is_short(n, batch_size, pool):
    batches = length_bucketed(lengths_like_glue(n, 40), batch_size, np.random.default_rng(1), pool)
    assert sorted(i for batch in batches for i in batch) == list(range(n))
    assert max(map(len, batches)) <= batch_size
    assert len(batches) == -(-n // batch_size)
    assert sum(len(batch) < batch_size for batch in batches) == (n % batch_size > 0)


def test_batches_depend_on_the_generator_alone_and_are_shuffled():
    lengths = lengths_like_glue(500, 20)
    once, again, other = (length_bucketed(lengths, 16, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert once == again
    assert {frozenset(batch) for batch in once} != {
        frozenset(batch) for batch in other
    }  # ties fall otherwise
    shortest = [min(lengths[i] for i in batch) for batch in once]
    assert shortest != sorted(shortest)


def test_padding_and_its_mask():
    long, short = Encoded([5, 6, 7], [0, 0, 1]), Encoded([8], [1])
    batch = pad([long, short], pad_id=9)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 9, 9]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert pad([long, long], pad_id=9)["attention_mask"] is None
    assert pad([long], pad_id=9)["input_ids"].dtype == torch.int64
