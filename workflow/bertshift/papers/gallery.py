"""One static page of every figure and every verdict: no script, no outside asset, opens from a folder."""

import re
from collections.abc import Mapping
from html import escape
from urllib.parse import quote

import pandas as pd

from bertshift.models.source import BERT, family_in
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED, false_discoveries

MARKS = {
    HOLDS: ("✓", "holds"),
    FAILS: ("✗", "fails"),
    UNDECIDED: ("?", "undecided"),
    UNTESTED: ("–", "untested"),
}

STYLE = """
:root { color-scheme: light; --ink: #1b1b1b; --soft: #595959; --line: #d9d9d9; --back: #fff; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--back);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.3rem; border-top: 2px solid var(--line);
  padding-top: 1rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
.banner { border: 2px solid #8a5a00; background: #fff6e0; padding: .6rem 1rem; border-radius: .3rem; }
.soft { color: var(--soft); }
nav ul { padding-left: 1.2rem; } a { color: #0a4f8f; } a:focus-visible { outline: 3px solid #0a4f8f; }
figure { margin: 0 0 1rem; } figure img { max-width: 100%; height: auto; border: 1px solid var(--line); }
.narrow img { width: 34rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { white-space: nowrap; font-weight: 600; padding: .1rem .45rem; border-radius: .3rem; }
.holds { background: #d8f0e6; color: #00503a; } .fails { background: #fbe0d3; color: #7a2600; }
.undecided { background: #fff1c2; color: #5c4400; }
.untested { background: #ececec; color: #404040; white-space: normal; display: inline-block; }
"""


def render(
    figures: Mapping[str, pd.DataFrame],
    claims: pd.DataFrame,
    published: Mapping[str, Mapping],
    captions: Mapping[str, str],
) -> str:
    """The page, for a file beside the papers' folders.

    `figures`: the table of every figure `<paper>/<item>`; `claims`: rows of `Claims.decide`, all figures together;
    `published`: each paper's published.yaml; `captions`: plain text by figure, what the figure shows and, after an empty
    line, what it was made from.
    Every text is escaped; links are `<paper>/<item>.png`, `.pdf`, `.tsv`, `.txt`.
    """
    papers = list(dict.fromkeys(name.partition("/")[0] for name in figures))
    sections = []
    for paper in papers:
        names = [name for name in figures if name.startswith(f"{paper}/")]
        parts = [_figure(name, figures[name], captions.get(name, ""), claims) for name in names]
        citation = published.get(paper, {}).get("paper", {}).get("citation", paper)
        sections.append(
            f'<section id="{escape(paper)}"><h2>{escape(citation)}</h2>{_verdicts(claims[claims["paper"] == paper])}'
            f"{''.join(parts)}</section>"
        )
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(name.replace("/", ", "))}</a> {_count(_of(claims, name))}</li>'
        for name in figures
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_heading(figures)}</title><style>{STYLE}</style></head><body>"
        f"<header><h1>{_heading(figures)}</h1>{_banner(figures)}</header>"
        f'<nav aria-label="Figures"><ul>{links}</ul></nav><main>{"".join(sections)}</main></body></html>\n'
    )


def _heading(figures: Mapping[str, pd.DataFrame]) -> str:
    names = [
        name for table in figures.values() for name in table.loc[table["source"] == "ours", "checkpoint"]
    ]
    families = {family_in(each) for name in names for each in str(name).split("; ")}
    return "What fine-tuning changes" + " in BERT" * (families <= {BERT})


def _banner(figures: Mapping[str, pd.DataFrame]) -> str:
    ours = pd.concat([table[table["source"] == "ours"] for table in figures.values()], ignore_index=True)
    scales = ", ".join(sorted(map(str, ours["scale"].unique())))
    checkpoints = "; ".join(map(str, ours["checkpoint"].unique()))
    warning = (
        " A generated corpus and a small model that this workflow pretrained: it shows that everything runs, "
        "and reproduces no paper."
        if "demo" in scales.split(", ")
        else ""
    )
    return (
        f'<p class="banner"><strong>Scale: {escape(scales)}.</strong>{warning} '
        f'<span class="soft">Checkpoints: {escape(checkpoints)}.</span></p>'
    )


