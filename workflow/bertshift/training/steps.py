"""How far fine-tuning moves each layer, and by what steps: do the last layers change most because
their steps are larger?

A run's log (`layers.tsv` of `training.norms`) has L2 norms over all weights of a layer. They are
divided by the norm of the layer's weights before fine-tuning, so that layers of any size compare.
"""

from collections.abc import Sequence

import pandas as pd

from bertshift.errors import UserError


def relative_norms(
    log: pd.DataFrame, start: Sequence[float], run: str = "the run"
) -> pd.DataFrame:
    """Compute relative norms: rows of variant, layer (0: embeddings), value, sd, n.

    Variants: `gradient` and `update`, the means over the n steps logged, sd over these;
        `displacement`, at the last of them.

    log: step, layer ("embeddings", "1", ..), gradient_norm, update_norm, distance_from_start;
        pooler and head, which have no layer, are left out
    start: norms of the embeddings' and each layer's weights before

    UserError where nothing was logged.
    """
    if log.empty:
        raise UserError(f"{run} logged no norms; write a training.norms_every above 0.")
    names = {"embeddings": 0} | {str(layer): layer for layer in range(1, len(start))}
    log = (
        log.assign(layer=log["layer"].astype(str).map(names))
        .dropna(subset="layer")
        .astype({"layer": int})
    )
    rows = []
    for layer, steps in log.groupby("layer"):
        n = len(steps)
        gradient = steps["gradient_norm"] / start[layer]
        update = steps["update_norm"] / start[layer]
        displacement = steps.loc[steps["step"].idxmax(), "distance_from_start"] / start[layer]
        rows += [
            ("gradient", layer, gradient.mean(), gradient.std(), n),
            ("update", layer, update.mean(), update.std(), n),
            ("displacement", layer, displacement, float("nan"), n),
        ]
    return pd.DataFrame(rows, columns=["variant", "layer", "value", "sd", "n"])
