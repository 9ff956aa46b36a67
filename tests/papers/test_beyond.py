import numpy as np
import pandas as pd
import pytest
from made_papers import real

from bertshift.papers.beyond import when
from bertshift.rows.blocks import JACKKNIFE_COLUMNS

SHARES = [0, 1, 2, 5, 10, 25, 50, 100]


@pytest.mark.parametrize(
    ("change", "half"),
    [
        (lambda share: share / 100, 50),
        (lambda share: 3 * np.minimum(1, share / 10), 5),
        (lambda share: 0.2 * np.clip((share - 10) / 15, 0, 1), 17.5),  # all of it between 10 and 25 %
        (lambda share: np.where(share < 5, 0, 0.7), 3.5),  # between two shares a jump is a line
        (lambda share: 1 + share * (100 - share), 0),  # there at once, and back at the end
        (lambda share: 0 * share, np.nan),
    ],
)
def test_half_of_a_change_that_is_known(change, half):
    assert when.half_change(SHARES, change(np.array(SHARES, float))) == pytest.approx(half, nan_ok=True)


@pytest.fixture(scope="module")
def run():
    """Tables of one model with its whole change, of 3 seeds."""
    tables = real("beyond/when", "/sst2")
    return {path: one.assign(failed=False) for path, one in tables.items() if ".noise" not in path}


def changes(tables, seeds):
    """[share] RSA's change of layer 2."""
    known = pd.concat(one for path, one in tables.items() if path.startswith("results/rsa/"))
    known = known[known["stimuli"] == "wiki"]
    kept = known[(known["variant"] == "content") & (known["layer"] == 2) & known["seed"].isin(seeds)]
    share = kept["model"].str.partition(".at")[2].replace("", "100").astype(int)
    return 1 - kept.groupby(share)[[name for name in ("value", *JACKKNIFE_COLUMNS) if name in kept]].mean()


def half(tables, layer=2):
    return when.tidy(tables).set_index(["panel", "layer"]).loc[("half of rsa", layer)]


def test_half_of_a_change_is_that_of_the_mean_over_runs(run):
    expected = [when.half_change(SHARES, changes(run, [seed])["value"].to_list()) for seed in (1, 2, 3)]
    assert half(run)["value"] == pytest.approx(np.mean(expected))


def test_noise_of_the_whole_change_alone_says_nothing_of_when(run):
    path = "results/js/sst2.noise_vs_base.tsv"
    noise = {path: real("beyond/when", "/sst2")[path]}
    pd.testing.assert_frame_equal(when.tidy(run | noise), when.tidy(run))


def test_a_snapshot_that_has_not_learnt_yet_is_no_failure(run):
    early = {path: one.assign(failed=True) if ".at" in path else one for path, one in run.items()}
    pd.testing.assert_frame_equal(when.tidy(early), when.tidy(run))
    ends = {
        path: one.assign(failed=one["seed"] == 2)
        for path, one in run.items() if path in ("results/scores/sst2.tsv", "results/rsa/sst2_vs_base.tsv")
    }  # fmt: skip
    kept = {path: one[one["seed"] != 2] for path, one in run.items()}
    without, alone = when.tidy(run | ends), when.tidy(kept)
    assert (without.loc[without["panel"] != "loss", ["trained", "failed"]] == (2, 1)).all(axis=None)
    assert without["value"].to_numpy() == pytest.approx(alone["value"].to_numpy())
