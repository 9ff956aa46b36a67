import pytest
from made_papers import stretched

from bertshift.papers import by_name
from bertshift.verdicts.deciding import FAILS, HOLDS

MNLI = "results/similarity/mnli_vs_base.tsv"
CKA = ["cka_debiased", "cka_debiased_null"]


@pytest.fixture(scope="module")
def falling():
    """Tables in which CKA falls with depth on MNLI's tokens, and every other distance rises on all
    tasks'."""
    tables = {
        path: told(table)
        for path, table in stretched("hao2020/similarity", inits=5).items()
        if "noise" not in path
    }
    one = tables[MNLI]
    chosen = (one["variant"] == "cka_debiased") & (one["tokens"] == "all")
    one.loc[chosen, "value"] = 1 - one.loc[chosen, "value"]
    return tables


def told(table):
    """Distances grow with depth, though [CLS] has moved from the first layer on."""
    table = table[table["seed"] == 1].reset_index(drop=True)
    low = table["tokens"].map({"cls": 0.4}).fillna(0.05)
    value = (low + 0.4 * (table["layer"] / 12) ** 2) * (1 - 0.01 * table["init"])
    return table.assign(value=value.mask(table["variant"].str.endswith("_null"), 0.92))


def test_a_conclusion_that_one_measure_refutes_fails_for_it_alone(falling, published):
    rows = by_name.decide("hao2020/similarity", falling, published["hao2020"]).set_index("claim")
    failed = {"H2.3 (CKA, mnli)", "H2.4 (CKA, mnli)"}
    assert set(rows.index[rows["verdict"] == FAILS]) == failed and len(rows) == 24
    assert (rows.drop(index=failed)["verdict"] == HOLDS).all()
