"""The guides: links lead somewhere, and the tutorial's commands are understood."""

import io
import os
import re
import runpy
from itertools import permutations
from pathlib import Path

import findings
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, TINY
from dag.test_origins import STUB
from made_papers import shipped
from pictures import (
    assert_caption_and_picture_agree,
    assert_every_number_is_in_the_table,
    assert_legible,
)
from scipy.stats import rankdata, zscore

from bertshift.config import merge
from bertshift.figures import style
from bertshift.files import read_tsv
from bertshift.measures import MEASURES
from bertshift.papers import by_name
from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.release import redraw
from bertshift.verdicts.testing import ERROR

GUIDES = [
    "README.md",
    "config/README.md",
    *(str(f.relative_to(ROOT)) for f in (ROOT / "docs").rglob("*.md")),
]
TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
REAL = ROOT / "docs/real"
FINDINGS = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
METHODS = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
# Module and record of the metric that docs/metric.md adds.
TEMPLATE = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs/metric.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
DEMO, OWN = TUTORIAL.split("## 7. Your own task")
SAVE = style.save


def prose(text):
    """Without blocks of code."""
    return re.sub(r"^```.*?^```$|^    [^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", GUIDES)
def test_every_link_leads_to_a_file(name):
    """The site refuses headings that there are not, and turns a link to no file into text."""
    guide = ROOT / name
    targets = re.findall(r"\]\(([^)\s#]+)", prose(guide.read_text(encoding="utf-8")))
    files = [target for target in targets if "://" not in target]
    assert not [target for target in files if not (guide.parent / target).exists()]


def test_every_module_that_methods_names_is_there():
    named = set(re.findall(r"`([a-z_]+/[a-z_]+\.py)`", METHODS))
    missing = [module for module in named if not (ROOT / "workflow/bertshift" / module).is_file()]
    assert len(named) > 25 and not missing, missing


def test_every_measure_has_an_entry_that_says_where_its_tables_are():
    for name, measure in MEASURES.items():
        entry = METHODS.partition(f"\n### {measure.explained}\n")[2].partition("\n### ")[0]
        assert f"`results/{name}/" in entry.partition("- **Where**")[2], name


def test_methods_lists_every_figure():
    table = METHODS.partition("## All figures")[2].partition("\n## ")[0]
    figures = shipped()["figures"]
    listed, paper = {}, ""
    for row in re.findall(r"^\| (.*?) ?\| (.*?) \|", table, re.MULTILINE)[1:]:
        paper = row[0].strip("`") or paper
        listed.setdefault(paper, set()).update(re.findall(r"`(\w+)`", row[1]))
    assert listed == {paper: set(items) for paper, items in figures.items()}


def drawn_and_checked(name, tables, published):
    """Draw a figure of the real run, and see that it says what it shows and of what."""
    figure, table, caption = by_name.draw(name, tables, published)
    line = " ".join(figure.texts[-1].get_text().split())
    assert line.startswith("Ours: scale small; ") and len(line) < 200, name
    shows, _, made_from = caption.partition("\n\n")
    assert shows == FIGURES[name].shows
    assert made_from.startswith("Ours: scale small; checkpoint"), name
    assert not re.search(r"\bNone\b|\bnan\b|  |\n.", made_from), name
    return figure, table, caption


def saved_and_checked(drawn, **files):
    """Save a figure of the real run, and see that what is saved is legible and in its table."""
    SAVE(drawn, **files)
    figure, table, caption = drawn
    style.styled(assert_caption_and_picture_agree)(figure, table, caption)
    assert_every_number_is_in_the_table(figure, table)
    style.styled(assert_legible)(figure)


