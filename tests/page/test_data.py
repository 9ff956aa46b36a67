import json
import re

import numpy as np
import pandas as pd
import pytest

from bertshift.page import charts, data, pairs
from bertshift.papers import by_name
from bertshift.papers.catalogue import PAPERS

VALUE, LOW, HIGH, REPLICATES, RUN = 4, 5, 6, 7, 8


def embedded(html):
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


def test_the_page_is_one_file_and_the_same_bytes(made_page):
    html = made_page.html()
    assert html == made_page.html() and len(html) < 10_000_000
    outside = re.findall(
        r"<(?:link|iframe|script[^>]* src)|@import|url\((?!data:)", html.partition("<body>")[0]
    )
    assert not outside and embedded(html) == json.loads(json.dumps(made_page.data()))


def test_text_from_tables_cannot_become_markup(made_page):
    bad = "</script><img src=x onerror=alert(1)> & \"'\u2028"
    html = made_page.html(caption=bad, reason=bad, statement=bad, published_value=bad)
    assert "<img src=x" not in html and "\u2028" not in html
    assert {one["statement"] for one in embedded(html)["claims"]} == {bad}


def test_claims_that_are_not_testable_come_last(made_page):
    untested = [one["claim_verdict"] == "untested" for one in made_page.data()["claims"]]
    assert untested == sorted(untested) and any(untested)


def test_titles_are_words(made_page):
    found = {one["name"]: (one["place"], one["title"]) for one in made_page.data()["figures"]}
    assert found["kovaleva2019/figure5"] == ("Figure 5", "How much each head's attention changes")
    assert data.place("table_mrpc") == "Table MRPC" and data.place("appendix_a") == "Appendix A"
    assert data.place("own_or_inherited") == ""


@pytest.mark.parametrize("paper", PAPERS)
def test_ends_of_criteria_are_those_of_the_claims(paper):
    claims = by_name.claims_of(paper).all
    assert claims
    for one in claims:
        ends = [None if np.isinf(end) else pytest.approx(end, rel=1e-5) for end in (one.low, one.high)]
        assert list(data.bounds(one.criterion)) == ends, one.criterion


@pytest.mark.parametrize(
    ("words", "number"),
    [("-1.5", [-1.5] * 3), ("+0.010", [0.01] * 3), ("32 %", [32] * 3), ("0.23 (digitised, padded)", [0.23] * 3),
     ("0.84 ± 0.02", [0.84, 0.82, 0.86]), ("0.201 and 0.209", None), ("13/24 within 0.7", None), ("", None),
     ("0.6, above its own baseline of .526", None), ("max ratio 0.34 (dep/constituents)", None)],
)  # fmt: skip
def test_published_values_that_are_numbers(words, number):
    assert data.published_number(words) == (number and pytest.approx(number))


def test_a_chart_has_every_number_of_the_table(made_page):
    for (entry, table, _), one in zip(made_page.figures, made_page.data()["figures"]):
        if entry["name"] != "kovaleva2019/figure5":
            continue
        rows = one["chart"]["rows"]
        assert len(rows) == len(table) and one["chart"]["alike"]
        np.testing.assert_allclose([row[VALUE] for row in rows], table["value"], rtol=1e-3)
        assert [row[1] for row in rows] == [int(source == "published") for source in table["source"]]
        named = [one["chart"]["lines"][row[0]]["name"] for row in rows]
        assert named == list(table["panel"])


def test_nulls_and_baselines_stand_beside_what_they_are_of(made_page):
    found = {one["name"]: one["chart"] for one in made_page.data()["figures"]}
    beside = [row for row in found["hao2020/figure2"]["rows"] if row[1] == charts.BESIDE]
    assert len(beside) == 4 * 4 and not found["hao2020/figure2"]["choices"]
    scores = found["college2020/figure3"]
    assert {row[1] for row in scores["rows"]} == {charts.OURS, charts.PUBLISHED, charts.BESIDE}
    assert scores["x"] == "position" and any(row[RUN] for row in scores["rows"])
    assert found["kovaleva2019/figure8"]["column"] == "head"
    assert found["kovaleva2019/figure3"]["choices"][0]["key"] == "variant"


