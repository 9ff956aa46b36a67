"""The contents of the page, as JSON can hold them: figures, claims, pairs of models, and what all
of them were made from."""

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
from bertshift.naming import VARIANTS, Name, named_in
from bertshift.page.charts import chart, shown
from bertshift.page.listing import ARCHIVE, listed
from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.rows import labelling
from bertshift.rows.nulls import null_of
from bertshift.rows.provenance import ORIGIN
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED
from bertshift.verdicts.multiplicity import corrected

VERDICTS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided", UNTESTED: "untested"}
THUMBNAIL = 420  # pixels wide, for a screen of two pixels a point
NUMBER = r"[-+]?\d+(?:\.\d+)?"


def figure(
    entry: Mapping,
    table: pd.DataFrame,
    caption: str,
    published: Mapping,
    picture: str | Path,
    logs: Path = Path("logs"),
) -> dict:
    """Describe one figure: its words, what made it, and the rows of its table that a reader can
    explore.

    `entry`: the figure's `name` `<paper>/<item>`, the `models` it names and the `tables` it reads;
    `caption`: what it shows and, after an empty line, what made it. `entry["absent"]`, if there,
    lists which of its files are not beside the page.
    """
    shows, _, made = caption.strip().partition("\n\n")
    name, models = entry["name"], list(entry["models"])
    paper, item = name.split("/")
    ours = table[table["source"] == "ours"]
    curves = chart(table, models, published.get(paper, {}).get("paper", {}).get("layers"))
    return {
        "name": name,
        "paper": paper,
        "place": place(item),
        "title": FIGURES[name].title,
        "shows": shows,
        "made": made,
        "models": models,
        "tasks": list(dict.fromkeys(task for model in models for task in Name.of(model).stages)),
        "thumbnail": thumbnail(picture),
        "absent": list(entry.get("absent", [])),
        "chart": curves,
        "numbers": None if curves else listed(table.assign(**{ARCHIVE: "ours"}), ["ours"]),
        "cited": sorted(set(table.loc[table["source"] == "published", "citation"].dropna())),
        **{key: _each(ours[key]) for key in ORIGIN},
        "runs": _runs(ours),
        "trained": failures(table, models),
        "rows": len(ours),
        "tables": list(entry["tables"]),
        "cost": costs(entry, logs),
        "command": f"snakemake results/figures/{name}.png",
    }


def place(item: str) -> str:
    """Name a figure's place in its paper: `Figure 5`, `Appendix A`, `Table MRPC` for `figure5`,
    `appendix_a`, `table_mrpc`; empty for what is no paper's."""
    kind, *rest = re.split(r"_|(?<=[a-z])(?=\d)", item)
    if kind not in ("figure", "table", "appendix"):
        return ""
    return " ".join([kind.capitalize(), *(rest if kind == "figure" else map(str.upper, rest))])


def _each(column: pd.Series) -> list[str]:
    return list(
        dict.fromkeys(part for value in column.dropna() for part in str(value).split("; "))
    )


def _runs(ours: pd.DataFrame) -> list[dict]:
    """Count the numbers by how many replicates they have, of which unit, and with which
    interval."""
    found = ours.groupby(["unit", "interval", "replicates"], sort=False, dropna=False).size()
    return [
        {
            "unit": str(unit),
            "interval": str(interval),
            "replicates": int(replicates),
            "numbers": int(count),
        }
        for (unit, interval, replicates), count in found.items()
    ]


def failures(table: pd.DataFrame, models: Iterable[str]) -> list[dict]:
    """Count for each model how many of the runs behind a figure's rows learned their task and how
    many failed, in the row where most did."""
    ours = table[table["source"] == "ours"]
    known = {*models}
    named = next(
        (
            key
            for key in ("series", "panel", "model")
            if key in ours and ours[key].isin(known).any()
        ),
        None,
    )
    if named is None:
        return []
    told = ours[
        (ours["trained"] + ours["failed"] > 0) & (ours[named].fillna("").map(null_of) == "")
    ]
    worst = told.loc[told.groupby(named, sort=False)["failed"].idxmax()]
    return [
        {"model": str(model), "trained": int(trained), "failed": int(failed)}
        for model, trained, failed in worst[[named, "trained", "failed"]].itertuples(index=False)
    ]


