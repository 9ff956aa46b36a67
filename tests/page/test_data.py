import json
import re
from copy import copy

import numpy as np
import pandas as pd
import pytest
from made_archives import data_of_page
from made_tables import measured

from bertshift.naming import is_of_null
from bertshift.page import charts, compared, data, pairs
from bertshift.page.render import render

VALUE, LOW, HIGH, REPLICATES, RUN = 4, 5, 6, 7, 8


def test_the_page_is_one_file_and_the_same_bytes(made_page, page_data):
    html = render(made_page.data())
    assert html == render(page_data) and len(html) < 3_000_000
    outside = re.findall(
        r"<(?:link|iframe|script[^>]* src)|@import|url\((?!data:)", html.partition("<body>")[0]
    )
    assert not outside and data_of_page(html) == json.loads(json.dumps(page_data))


def test_text_from_tables_cannot_become_markup():
    bad = "</script><img src=x onerror=alert(1)> & \"'\u2028"
    html = render({"title": "<img src=x>", "claims": [{"statement": bad}]})
    assert "<img src=x" not in html and "\u2028" not in html
    assert [one["statement"] for one in data_of_page(html)["claims"]] == [bad]


def test_claims_that_are_not_testable_come_last(page_data):
    untested = [one["claim_verdict"] == "untested" for one in page_data["claims"]]
    assert untested == sorted(untested) and any(untested)


@pytest.mark.parametrize("verdict", ["holds", "fails"])
def test_each_paper_counts_its_own_claims_that_are_sure_after_the_correction(made_page, verdict):
    # As if all claims had this verdict, and those of Hao et al. alone were sure.
    is_sure = made_page.claims["paper"] == "hao2020"
    adjusted = {f"adjusted_p_{verdict}": np.where(is_sure, 0.02, 0.03)}
    made = copy(made_page)
    made.claims = made_page.claims.assign(claim_verdict=verdict, **adjusted)
    sure = made.claims[is_sure]["id"].nunique()
    corrected = {one["name"]: one["corrected"][verdict] for one in made.data()["papers"]}
    assert sure and corrected == dict.fromkeys(corrected, 0) | {"hao2020": sure}


def test_ends_of_criteria_are_those_of_their_words(page_data):
    for row in page_data["claims"]:
        low, high = row["criterion"]
        if high is None:
            pattern = rf".* [>≥] {low:g}"
        elif low is None:
            pattern = rf".* [<≤] {high:g}"
        else:
            pattern = rf"{low:g} [<≤] .* [<≤] {high:g}"
        assert re.fullmatch(pattern, row["measure"]), row["measure"]


def test_a_chart_has_every_number_of_the_table(made_page, page_data):
    [one] = [one for one in page_data["figures"] if one["name"] == "kovaleva2019/figure5"]
    table, rows = made_page.table(one["name"]), one["chart"]["rows"]
    assert len(rows) == len(table) and one["chart"]["alike"]
    np.testing.assert_allclose([row[VALUE] for row in rows], table["value"], rtol=1e-3)
    assert [row[1] for row in rows] == [int(source == "published") for source in table["source"]]
    named = [one["chart"]["lines"][row[0]]["name"] for row in rows]
    assert named == list(table["panel"])


def test_nulls_and_baselines_stand_beside_what_they_are_of(page_data):
    found = {one["name"]: one["chart"] for one in page_data["figures"]}
    beside = [row for row in found["hao2020/figure2"]["rows"] if row[1] == charts.BESIDE]
    assert len(beside) == 4 * 7 and not found["hao2020/figure2"]["choices"]
    scores = found["college2020/figure3"]
    assert {row[1] for row in scores["rows"]} == {charts.OURS, charts.PUBLISHED, charts.BESIDE}
    assert scores["x"] == "position" and any(row[RUN] for row in scores["rows"])
    assert found["kovaleva2019/figure3"]["choices"][0]["key"] == "variant"


def test_noise_stands_beside_the_measures_of_its_model(page_data, made_page):
    found = page_data["pairs"]
    assert found and not [name for name in found if ".noise" in name]
    one = found["mnli_vs_base"]["measures"]["svcca"]["nulls"]["noise"]
    table = made_page.tables["results/svcca/mnli.noise_vs_base.tsv"]
    runs = (
        table[(table["variant"] == "svcca99") & (table["layer"] == 3)]
        .groupby("seed")["value"]
        .mean()
    )
    assert one[3] == [
        3,
        *(pytest.approx(end, rel=1e-3) for end in (runs.mean(), runs.min(), runs.max())),
        [],
    ]


