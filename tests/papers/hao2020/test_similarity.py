from made_papers import real, stretched

from bertshift.verdicts.deciding import FAILS, HOLDS

MNLI, MRPC = (f"results/similarity/{model}_vs_base.tsv" for model in ("mnli", "mrpc"))


def test_a_model_without_separators_leaves_their_panel_empty(draw):
    tables = {
        path: table
        for path, table in real("hao2020/similarity", "/m").items()
        if "noise" not in path
    }
    tables[MRPC] = tables[MRPC][tables[MRPC]["tokens"] != "sep"]
    figure, table, _ = draw("hao2020/similarity", tables)
    assert sum(not axes.get_visible() for axes in figure.axes) == 1
    assert (table["tokens"] == "sep").any()


def grow_with_depth(table):
    """Distances grow with depth, though [CLS] has moved from the first layer on."""
    table = table[table["seed"] == 1].reset_index(drop=True)
    low = table["tokens"].map({"cls": 0.4}).fillna(0.05)
    value = (low + 0.4 * (table["layer"] / 12) ** 2) * (1 - 0.01 * table["init"])
    return table.assign(value=value.mask(table["variant"].str.endswith("_null"), 0.92))


def test_a_conclusion_that_one_measure_refutes_fails_for_it_alone(decide):
    """CKA falls with depth on MNLI's tokens, and every other distance rises on all tasks'."""
    tables = {
        path: grow_with_depth(table)
        for path, table in stretched("hao2020/similarity", inits=6).items()
        if "noise" not in path
    }
    mnli = tables[MNLI]
    falls = (mnli["variant"] == "cka_debiased") & (mnli["tokens"] == "all")
    mnli["value"] = mnli["value"].mask(falls, 1 - mnli["value"])
    rows = decide("hao2020/similarity", tables)
    failed = {"H2.3 (CKA, mnli)", "H2.4 (CKA, mnli)"}
    assert set(rows.index[rows["verdict"] == FAILS]) == failed and len(rows) == 24
    assert (rows.drop(index=failed)["verdict"] == HOLDS).all()