def _of(claims: pd.DataFrame, name: str) -> pd.DataFrame:
    paper, item = name.split("/")
    return claims[(claims["paper"] == paper) & (claims["figure"] == item)]


def _verdicts(claims: pd.DataFrame) -> str:
    """A paper's counts, and how many of the claims that hold do so by chance."""
    rate = false_discoveries(claims)
    words = f" At a false discovery rate of {rate:.2g}, all that hold do." if pd.notna(rate) else ""
    return f"<p>{_count(claims)}{words}</p>" if len(claims) else ""


def _count(claims: pd.DataFrame) -> str:
    counts = claims["verdict"].value_counts()
    words = ", ".join(f"{verdict}: {counts[verdict]}" for verdict in MARKS if verdict in counts)
    return f'<span class="soft">{escape(words)}</span>' if words else ""


def _figure(name: str, table: pd.DataFrame, caption: str, claims: pd.DataFrame) -> str:
    item = name.partition("/")[2]
    shows, _, made_from = caption.strip().partition("\n\n")
    link = quote(name)
    title = _title(item)
    narrow = ' class="narrow"' if table["panel"].nunique() == 1 else ""
    cited = sorted(set(table.loc[table["source"] == "published", "citation"]))
    note = (
        f"Published numbers in the figure: {'; '.join(cited)}."
        if cited
        else "No published numbers in the figure."
    )
    rows = _of(claims, name)
    return (
        f'<article id="{escape(name)}"><h3>{escape(title)}</h3><figure{narrow}>'
        f'<a href="{link}.pdf"><img src="{link}.png" alt="{escape(f"{title}. {shows}".strip())}" loading="lazy"></a>'
        f'<figcaption>{escape(shows)} <span class="soft">{escape(made_from)} {escape(note)}</span> '
        f'<a href="{link}.tsv">Every number drawn (TSV)</a>, <a href="{link}.pdf">PDF</a>, '
        f'<a href="{link}.txt">caption</a>.</figcaption></figure>'
        f"{_table(rows) if len(rows) else ''}</article>"
    )


def _title(item: str) -> str:
    """`Figure 5`, `Appendix A`, `Table MRPC`, `Own or inherited` of `figure5`, `appendix_a`, and so on."""
    kind, *rest = re.split(r"_|(?<=[a-z])(?=\d)", item)
    words = map(str.upper, rest) if kind in ("appendix", "table") else rest
    return " ".join([kind.capitalize(), *words])


def _table(claims: pd.DataFrame) -> str:
    head = "".join(
        f'<th scope="col">{word}</th>'
        for word in ("Claim", "The paper says", "Decided by", "Published", "Ours", "Verdict")
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Verdicts"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_row(row) for row in claims.to_dict('records'))}</tbody></table></div>"
    )


def _row(row: Mapping) -> str:
    mark, kind = MARKS[row["verdict"]]
    ours = "" if pd.isna(row["ours"]) else f"{row['ours']:.3f}"
    if not pd.isna(row["low"]):
        ours += f" [{row['low']:.3f}, {row['high']:.3f}]"
    published = "" if pd.isna(row["published_value"]) else str(row["published_value"])
    return (
        f'<tr><th scope="row">{escape(row["claim"])}</th>'
        f'<td>{escape(row["statement"])} <span class="soft">{escape(row["place"])}, {escape(row["strength"])}</span></td>'
        f'<td>{escape(row["measure"])}</td><td>{escape(published)}</td><td class="number">{ours}</td>'
        f'<td><span class="verdict {kind}">{mark} {escape(row["verdict"])}</span> '
        f'<span class="soft">{escape(row["reason"])}</span></td></tr>'
    )