@pytest.mark.slow("every figure")
def test_real_figures_and_claims_are_what_the_program_draws_today(tmp_path, monkeypatch):
    """Figures and claims come from their archive, as the guide says; a few digits may differ
    between processors."""
    monkeypatch.setattr(redraw, "draw", drawn_and_checked)
    monkeypatch.setattr(style, "save", saved_and_checked)
    without = re.findall(r"--without '(.*?)'", (REAL / "README.md").read_text(encoding="utf-8"))
    tables, *more = (str(REAL / name) for name in ("tables.zip", "nulls.zip", "later.zip"))
    config = redraw.prepare(tables, tmp_path, {}, more=more)
    drawn = redraw.redraw(tmp_path, config, lambda said: None, without=without)
    redraw.lay_out(tmp_path, tmp_path / "drawn")
    kept = {str(file.relative_to(tmp_path / "drawn")) for file in (tmp_path / "drawn").glob("*/*")}
    assert {
        str(file.relative_to(REAL)) for paper in PAPERS for file in REAL.glob(f"{paper}/*")
    } == kept
    total = sum(map(len, shipped()["figures"].values()))
    assert f"{len(drawn)} of {total} figures" in (ROOT / "README.md").read_text(encoding="utf-8")
    for name in [*(file for file in kept if file.endswith(".tsv")), "claims.tsv", "scores.tsv"]:
        there, here = (
            read_tsv(folder / name).drop(columns="version")
            for folder in (REAL, tmp_path / "drawn")
        )
        pd.testing.assert_frame_equal(there, here, rtol=1e-6, obj=name)
    for name in drawn:
        there, here = (
            (folder / f"{name}.txt").read_text().rpartition("Drawn by")[0]
            for folder in (REAL, tmp_path / "drawn")
        )
        assert there == here, name
        there, here = (plt.imread(folder / f"{name}.png") for folder in (REAL, tmp_path / "drawn"))
        # What is kept has a palette of 256 colours, so single pixels differ by up to a third.
        other = np.abs(there - here).max(axis=-1) > 0.5
        assert other.mean() < 1e-3, name


def test_archives_of_single_tasks_make_one_of_all(tmp_path):
    twelve, out = REAL / "all-mpnet-base-v2", str(tmp_path / "out.zip")
    combine = runpy.run_path(str(REAL / "combine.py"))["main"]
    combine(out, str(twelve / "experiments.yaml"), *map(str, sorted(twelve.glob("*.zip"))))
    config = redraw.prepare(out, tmp_path, {})
    scored = {path.stem for path in (tmp_path / "results/scores").glob("*.tsv")}
    figures = [entry for items in config["figures"].values() for entry in items.values() if entry]
    trained = {model for model in scored if not model.endswith(".random")}
    assert trained == {model for entry in figures for model in entry["models"]}
    assert trained == {"mrpc", "rte", "sst2", "mnli", "dep"} and len(scored) == 5 + 4


def test_verdicts_of_the_findings_are_those_of_the_claims():
    """The findings tell verdicts in two forms: `K5.1` holds; `K5.2`: 6 hold, 1 undecided."""
    text = " ".join(FINDINGS.split())
    claims = read_tsv(REAL / "claims.tsv")
    whole = claims.drop_duplicates(["paper", "id"])
    hold, fail = [(whole[f"adjusted_p_{what}"] < ERROR).sum() for what in ("holds", "fails")]
    told = [
        findings.totals(claims, "rows", "verdict"),
        findings.totals(whole, "claims", "claim_verdict"),
        f"After Holm's correction {hold} of those that hold still do, and {fail} of those that fail",
        *findings.beside_nulls(claims["null"]),
    ]
    assert not [sentence for sentence in told if sentence not in text]

    in_words = [findings.in_words(*row) for row in zip(claims["verdict"], claims["null"])]
    verdicts = pd.Series(in_words).groupby(claims["claim"].str.split(" ").str[0]).value_counts()
    found = re.findall(
        r"`([A-Z]\d*\.\d+[ab]?)`(?: (holds|fails|is undecided|is not testable)|: (\d+ [^.;)]*))?",
        text,
    )
    assert len(found) > 10
    for claim, only, counts in found:
        assert only or counts, claim
        told = (
            dict(reversed(one.split(" ", 1)) for one in counts.split(", "))
            if counts
            else {only.removeprefix("is "): 1}
        )
        told = {
            re.sub("^(hold|fail)\\b", r"\1s", word): int(times) for word, times in told.items()
        }
        assert told == dict(verdicts[claim]), claim


