"""The tokens that a comparison looks at: the same for every model and layer."""

import numpy as np

from bertshift.seeds import seed_from

# All metrics of sampled dumps look at the same tokens. RSA came first, so its name seeds their
# draw.
SHARED = "rsa"


def is_special_or_first(special: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Mark special tokens, and the first token of each example: [N] bool.

    In most models the first token is special too. In a decoder it may be a word's, but heads rest
    on it and its states differ from all others, whatever the word.
    """
    marked = special.copy()
    marked[offsets[:-1]] = True
    return marked


def sample_tokens(
    special_tokens: np.ndarray, count: int | None, *name: str, special: bool = True
) -> np.ndarray:
    """Draw tokens without replacement, pooled over all examples: sorted positions.

    The draw depends on the arguments alone.

    special_tokens: [N] bool, for example of `is_special_or_first`
    count: how many are drawn; all if there are no more
    special: whether the `special_tokens` take part
    """
    eligible = np.arange(len(special_tokens)) if special else np.flatnonzero(~special_tokens)
    if count is None or count >= len(eligible):
        return eligible
    generator = np.random.default_rng(seed_from(*name))
    return np.sort(generator.choice(eligible, count, replace=False, shuffle=False))


def two_samples(special_tokens: np.ndarray, count: int, stimuli: str) -> dict[str, np.ndarray]:
    """Draw the tokens that metrics of sampled dumps compare, by variant: `sample_tokens` of
    "content" (without special tokens) and of "all_tokens"."""
    return {
        "content": sample_tokens(special_tokens, count, SHARED, stimuli, "content", special=False),
        "all_tokens": sample_tokens(special_tokens, count, SHARED, stimuli, "all_tokens"),
    }


def sampled(special_tokens: np.ndarray, count: int, stimuli: str) -> np.ndarray:
    """List the sorted positions that are in either of `two_samples`."""
    samples = two_samples(special_tokens, count, stimuli)
    return np.union1d(samples["content"], samples["all_tokens"])
