import pandas as pd
import pytest


@pytest.fixture(scope="session")
def table():
    """A made-up metric table: `curves` is {(stimuli, variant): values per layer}, equal in every
    replicate but for `spread` added per pretraining run."""

    def make(model, curves, inits=6, spread=0.001, first=1):
        return pd.DataFrame(
            {"metric": "made", "model": model, "stimuli": stimuli, "variant": variant, "init": init, "seed": 1,
             "ref_seed": 0, "head": 0, "layer": layer, "value": value + spread * init, "scale": "made",
             "checkpoint": "made", "family": "bert"}
            for init in range(1, inits + 1) for (stimuli, variant), curve in curves.items()
            for layer, value in enumerate(curve, first)
        )  # fmt: skip

    return make
