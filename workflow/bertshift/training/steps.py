"""How far fine-tuning moves each layer, and by what steps: do the last layers change most because
their steps are larger?

From the log of a run (`layers.tsv` of `training.norms`), each L2 norm over all weights of a layer,
relative to the norm of the layer's weights before fine-tuning, so that layers of any size compare.
"""

from collections.abc import Sequence

import pandas as pd

from bertshift.errors import UserError


def relative_norms(
    log: pd.DataFrame, start: Sequence[float], run: str = "the run"
) -> pd.DataFrame:
    """Compute relative norms: rows of variant, layer (0: embeddings), value, sd, n.

    log: step, layer ("embeddings", "1", ..), gradient_norm, update_norm, distance_from_start;
    pooler and head, which have no layer, are left out. start: norms of the embeddings' and each
    layer's weights before. Variants: `gradient` and `update`, the means over the n steps logged,
    sd over these; `displacement`, at the last of them. Raises UserError where nothing was logged.
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
        for variant, column in {"gradient": "gradient_norm", "update": "update_norm"}.items():
            sizes = steps[column] / start[layer]
            rows.append(
                {
                    "variant": variant,
                    "layer": layer,
                    "value": sizes.mean(),
                    "sd": sizes.std(),
                    "n": len(sizes),
                }
            )
        last = steps.loc[steps["step"].idxmax(), "distance_from_start"] / start[layer]
        rows.append(
            {
                "variant": "displacement",
                "layer": layer,
                "value": last,
                "sd": float("nan"),
                "n": len(steps),
            }
        )
    return pd.DataFrame(rows)
