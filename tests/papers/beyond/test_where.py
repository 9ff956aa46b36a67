"""The contrast of thirds has an interval over inputs and replicates."""

import numpy as np
import pandas as pd
import pytest

from bertshift.papers.beyond import where
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.estimates import BOTH, estimate

SEEDS, LAYERS = (1, 2, 3), range(7)


def test_a_contrast_is_taken_anew_without_each_block():
    rng = np.random.default_rng(0)
    cells = 0.8 - 0.1 * np.abs(np.subtract.outer(LAYERS, LAYERS))
    # [seed, number (all, without each block), layer, layer]
    numbers = cells + 0.02 * rng.normal(size=(3, 1, 7, 7)) + 0.003 * rng.normal(size=(3, 21, 7, 7))
    index = pd.MultiIndex.from_product([SEEDS, LAYERS, LAYERS], names=["seed", "layer", "ref_layer"])
    table = pd.DataFrame(
        np.moveaxis(numbers, 1, -1).reshape(-1, 21), index, ["value", *JACKKNIFE_COLUMNS]
    ).reset_index()
    same = {"metric": "layer_cka", "model": "rte", "stimuli": "rte", "tokens": "content", "variant": "after",
            "init": 1, "ref_init": 1, "ref_seed": 0, "head": 0, "scale": "demo", "checkpoint": "c", "family": "bert", "data": "d"}  # fmt: skip
    drawn = where.tidy({"results/layer_cka/rte_vs_base.tsv": table.assign(**same)})
    drawn = drawn.set_index("variant").loc["after_contrast"]
    within, between = numbers[..., [5, 6], [6, 5]].mean(-1), numbers[..., 5:, 1:3].mean((-2, -1))
    contrasts = within - between
    expected = estimate(contrasts[:, 0], None, contrasts[:, 1:])
    found = drawn[["value", "low", "high"]].to_numpy(float)
    assert found == pytest.approx([expected.mean, expected.low, expected.high], abs=1e-12)
    assert drawn["interval"] == BOTH and drawn["replicates"] == 3
