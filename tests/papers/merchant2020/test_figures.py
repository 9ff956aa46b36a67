import numpy as np
import pytest
from made_merchant import told

from bertshift.errors import UserError
from bertshift.papers import by_name


@pytest.fixture
def draw(published):
    def drawn(item, tables=None):
        return by_name.draw(
            f"merchant2020/{item}", tables or told(item), published["merchant2020"]
        )

    return drawn


@pytest.mark.parametrize("item", ["table1", "appendix_b"])
def test_probes_of_runs_that_failed_are_left_out_and_counted(draw, item):
    whole = told(item, inits=3)

    def drawn(*inits):
        inputs = {}
        for path, rows in whole.items():
            failed = (rows["model"] == "mnli") & rows["init"].isin(inits)
            p = {"p": rows["p"].where(~failed, 1.0)} if "p" in rows else {}
            inputs[path] = rows.assign(failed=failed, value=rows["value"].where(~failed, 0.1), **p)
        _, table, caption = draw(item, inputs)
        return table[table["source"] == "ours"].reset_index(drop=True), caption

    complete, _ = drawn()
    table, caption = drawn(2)
    same = [key for key in ("value", "sd_pretraining") if key in table]
    np.testing.assert_allclose(table[same], complete[same], atol=1e-9)
    of_mnli = table[table["series"] == "mnli"]
    assert (
        (of_mnli["trained"] == 2).all()
        and (of_mnli["failed"] == 1).all()
        and "MNLI 1 of 3;" in caption
    )


@pytest.mark.parametrize(
    ("item", "kept", "said"),
    [
        ("figure3", lambda rows: rows["position"] > -1, "lacks its unfrozen end"),
        (
            "appendix_a",
            lambda rows: rows["variant"] != "top",
            "no edge probes of kind 'top' on the pretrained model",
        ),
    ],
)
def test_what_is_needed_and_missing_is_told(draw, item, kept, said):
    with pytest.raises(UserError, match=said):
        draw(item, {path: rows[kept(rows)] for path, rows in told(item).items()})
