import numpy as np
import pytest
from made_merchant import told
from pictures import shown

from bertshift.errors import UserError


@pytest.mark.parametrize("item", ["table1", "appendix_b"])
def test_probes_of_runs_that_failed_are_left_out_and_counted(draw, item):
    def draw_without(*inits):
        tables = told(item, inits=3)
        for table in tables.values():
            table["failed"] = (table["model"] == "mnli") & table["init"].isin(inits)
            table.loc[table["failed"], "value"] = 0.1
            if "p" in table:
                table.loc[table["failed"], "p"] = 1.0
        _, table, caption = draw(f"merchant2020/{item}", tables)
        return table[table["source"] == "ours"].reset_index(drop=True), caption

    expected, _ = draw_without()
    table, caption = draw_without(2)
    columns = [key for key in ("value", "sd_pretraining") if key in table]
    np.testing.assert_allclose(table[columns], expected[columns], atol=1e-9)
    mnli = table[table["series"] == "mnli"]
    assert (mnli["trained"] == 2).all() and (mnli["failed"] == 1).all()
    assert "MNLI 1 of 3;" in caption


def test_one_run_has_the_spread_of_its_probes(draw):
    figure, *_ = draw("merchant2020/table1", told("table1", inits=1))
    assert any(text.get_text().startswith("sd ") for text in shown(figure))


@pytest.mark.parametrize(
    ("item", "rows", "message"),
    [
        ("figure3", "position > -1", "lacks its unfrozen end"),
        ("appendix_a", "variant != 'top'", "no edge probes of kind 'top' on the pretrained model"),
    ],
)
def test_what_is_needed_and_missing_is_told(draw, item, rows, message):
    tables = {path: table.query(rows) for path, table in told(item).items()}
    with pytest.raises(UserError, match=message):
        draw(f"merchant2020/{item}", tables)