def thumbnail(picture: str | Path) -> dict:
    """Make a small picture as a data URL, the same bytes for the same picture."""
    with Image.open(picture) as image:
        height = max(1, round(image.height * THUMBNAIL / image.width))
        small = image.convert("RGB").resize((THUMBNAIL, height), Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        small.save(stream, "WEBP", quality=55, method=6)
        size = list(image.size)
    return {
        "url": "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode(),
        "size": size,
    }


def claim(row: Mapping) -> dict:
    """Describe a row of `Claims.decide`, with the ends of its criterion and the published value as
    numbers where they are numbers."""
    numbers = {
        key: shown(row[key])
        for key in ("ours", "low", "high", "probability", "adjusted_probability")
    }
    words = {
        key: "" if pd.isna(row[key]) else str(row[key])
        for key in (
            "paper",
            "figure",
            "claim",
            "id",
            "over",
            "statement",
            "place",
            "strength",
            "published_value",
            "measure",
            "null",
            "claim_null",
            "reason",
            "scale",
        )
    }
    return (
        words
        | numbers
        | {
            "verdict": VERDICTS[row["verdict"]],
            "claim_verdict": VERDICTS[row["claim_verdict"]],
            "replicates": int(row["replicates"]),
            "criterion": list(bounds(words["measure"])),
            "published": published_number(words["published_value"]),
        }
    )


def bounds(criterion: str) -> tuple[float | None, float | None]:
    """Read the ends of the range that a criterion (`Claim.criterion`) names, None for no end."""
    if both := re.fullmatch(
        rf"({NUMBER}(?:e[-+]\d+)?) [<≤] .* [<≤] ({NUMBER}(?:e[-+]\d+)?)", criterion
    ):
        return float(both[1]), float(both[2])
    one = re.search(rf" ([<>≤≥]) ({NUMBER}(?:e[-+]\d+)?)$", criterion)
    if not one:
        return None, None
    return (None, float(one[2])) if one[1] in "<≤" else (float(one[2]), None)


def published_number(words: str) -> list[float] | None:
    """Read [value, low, high] from a published value that is one number: `-1.5`, `32 %`, `0.23
    (digitised)`, `0.84 ± 0.02`."""
    found = re.fullmatch(rf"({NUMBER})(?: %)?(?: ± ({NUMBER}))?(?: \([\w, ]+\))?", words)
    if not found:
        return None
    value, error = float(found[1]), float(found[2] or 0)
    return [value, value - error, value + error]


def costs(entry: Mapping, logs: Path) -> list[list]:
    """List [what, jobs, hours] of the jobs that made a figure, as far as their records are there:
    its drawing, its tables, and the fine-tuning of its models."""
    tables = (path.removeprefix("results/").removesuffix(".tsv") for path in entry["tables"])
    records = {
        "fine-tuning of its models": [
            path
            for model in entry["models"]
            for path in sorted(logs.glob(f"finetune/{model}_init*.cost.tsv"))
        ],
        "its tables": [logs / f"{table}.cost.tsv" for table in tables],
        "the drawing": [logs / f"figures/{entry['name']}.cost.tsv"],
    }
    found = {what: [path for path in paths if path.is_file()] for what, paths in records.items()}
    return [
        [what, len(paths), shown(sum(map(_seconds, paths)) / 3600, 2)]
        for what, paths in found.items()
        if paths
    ]


def _seconds(record: Path) -> float:
    return float(pd.to_numeric(read_tsv(record)["s"], errors="coerce").sum())


def page(
    figures: Sequence[dict],
    claims: pd.DataFrame,
    published: Mapping[str, Mapping],
    pairs: Mapping,
    examples: Mapping,
) -> dict:
    """Collect all that the page needs. `figures` are made by `figure`; `pairs` by `pairs.pairs`;
    `examples`, by model, are what results/examples holds."""
    papers = list(dict.fromkeys(one["paper"] for one in figures))
    rows = [claim(row) for row in claims.to_dict("records")]
    rows.sort(key=lambda row: row["claim_verdict"] == VERDICTS[UNTESTED])  # those come last
    checkpoints = list(dict.fromkeys(name for one in figures for name in one["checkpoint"]))
    families = {name for one in figures for name in one["family"]}
    return {
        "title": "What fine-tuning changes" + " in BERT" * (families <= {BERT}),
        "scales": sorted({scale for one in figures for scale in one["scale"]}),
        "checkpoints": checkpoints,
        "papers": [
            {
                "name": paper,
                "short": PAPERS[paper].NAME,
                "citation": published.get(paper, {}).get("paper", {}).get("citation", paper),
                "corrected": corrected(claims[claims["paper"] == paper]),
            }
            for paper in papers
        ],
        "figures": list(figures),
        "claims": rows,
        "pairs": dict(pairs),
        "examples": dict(examples),
        "variants": [["." + kind.forms[0], kind.does] for kind in VARIANTS.values()],
        "labels": _labels(figures, pairs),
        "colours": style.colours_of(_lines(figures, pairs)),
    }


def _lines(figures: Sequence[dict], pairs: Mapping) -> list[str]:
    """List what the curves of the page stand for."""
    drawn = [line["name"] for one in figures if one["chart"] for line in one["chart"]["lines"]]
    return list(dict.fromkeys([*drawn, *(name for pair in pairs for name in named_in(pair))]))


def _labels(figures: Sequence[dict], pairs: Mapping) -> dict[str, str]:
    """Name models, tasks and edge-probing tasks for a reader."""
    names = [name for one in figures for name in (*one["models"], *one["tasks"])]
    names += [name for pair in pairs for name in named_in(pair)]
    return {name: labelling.label_of(name) for name in dict.fromkeys(names)} | labelling.EDGES