def test_noise_is_a_line_of_a_chart_and_no_model(made_page):
    found = {one["name"]: one for one in made_page.data()["figures"]}
    for name, model, label in (
        ("hao2020/figure2", "mnli@large", "MNLI@large"),
        ("kovaleva2019/figure5", "mnli", "MNLI"),
    ):
        one = found[name]
        noise = [line for line in one["chart"]["lines"] if "null" in line]
        assert [(line["null"], line["of"], line["label"]) for line in noise] == [
            ("noise", model, f"{label}, noise of the same size"),
            ("matched", model, f"{label}, matched noise"),
        ]
        assert not [model for model in one["models"] if "noise" in model]
    table = pd.DataFrame(
        {"series": ["mnli", "mnli.noise", "mnli.matched"], "source": "ours", "trained": 1, "failed": 1}
    )
    assert [one["model"] for one in data.failures(table, ["mnli"])] == ["mnli"]


def test_noise_stands_beside_the_measures_of_its_model(made_page):
    found = pairs.pairs(made_page.tables)
    assert found and not [name for name in found if ".noise" in name]
    one = found["mnli@large_vs_large"]["measures"]["svcca"]["noise"]["layers"]
    table = made_page.tables["results/svcca/mnli.noise@large_vs_large.tsv"]
    runs = table[(table["variant"] == "svcca99") & (table["layer"] == 3)].groupby("init")["value"].mean()
    assert one[2] == [3, *(pytest.approx(end, rel=1e-3) for end in (runs.mean(), runs.min(), runs.max())), []]
    assert "noise" not in found["rte@large_vs_large"]["measures"]["svcca"]


def test_a_table_without_layers_has_no_chart():
    table = pd.DataFrame(
        {"panel": ["a", "b"], "value": [1.0, 2.0], "source": "ours", "low": np.nan, "high": np.nan}
    )
    assert charts.chart(table, ["a"]) is None


def test_measures_of_two_models(made_page):
    found = pairs.pairs(made_page.tables)
    pair = found["mnli@large_vs_large"]["measures"]["svcca"]
    table = made_page.tables["results/svcca/mnli@large_vs_large.tsv"]
    kept = table[(table["variant"] == "svcca99") & (table["layer"] == 2)]
    ours = {layer: (mean, each) for layer, mean, _, _, each in pair["layers"]}
    assert ours[2][0] == pytest.approx(kept["value"].mean(), rel=1e-3)
    assert ours[2][1] == pytest.approx(list(kept.groupby("init")["value"].mean()), rel=1e-3)
    assert set(pair["floors"]) == {"mnli@large"} and len(pair["null"]["layers"]) == 4
    assert not any(name.split("_vs_")[0] == name.split("_vs_")[1] for name in found)


def test_runs_that_failed_are_left_out_of_measures_and_maps(made_page):
    path = "results/js/mnli_vs_base.tsv"
    table = made_page.tables[path]
    bad = table.assign(failed=table["init"] == 1, value=np.where(table["init"] == 1, 9.0, table["value"]))
    one = pairs.pairs({path: bad})["mnli_vs_base"]["measures"]["js"]
    assert max(row[1] for row in one["layers"]) < 1 and max(map(max, one["heads"])) < 1
    assert np.shape(one["heads"]) == (4, 4)


def test_costs_are_those_of_the_records(tmp_path):
    for record, seconds in {"figures/a/b": 3600, "rsa/mnli_vs_base": 1800, "finetune/mnli_init1_seed1": 7200,
                            "finetune/mnli.lora8_init1_seed1": 99}.items():  # fmt: skip
        (tmp_path / record).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{record}.cost.tsv").write_text(f"s\th:m:s\n{seconds}\t-\n")
    entry = {
        "name": "a/b",
        "models": ["mnli"],
        "tables": ["results/rsa/mnli_vs_base.tsv", "results/rsa/no.tsv"],
    }
    assert data.costs(entry, tmp_path) == [
        ["fine-tuning of its models", 1, 2.0],
        ["its tables", 1, 0.5],
        ["the drawing", 1, 1.0],
    ]
