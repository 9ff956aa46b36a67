"""The effect on the score of re-initialising one head before fine-tuning, compared with the effect
of another seed."""

import numpy as np
from scipy.stats import t

from bertshift.rows.significance import benjamini_hochberg
from bertshift.rows.table import Table

GROUP = ["init", "metric"]


def head_table(heads: Table, baselines: Table) -> Table:
    """Tabulate `delta`, a score minus the baselines' mean, one row for each head, replicate and
    score (`score`).

    `heads` are rows of sweeps of one model by `layer` and `position` (the head), `baselines` rows
    of its sweep of seeds; a head is compared with the baselines of its pretraining run.
    z = delta / (sd sqrt(1 + 1/n)) with the sd (ddof 1) of the n baselines. p, two-sided from t
    with n - 1 degrees of freedom, tests whether the mean of a head's m replicates, whose error is
    sd sqrt(1/m + 1/n), differs from the mean of other seeds. q is its false discovery rate among
    all heads of the pretraining run (Benjamini & Hochberg 1995). z, p and q are missing for fewer
    than two baselines and for baselines that all score the same. Baselines that failed to train
    are left out (`baseline_left_out` of them), as one would raise every delta, unless all did
    (`baseline_failed`). Values without blocks are those of `delta`.
    """
    failed = baselines.rows.groupby(GROUP)["failed"]
    all_failed = failed.all()
    used = baselines.where(~baselines["failed"] | failed.transform("all"))
    values = used.rows.groupby(GROUP)["value"]
    summary = values.agg(baseline="mean", baseline_sd="std", baseline_n="size")
    summary["baseline_failed"] = all_failed
    summary["baseline_left_out"] = failed.sum().where(~all_failed, 0)
    table = heads.rows.join(summary, on=GROUP).rename(columns={"position": "head"})
    table["delta"] = table["value"] - table["baseline"]
    sd = table["baseline_sd"].where(table["baseline_sd"] > 0)
    n = table["baseline_n"]
    table["z"] = table["delta"] / (sd * np.sqrt(1 + 1 / n))
    head = [*GROUP, "layer", "head"]
    delta_of_head = table.groupby(head)["delta"]
    error = sd * np.sqrt(1 / delta_of_head.transform("size") + 1 / n)
    table["p"] = 2 * t.sf((delta_of_head.transform("mean") / error).abs(), n - 1)
    # The replicates of a head share one p, which is one test.
    tests = table.drop_duplicates(head)
    table["q"] = tests.groupby(GROUP)["p"].transform(benjamini_hochberg)
    table["q"] = table.groupby(head)["q"].transform("first")
    model = min(baselines["model"], key=len)
    table = table.rename(columns={"metric": "score"}).assign(metric="reinit_head", model=model)
    deltas = heads.minus(used.averages(GROUP), GROUP)
    return Table.of(table, deltas.left_out)
