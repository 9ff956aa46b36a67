"""The contents of the page, as values of JSON: figures, claims, pairs of models, and their
origins."""

import base64
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from PIL import Image

from bertshift.figures import style
from bertshift.files import read_tsv
from bertshift.models.source import BERT
from bertshift.naming import VARIANTS, Model, named_in
from bertshift.page.charts import NAMES_MODELS, chart, shown
from bertshift.page.listing import ARCHIVE, listed
from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.rows import labelling
from bertshift.rows.nulls import is_null
from bertshift.rows.provenance import ORIGIN
from bertshift.verdicts.deciding import (
    FAILS,
    HOLDS,
    P_VALUES,
    PUBLISHED,
    STATED,
    UNDECIDED,
    UNTESTED,
)
from bertshift.verdicts.multiplicity import ADJUSTED, corrected

VERDICTS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided", UNTESTED: "untested"}
THUMBNAIL = 420  # pixels wide, for a screen of two pixels a point


def figure(
    entry: Mapping,
    table: pd.DataFrame,
    caption: str,
    published: Mapping,
    picture: str | Path,
    logs: Path = Path("logs"),
) -> dict:
    """Describe one figure: its words, its origin, and the rows of its table that a reader can
    explore.

    `entry`: the figure's `name` `<paper>/<item>`, the `models` it names and the `tables` it reads;
    `caption`: its contents and, after an empty line, its origin. `entry["absent"]` is optional and
    lists the figure's files that are not next to the page.
    """
    shows, _, origin = caption.strip().partition("\n\n")
    name, models = entry["name"], list(entry["models"])
    paper, item = name.split("/")
    ours = table[table["source"] == "ours"]
    citations = table.loc[table["source"] == "published", "citation"]
    tasks = dict.fromkeys(task for model in models for task in Model.of(model).stages)
    curves = chart(table, models, published.get(paper, {}).get("paper", {}).get("layers"))
    return {
        "name": name,
        "paper": paper,
        "place": label_item(item),
        "title": FIGURES[name].title,
        "shows": shows,
        "made": origin,
        "models": models,
        "tasks": list(tasks),
        "thumbnail": thumbnail(picture),
        "absent": list(entry.get("absent", [])),
        "chart": curves,
        "numbers": None if curves else listed(table.assign(**{ARCHIVE: "ours"}), ["ours"]),
        "cited": sorted(set(citations.dropna())),
        **{key: list_values(ours[key]) for key in ORIGIN},
        "runs": _count_replicates(ours),
        "trained": failures(table, models),
        "rows": len(ours),
        "tables": list(entry["tables"]),
        "cost": costs(entry, logs),
        "command": f"snakemake results/figures/{name}.png",
    }


def label_item(item: str) -> str:
    """Return a figure's label in its paper: `Figure 5`, `Appendix A`, `Table MRPC` for `figure5`,
    `appendix_a`, `table_mrpc`; empty for a figure that no paper has."""
    kind, *parts = re.split(r"_|(?<=[a-z])(?=\d)", item)
    if kind not in ("figure", "table", "appendix"):
        return ""
    if kind != "figure":
        parts = map(str.upper, parts)
    return " ".join([kind.capitalize(), *parts])


def list_values(column: pd.Series) -> list[str]:
    """List the values of a column once; a cell may join several by "; "."""
    return list(column.dropna().astype(str).str.split("; ").explode().unique())


def _count_replicates(ours: pd.DataFrame) -> list[dict]:
    """Count the numbers by their number of replicates, its unit, and the kind of interval."""
    sizes = ours.groupby(["unit", "interval", "replicates"], sort=False, dropna=False).size()
    return [
        {
            "unit": str(unit),
            "interval": str(interval),
            "replicates": int(replicates),
            "numbers": int(size),
        }
        for (unit, interval, replicates), size in sizes.items()
    ]


def failures(table: pd.DataFrame, models: Iterable[str]) -> list[dict]:
    """Count for each model the runs behind a figure's rows that learned their task and those that
    failed, in the row where most failed."""
    ours = table[table["source"] == "ours"]
    names = set(models)
    keys = [key for key in NAMES_MODELS if key in ours and ours[key].isin(names).any()]
    if not keys:
        return []
    key = keys[0]
    has_runs = ours["trained"] + ours["failed"] > 0
    rows = ours[has_runs & ~is_null(ours[key].fillna(""))]
    worst = rows.loc[rows.groupby(key, sort=False)["failed"].idxmax()]
    return [
        {"model": str(row[key]), "trained": int(row["trained"]), "failed": int(row["failed"])}
        for row in worst.to_dict("records")
    ]


def thumbnail(picture: str | Path) -> dict:
    """Make a small picture as a data URL, the same bytes for the same picture."""
    with Image.open(picture) as image:
        size = list(image.size)
        height = max(1, round(image.height * THUMBNAIL / image.width))
        small = image.convert("RGB").resize((THUMBNAIL, height), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=55, method=6)
    text = base64.b64encode(stream.getvalue()).decode()
    return {"url": f"data:image/webp;base64,{text}", "size": size}


