import re

import numpy as np
import pandas as pd
import pytest

from bertshift.files import read_json, read_tsv
from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.rows import ranges
from bertshift.running.checkpoint import weights_digest
from bertshift.tasks.loading import load_task
from bertshift.training.finetuning import starting_model
from bertshift.version import version

OF_DELTA = ["gain", "reinit_head"]  # tables whose intervals are of `delta`


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_png_a_pdf_and_its_numbers(finished, name):
    folder = finished.folder / "results/figures"
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    ours = read_tsv(folder / f"{name}.tsv").query("source == 'ours'")
    known = ours["value"].notna() | ours.get("pairs", pd.Series(1, ours.index)).eq(
        0
    )  # none, where no pairs have ranks
    assert len(ours) and known.all() and (ours["scale"] == "demo").all()


def test_every_number_says_what_made_it(finished):
    for table in (finished.folder / "results").glob("*/*_vs_*.tsv"):
        rows = read_tsv(table)
        assert rows["value"].notna().all()
        assert rows[["scale", "checkpoint", "data"]].notna().all(axis=None)
        assert (
            rows["data"].str.contains("generated").all()
            and rows["data"].str.contains("trained on").all()
        )


def test_every_interval_holds_its_number_and_lies_in_the_range_of_the_measure(finished):
    seen = 0
    for file in (finished.folder / "results").rglob("*.tsv"):
        table = read_tsv(file)
        if (
            not {"value", "low", "high"} <= {*table}
            or (known := table[table["low"].notna()]).empty
        ):
            continue
        low, high = known["low"], known["high"]
        number = known[
            "delta" if known.get("metric", pd.Series("")).isin(OF_DELTA).any() else "value"
        ]
        slack = 1e-9 + 1e-9 * number.abs()
        assert ((low <= number + slack) & (number <= high + slack)).all(), file
        if "figures" not in file.parts:  # these have other units
            least, most = ranges.of(known).T
            assert ((low >= least) & (high <= most)).all(), file
            seen += np.isfinite(least).sum()
    assert seen > 1000


def test_every_table_with_provenance_and_every_caption_carries_the_version(finished):
    results, said = finished.folder / "results", version()
    tables = {
        file: read_tsv(file)
        for file in results.rglob("*.tsv")
        if (results / "world") not in file.parents
    }
    carried = [table for table in tables.values() if "scale" in table]
    assert len(carried) > 150 and all((table["version"] == said).all() for table in carried)
    assert all(
        file.read_text().endswith(f" Drawn by {said}.\n")
        for file in results.glob("figures/*/*.txt")
    )
    # What has none are logs of training and predictions.
    others = {file.name for file, table in tables.items() if "scale" not in table}
    assert others <= {"steps.tsv", "layers.tsv", "predictions.tsv"}, others


def test_replicates_stay_rows(finished):
    rows = read_tsv(finished.folder / "results/cosine/mrpc_vs_base.tsv")
    assert set(zip(rows["init"], rows["seed"], rows["ref_init"])) == {(1, 1, 1), (2, 1, 2)}


def test_a_sweep_ends_at_the_plain_model(finished):
    freeze, keep = (
        read_tsv(finished.folder / f"results/sweeps/{name}.tsv")
        for name in ("rte.freeze", "dep.keep")
    )
    assert set(freeze["position"]) == {-2, -1, 0, 1} and set(
        freeze.query("position == -1")["model"]
    ) == {"rte"}
    assert set(keep["position"]) == {0, 1, 2} and set(keep.query("position == 2")["model"]) == {
        "dep"
    }
    assert not list((finished.folder / "results/sweeps").rglob("*.safetensors"))


def test_a_row_of_heads_holds_what_each_run_alone_would(finished):
    name = "rte.reinitL2H1@cased"
    finished.snakemake(f"results/models/{name}/init1_seed1/scores.json")
    alone = finished.folder / "results/models" / name / "init1_seed1"
    in_row = finished.folder / "results/sweeps/rte@cased.reinitL2/init1_seed1" / name
    for file in ("predictions.tsv", "steps.tsv", "scores.json"):
        assert (in_row / file).read_bytes() == (alone / file).read_bytes()


def test_claims_are_decided_or_said_to_be_open(finished):
    claims = read_tsv(finished.folder / "results/claims.tsv")
    assert set(claims["paper"]) == set(PAPERS)
    assert set(claims["verdict"]) <= {"holds", "fails", "undecided", "not testable at this scale"}
    assert claims["reason"].notna().all()


def test_a_second_stage_starts_anew_from_the_weights_of_the_first(finished):
    """Under the head, the batches and the schedule of the same task alone."""
    models = finished.folder / "results/models"
    for run in ("init1_seed1", "init2_seed1"):
        chain, alone = (
            read_json(models / "rte+mrpc" / run / "recipe.json"),
            read_json(models / "mrpc" / run / "recipe.json"),
        )
        task = load_task(
            chain["task"], read_json(finished.folder / "results/data/mrpc/dataset.json")
        )
        start = starting_model(task, models / "rte" / run, chain["seed"])
        assert chain["start"] == weights_digest(start) and chain["seed"] == alone["seed"]
        rates = [
            read_tsv(models / name / run / "steps.tsv")["learning_rate"]
            for name in ("rte+mrpc", "mrpc")
        ]
        pd.testing.assert_series_equal(*rates)


def test_activations_go_unless_asked_to_stay(finished):
    assert not list((finished.folder / "results/activations").rglob("*.npz"))
    assert not list((finished.folder / "results").rglob("*.parts"))


def test_a_second_call_has_nothing_to_do(finished):
    assert not set(finished.jobs("figures/all")) - {"figures/all"}


def test_report_holds_figures_claims_and_scores(finished):
    finished.snakemake("figures/all", "--report", "report.html", "--report-after-run")
    report = (finished.folder / "report.html").read_text()
    for name, paper in PAPERS.items():
        assert paper.NAME in report
        for figure in paper.FIGURES.values():  # of its caption the words before any mark
            assert re.split(r"[^\w ,.-]", figure.shows)[0] in report
        assert f"results/claims/{name}.tsv" in report
    assert "Figures, claims and models, to explore" in report
    assert "results/scores/rte.tsv" in report and "four papers, reproduced" in report
    assert not re.search(r"Error|Traceback", finished.log)
