import made_papers
import numpy as np
import pandas as pd
import pytest

from bertshift.papers import by_name
from bertshift.papers.beyond import when
from bertshift.rows.blocks import BLOCKS, WITHOUT, interval

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
def mnli():
    """Layer k of 4 changes in proportion to the steps until 20 + 15 k % of them are done."""
    return {
        path: table
        for path, table in made_papers.tables_of("beyond").items()
        if path.partition("/mnli")[2].startswith((".at", ".tsv", "_vs_base")) and ".noise" not in path
    }


def test_later_layers_change_later(mnli):
    table = when.tidy(mnli).set_index(["panel", "layer"])["value"]
    for measure in when.MEASURES:
        for layer in (1, 2, 3, 4):
            assert table[f"half of {measure}", layer] == pytest.approx(10 + 7.5 * layer, abs=0.5), (
                measure,
                layer,
            )


def test_noise_of_the_whole_change_alone_says_nothing_of_when(mnli):
    noise = {
        path: table
        for path, table in made_papers.tables_of("beyond").items()
        if path.endswith("/mnli.noise_vs_base.tsv")
    }
    assert noise
    pd.testing.assert_frame_equal(when.tidy(mnli | noise), when.tidy(mnli))


def test_half_of_a_change_has_an_interval_over_inputs(mnli):
    """One replicate suffices: without a block of inputs, layer 1 reaches half of its change at another time."""
    offs, known, paths = np.linspace(-0.002, 0.002, BLOCKS), {}, []
    for path, one in mnli.items():
        one = one[(one["init"] == 1) & (one["seed"] == 1)].reset_index(drop=True)
        if path.startswith("results/rsa/"):
            left = one["value"].to_numpy()[:, None] + offs * (one["model"] != "mnli").to_numpy()[:, None]
            one = pd.concat([one, pd.DataFrame(left, columns=WITHOUT)], axis=1)
            paths.append(path)
        known[path] = one
    layer = pd.concat([known[path] for path in paths]).set_index("layer").loc[1]
    share = layer["model"].str.partition(".at")[2].replace("", "100").astype(float)
    layer = 1 - layer.assign(share=share).sort_values("share")[["value", *WITHOUT]]
    value, *without = (when.half_change(SHARES, layer[name].to_list()) for name in layer)
    assert np.ptp(without) > 0.1
    found = when.tidy(known).set_index(["panel", "layer"]).loc[("half of rsa", 1)]
    ends = interval(np.array(value), np.array(without), (0.0, 100.0))
    assert found[["value", "low", "high"]].to_numpy(float) == pytest.approx([value, *ends], abs=1e-9)


def test_a_snapshot_that_has_not_learnt_yet_is_no_failure(mnli):
    table = when.tidy(mnli)
    assert (table["failed"] == 0).all()
    ends = {
        path: one.assign(failed=one["failed"] | (one["seed"] == 2))
        for path, one in mnli.items()
        if path in ("results/scores/mnli.tsv", "results/rsa/mnli_vs_base.tsv")
    }
    kept = {path: one[one["seed"] == 1] for path, one in mnli.items()}
    without, alone = when.tidy(mnli | ends), when.tidy(kept)
    assert (without.loc[without["panel"] != "loss", ["trained", "failed"]] == 2).all(axis=None)
    assert without["value"].to_numpy() == pytest.approx(alone["value"].to_numpy())
    _, _, caption = by_name.draw("beyond/when", mnli | ends, {})
    assert "MNLI 2 of 4; left out" in caption