def claim(row: Mapping) -> dict:
    """Describe a row of `Claims.decide`, with the bounds of its criterion and the published number
    with its ± where there are any."""
    word_keys = (*STATED, "null", "claim_null", "reason", "scale")
    number, error = (row[key] for key in PUBLISHED)
    number_keys = ("ours", "low", "high", *P_VALUES, *ADJUSTED)
    ends = row["criterion_low"], row["criterion_high"]
    words = {key: "" if pd.isna(row[key]) else str(row[key]) for key in word_keys}
    return {
        **words,
        **{key: shown(row[key]) for key in number_keys},
        "verdict": VERDICTS[row["verdict"]],
        "claim_verdict": VERDICTS[row["claim_verdict"]],
        "replicates": int(row["replicates"]),
        "criterion": [None if pd.isna(end) else float(end) for end in ends],
        "published": None if pd.isna(number) else [number, number - error, number + error],
    }


def costs(entry: Mapping, logs: Path) -> list[list]:
    """List [description, number, CPU-hours] of the jobs that made a figure, as far as their
    records exist: its drawing, its tables, and the fine-tuning of its models."""
    trainings = []
    for model in entry["models"]:
        trainings += sorted(logs.glob(f"finetune/{model}_init*.cost.tsv"))
    tables = []
    for path in entry["tables"]:
        table = path.removeprefix("results/").removesuffix(".tsv")
        rows_of_runs = sorted(logs.glob(f"{table}_init*.cost.tsv"))
        tables += [logs / f"{table}.cost.tsv", *rows_of_runs]
    records = {
        "fine-tuning of its models": trainings,
        "its tables": tables,
        "the drawing": [logs / f"figures/{entry['name']}.cost.tsv"],
    }
    rows = []
    for description, candidates in records.items():
        paths = list(filter(Path.is_file, candidates))
        if paths:
            seconds = sum(map(_read_cpu_seconds, paths))
            rows.append([description, len(paths), shown(seconds / 3600, 2)])
    return rows


def _read_cpu_seconds(record: Path) -> float:
    return float(pd.to_numeric(read_tsv(record)["cpu_time"], errors="coerce").sum())


def describe_paper(paper: str, published: Mapping[str, Mapping]) -> dict:
    citation = published.get(paper, {}).get("paper", {}).get("citation", paper)
    return {"name": paper, "short": PAPERS[paper].NAME, "citation": citation}


def describe_variants() -> list[list[str]]:
    """List [spelling, meaning] of the variants in models' names."""
    return [[f".{kind.forms[0]}", kind.does] for kind in VARIANTS.values()]


def page(
    figures: Sequence[dict],
    claims: pd.DataFrame,
    published: Mapping[str, Mapping],
    pairs: Mapping,
    examples: Mapping,
) -> dict:
    """Collect the page's contents. `figures` are made by `figure`; `pairs` by `pairs.pairs`;
    `examples`, by model, are the contents of results/examples."""
    papers = dict.fromkeys(figure["paper"] for figure in figures)
    rows = [claim(row) for row in claims.to_dict("records")]
    # Untested claims come last.
    rows.sort(key=lambda row: row["claim_verdict"] == VERDICTS[UNTESTED])
    checkpoints = dict.fromkeys(name for figure in figures for name in figure["checkpoint"])
    families = {name for figure in figures for name in figure["family"]}
    title = "What fine-tuning changes"
    if families <= {BERT}:
        title += " in BERT"
    return {
        "title": title,
        "scales": sorted({scale for figure in figures for scale in figure["scale"]}),
        "checkpoints": list(checkpoints),
        "papers": [
            {
                **describe_paper(paper, published),
                "corrected": {
                    VERDICTS[verdict]: count
                    for verdict, count in corrected(claims[claims["paper"] == paper]).items()
                },
            }
            for paper in papers
        ],
        "figures": list(figures),
        "claims": rows,
        "pairs": dict(pairs),
        "examples": dict(examples),
        "variants": describe_variants(),
        "labels": _label_names(figures, pairs),
        "colours": style.colours_of(_list_lines(figures, pairs)),
    }


def _list_lines(figures: Sequence[dict], pairs: Mapping) -> list[str]:
    """List the names of the page's curves."""
    names = []
    for figure in figures:
        if figure["chart"]:
            names += [line["name"] for line in figure["chart"]["lines"]]
    for pair in pairs:
        names += named_in(pair)
    return list(dict.fromkeys(names))


def _label_names(figures: Sequence[dict], pairs: Mapping) -> dict[str, str]:
    """Label models, tasks and edge-probing tasks for a reader."""
    names = []
    for figure in figures:
        names += [*figure["models"], *figure["tasks"]]
    for pair in pairs:
        names += named_in(pair)
    return {name: labelling.label_of(name) for name in names} | labelling.EDGES
