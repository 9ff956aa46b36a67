"""The effect on the score of re-initialising one head before fine-tuning, beside what another seed
does."""

import numpy as np
import pandas as pd
from scipy.stats import t

from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.significance import benjamini_hochberg

GROUP = ["init", "metric"]


def head_table(heads: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """Tabulate `delta`, a score minus the baselines' mean, one row for each head, replicate and
    score (`score`).

    `heads` are rows of sweeps of one model by `layer` and `position` (the head), `baselines` its
    sweep of seeds; both are compared within a pretraining run. z = delta / (sd sqrt(1 + 1/n)) with
    the sd (ddof 1) of the n baselines. p, two-sided from t with n - 1 degrees of freedom, tests
    "as any other seed" for the mean of a head's m replicates, whose error is sd sqrt(1/m + 1/n). q
    is its false discovery rate among all heads of the pretraining run (Benjamini & Hochberg 1995).
    z, p and q are missing for fewer than two baselines and for baselines that all score the same.
    Baselines that failed to train are left out (`baseline_left_out` of them), as one would raise
    every delta, unless all did (`baseline_failed`). Values without blocks are those of `delta`.
    """
    bad = baselines.groupby(GROUP)["failed"]
    kept = baselines[~baselines["failed"] | bad.transform("all")]
    known = kept.groupby(GROUP)["value"].agg(baseline="mean", baseline_sd="std", baseline_n="size")
    all_failed = bad.all()
    known = known.assign(
        baseline_failed=all_failed, baseline_left_out=bad.sum().where(~all_failed, 0)
    )
    table = heads.join(known, on=GROUP).rename(columns={"position": "head"}).reset_index(drop=True)
    table["delta"] = table["value"] - table["baseline"]
    without = [name for name in JACKKNIFE_COLUMNS if name in table]
    table[without] -= (
        kept.groupby(GROUP)[without]
        .mean()
        .reindex(pd.MultiIndex.from_frame(table[GROUP]))
        .to_numpy()
    )
    sd, n = table["baseline_sd"].where(table["baseline_sd"] > 0), table["baseline_n"]
    table["z"] = table["delta"] / (sd * np.sqrt(1 + 1 / n))
    of_head = table.groupby([*GROUP, "layer", "head"])["delta"]
    error = sd * np.sqrt(1 / of_head.transform("size") + 1 / n)
    table["p"] = 2 * t.sf((of_head.transform("mean") / error).abs(), n - 1)
    # The replicates of a head share one p, which is one test.
    tests = table.drop_duplicates([*GROUP, "layer", "head"])
    table["q"] = tests.groupby(GROUP)["p"].transform(benjamini_hochberg)
    table["q"] = table.groupby([*GROUP, "layer", "head"])["q"].transform("first")
    return table.rename(columns={"metric": "score"}).assign(
        metric="reinit_head", model=min(baselines["model"], key=len)
    )