def made_runs(metric, variant, model, values):
    """A table of one metric: {(seed, layer): value}."""
    keys = {"metric": metric, "variant": variant, "model": model, "reference": "base",
            "stimuli": "wiki", "init": 1, "ref_init": 1, "ref_seed": 0, "failed": False, "head": 0,
            "scale": "", "checkpoint": "", "data": ""}  # fmt: skip
    rows = [
        keys | {"seed": seed, "layer": layer, "ref_layer": layer, "value": value}
        for (seed, layer), value in values.items()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("metric", "variant", "sign"), [("svcca", "svcca99", 1), ("rsa", "content", -1)]
)
def test_layers_that_changed_more_than_a_null_are_found_by_pairs_of_runs(metric, variant, sign):
    """Runs differ by far more than a run and its null, and the two draws of a run's noise lie on
    both sides of its change. Layer 1 changed more than its mean draw, layer 2 as much, 3 less."""
    start = 0.2 if sign > 0 else 0.8
    runs = {(seed, layer): start + sign * 0.2 * seed for seed in (1, 2, 3) for layer in (1, 2, 3)}
    gaps = {1: (0.05, 0.051, 0.049), 2: (0.05, -0.05, 0.001), 3: (-0.05, -0.051, -0.049)}
    noise, shuffled = {}, {}
    for (seed, layer), value in runs.items():
        null = value - sign * gaps[layer][seed - 1]
        noise |= {(2 * seed - 1, layer): null + 0.1, (2 * seed, layer): null - 0.1}
        shuffled[seed, layer] = value
    tables = {
        f"results/{metric}/{model}_vs_base.tsv": made_runs(metric, variant, model, values)
        for model, values in (("mnli", runs), ("mnli.noise", noise), ("mnli.shuffled", shuffled))
    }
    [measure] = pairs.pairs(measured(tables))["mnli_vs_base"]["measures"].values()
    assert measure["more"] == {"noise": [1], "shuffled": []}


def test_a_measure_without_nulls_is_more_than_none(made_page):
    tables = {path: one for path, one in made_page.tables.items() if not is_of_null(path)}
    assert tables and not any(
        measure["more"]
        for pair in pairs.pairs(measured(tables)).values()
        for measure in pair["measures"].values()
    )


def test_measures_of_two_models(page_data, made_page):
    pair = page_data["pairs"]["mnli_vs_base"]["measures"]["svcca"]
    table = made_page.tables["results/svcca/mnli_vs_base.tsv"]
    kept = table[(table["variant"] == "svcca99") & (table["layer"] == 2)]
    ours = {layer: (mean, each) for layer, mean, _, _, each in pair["layers"]}
    assert ours[2][0] == pytest.approx(kept["value"].mean(), rel=1e-3)
    assert ours[2][1] == pytest.approx(list(kept["value"]), rel=1e-3)


def test_runs_that_failed_are_left_out_of_measures_and_maps(made_page):
    path = "results/cosine/mnli_vs_base.tsv"
    table = made_page.tables[path]
    bad = table.assign(
        failed=table["seed"] == 1, value=np.where(table["seed"] == 1, 9.0, table["value"])
    )
    one = pairs.pairs(measured({path: bad}))["mnli_vs_base"]["measures"]["cosine"]
    assert max(row[1] for row in one["layers"]) < 1 and max(map(max, one["heads"])) < 1
    assert np.shape(one["heads"]) == (6, 12)


@pytest.mark.parametrize(
    ("checkpoints", "labels"),
    [
        (["MiniLM", "mpnet, family mpnet"], ["MiniLM", "mpnet"]),
        (["MiniLM", "MiniLM"], ["tables-1", "tables-2"]),
    ],
)
def test_archives_are_called_by_their_checkpoints_where_these_differ(checkpoints, labels):
    archives = [
        {"name": f"tables-{number}", "scales": ["small"], "checkpoints": [first, "RoBERTa"]}
        for number, first in enumerate(checkpoints, 1)
    ]
    page = compared.page(archives, [], [], {}, has_files=True)
    assert [archive["label"] for archive in page["compared"]["archives"]] == labels
    assert page["title"] == " and ".join(labels)


def test_costs_are_those_of_the_records(tmp_path):
    for record, seconds in {"figures/a/b": 3600, "rsa/mnli_vs_base": 1800, "finetune/mnli_init1_seed1": 7200,
                            "finetune/mnli.lora8_init1_seed1": 99, "sweeps/mnli.keep_init1_seed1": 900,
                            "sweeps/mnli.keep": 900}.items():  # fmt: skip
        (tmp_path / record).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{record}.cost.tsv").write_text(f"s\tcpu_time\n9999\t{seconds}\n")
    entry = {
        "name": "a/b",
        "models": ["mnli"],
        "tables": [
            f"results/{name}.tsv" for name in ("rsa/mnli_vs_base", "rsa/no", "sweeps/mnli.keep")
        ],
    }
    assert data.costs(entry, tmp_path) == [
        ["fine-tuning of its models", 1, 2.0],
        ["its tables", 3, 1.0],
        ["the drawing", 1, 1.0],
    ]