def test_numbers_of_the_findings_are_those_of_the_rows_that_they_link_to():
    found = findings.links(FINDINGS)
    assert len(found) > 25
    for link in found:
        numbers = findings.numbers(ROOT / "docs", link)
        row = numbers[0].rows[0]
        if verdict := re.search(r"\], ([a-z ]+)$", link.text):
            assert verdict[1] == findings.in_words(row["verdict"], row["null"]), link
        values = [number.value for number in numbers]
        known = numbers[0][2:] if len(numbers) == 1 else [min(values), max(values)]
        told = re.findall(r"-?\d*\.?\d+", link.text.replace("−", "-"))
        for number, value in zip(told, known[: len(told)], strict=True):
            value *= 100 if "%" in link.text else 1
            decimals = len(number.partition(".")[2])
            assert abs(value - float(number)) <= 0.5001 * 10**-decimals, (link, value)


def test_sentences_of_the_findings_are_carried_by_their_rows():
    """Each sentence of the first section names what must be true of its rows; any other may."""
    new = FINDINGS.partition("## What the papers did not say")[2].partition("\n## ")[0]
    items = re.findall(r"^\d+\. ((?:.|\n(?=   ))*)", new, re.MULTILINE)
    sentences = [one for item in items for one in re.split(r"(?<=\S)\.\s+(?=[A-Z])", item)]
    assert len(items) > 5
    untested = [
        findings.plain(sentence)
        for sentence in sentences
        if not any(link.condition for link in findings.links(sentence))
    ]
    assert not untested, "\n".join(untested)
    others = re.split(r"\n(?=\n|\||\d+\. |- )", FINDINGS.replace(new, ""))
    faults = [
        fault
        for sentence in [*sentences, *others]
        for fault in findings.unsupported(sentence, ROOT / "docs")
    ]
    assert not faults, "\n".join(faults)


def test_a_sentence_whose_rows_no_longer_carry_it_is_named(tmp_path):
    table = tmp_path / "scores.tsv"
    rows = {"model": ["a", "b", "a.noise", "b.noise", "c"], "value": [3.0, 2.0, 2.0, 1.9, None]}
    each = {"each": ["2.9; 3.1", "1.5; 2.5", "1.9; 2.1", "1.9; 1.9", ""], "low": 1.0, "high": 4.0}
    pd.DataFrame(rows | each).to_csv(table, sep="\t", index=False)
    said = 'All exceed noise, by [.1 to 1.0](scores.tsv "model=*.noise; minus: model=*; {}").'
    assert not findings.unsupported(said.format("below 9"), tmp_path)
    (fault,) = findings.unsupported(said.format("below 0"), tmp_path)
    assert fault.startswith("«All exceed noise, by [.1 to 1.0].» is no longer so.")
    assert "model=b.noise; minus: model=*: -0.1 [-6.45, 6.25] is to be so: below 0." in fault
    assert not findings.unsupported('[3](scores.tsv "model=a; not above 1")', tmp_path)
    assert findings.unsupported('[3](scores.tsv "model=a; above 1")', tmp_path)
    assert findings.unsupported('[.](scores.tsv "model=c; not above 1")', tmp_path)


def test_p_of_weights_and_attention_over_six_layers():
    """The layers are the sample, however many seeds agree: p is over all their orders, each the
    same in all seeds."""
    steps = read_tsv(REAL / "kovaleva2019/steps.tsv").query("source == 'ours' and layer > 0")
    told = re.findall(
        r"p of (\.\d+) over all orders of the six layers", " ".join(FINDINGS.split())
    )
    for task in ("mnli", "rte"):
        rows = steps[steps["panel"] == task].set_index(["series", "layer"])["each"]
        weights, attention = (
            zscore(rankdata([list(map(float, each.split("; "))) for each in rows[series]], axis=0))
            for series in ("displacement", "attention")
        )
        rho = [(weights * attention[list(order)]).mean() for order in permutations(range(6))]
        p = np.mean(np.abs(rho) >= abs(rho[0]) - 1e-9)
        assert told == [f"{p:.2f}".removeprefix("0")]


def asked(text):
    """What its commands ask snakemake for."""
    commands = re.findall(r"^    snakemake (.*)$", text, re.MULTILINE)
    return [word for command in commands for word in command.split() if word != "-n"]


def jobs_shown(heading):
    """The number of jobs by rule in the table of a step of the tutorial."""
    step = DEMO.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    shown = {rule: int(n) for rule, n in re.findall(r"^    (\w+) +(\d+)$", step, re.MULTILINE)}
    assert shown.pop("total") == sum(shown.values())
    return shown


