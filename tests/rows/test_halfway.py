"""Half of a change that is known."""

import numpy as np
import pytest

from bertshift.rows import halfway

SHARES = [0, 1, 2, 5, 10, 25, 50, 100]


@pytest.mark.parametrize(
    ("change", "half"),
    [
        (lambda share: share / 100, 50),
        (lambda share: 3 * np.minimum(1, share / 10), 5),
        # All of it between 10 and 25 %.
        (lambda share: 0.2 * np.clip((share - 10) / 15, 0, 1), 17.5),
        (lambda share: np.where(share < 5, 0, 0.7), 3.5),  # between two shares a jump is a line
        (lambda share: 1 + share * (100 - share), 0),  # there at once, and back at the end
        (lambda share: 0 * share, np.nan),
    ],
)
def test_half_of_a_change_that_is_known(change, half):
    share = halfway.half_change(SHARES, change(np.array(SHARES, float)))
    assert share == pytest.approx(half, nan_ok=True)