@pytest.mark.slow("many runs")
def test_the_tutorials_edit_runs_what_it_says(copy_project):
    """Jobs that compute nothing leave the same records as those that do."""
    project = copy_project()
    for script in (project.folder / "workflow/scripts").glob("*.py"):
        script.write_text(STUB)
    heading = "6. Change one thing"
    target = asked(DEMO.partition(heading)[2])[0]
    project.snakemake(target, "--cores", "2", "--quiet", "rules", "progress")
    before, after = re.search(r"from `(\S+)` to `(\S+)`", DEMO.partition(heading)[2]).groups()
    config = project.config
    assert config["tasks"]["mnli"]["learning_rate"] == float(before)
    config["tasks"]["mnli"]["learning_rate"] = float(after)
    project.config = config
    assert project.jobs(target) == jobs_shown(heading)


def test_the_tutorials_commands(copy_project):
    project = copy_project()
    targets = asked(DEMO)
    assert project.jobs(targets[0]) == jobs_shown("1. Ask what would run")

    project.config = merge(project.config, TINY)
    assert len(targets) >= 6
    planned = project.snakemake(*dict.fromkeys(targets), "--dry-run")
    assert not [target for target in targets if target not in planned]
    files = re.search(r"output: (.*/figure2\.png.*)", planned)[1].split(", ")
    assert set(re.findall(r"`(figure2\.\w+)`", DEMO)) == {Path(file).name for file in files}


def write_own_task(folder, copies=1):
    """The files of the tutorial's own task as they stand there, its rows so many times; (the
    trial, the real run) to ask for."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", OWN, re.MULTILINE | re.DOTALL)
    (kind, data), (config_kind, config) = blocks
    assert (kind, config_kind) == ("tsv", "yaml")
    header, rows = data.split("\n", 1)
    (folder / "mydata").mkdir()
    for split in ("train", "dev"):
        (folder / f"mydata/{split}.tsv").write_text(f"{header}\n{rows * copies}")
    (folder / "mytask.yaml").write_text(config)
    return [command.split() for command in re.findall(r"^    snakemake (.*)$", OWN, re.MULTILINE)]


def test_the_tutorials_own_task(copy_project):
    """Its files, as they stand there, are all that a task needs."""
    project = copy_project()
    _, real = write_own_task(project.folder)
    with (project.folder / "mytask.yaml").open("a") as config:
        config.write("scale: small\n")
    jobs = project.jobs(*real)
    assert (jobs["dataset"], jobs["finetune"], jobs["checkpoint"]) == (1, 2, 1)
    assert (jobs["scores"], jobs["js"], jobs["ablation"]) == (1, 1, 1)


ROWS = re.search(r"^    model  stimuli.*\n(?:    .*\n)+", DEMO, re.MULTILINE)[0]
SHOWN = pd.read_csv(io.StringIO(ROWS), sep=r"\s+")


def test_the_readme_shows_the_rows_of_the_tutorial():
    assert ROWS in (ROOT / "README.md").read_text(encoding="utf-8")


def of_a_run():
    """GitHub runs the tutorial's commands as they stand there, and then this."""
    folder = os.environ.get("BERTSHIFT_TUTORIAL")
    if not folder:
        pytest.skip("BERTSHIFT_TUTORIAL names no folder in which the tutorial's commands were run")
    return read_tsv(Path(folder) / "results/rsa/mnli_vs_base.tsv")[SHOWN.columns][: len(SHOWN)]


@pytest.mark.parametrize("rows", [lambda: SHOWN, of_a_run], ids=["shown", "a run"])
def test_what_is_said_of_the_rows_that_the_tutorial_shows(rows):
    """Another processor trains another model: other numbers, of which the same is true."""
    numbers, rows = ["value", "low", "high"], rows()
    pd.testing.assert_frame_equal(SHOWN.drop(columns=numbers), rows.drop(columns=numbers))
    said = r"`value` falls from layer 0 to layer (\d), and is lowest in layers (\d) and (\d)"
    falls, *lowest = map(int, re.search(said, " ".join(DEMO.split())).groups())
    value = rows.set_index("layer")["value"]
    assert value[: falls + 1].is_monotonic_decreasing
    assert set(value.nsmallest(len(lowest)).index) == {*lowest}
