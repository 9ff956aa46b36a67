"""The contents of the page that compares two archives, as values of JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import pandas as pd

from bertshift.naming import DEFAULT_BASE, Model, named_in, pair_name
from bertshift.page import data
from bertshift.page.charts import NAMES_MODELS, OVER, chart
from bertshift.page.listing import ARCHIVE, listed
from bertshift.papers.catalogue import FIGURES
from bertshift.rows import labelling
from bertshift.verdicts.deciding import P_VALUES
from bertshift.verdicts.multiplicity import ADJUSTED


def together(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of one figure, by archive; published rows once, in the first archive that
    has them.

    Where both show the same models of different checkpoints, models are named without checkpoint:
    `mnli` for `mnli@large`.
    """
    stacked = [
        table.astype({key: object for key in NAMES_MODELS if key in table}).assign(
            **{ARCHIVE: name}
        )
        for name, table in tables.items()
    ]
    for key in NAMES_MODELS:
        if all(key in table for table in stacked):
            short_names = _shorten_names([set(table[key].dropna()) for table in stacked])
            for table in stacked:
                table[key] = table[key].replace(short_names)
    return _drop_repeated_published(pd.concat(stacked, ignore_index=True))


def _drop_repeated_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out published rows that an earlier archive has, too. A single value may have another
    layer there: it is as far from the last layer of each archive's models as in the paper.
    """
    published = rows[rows["source"] == "published"]
    published = published.drop(columns=["version", "layer"], errors="ignore")
    number = published.groupby(list(published), dropna=False).cumcount()
    repeated = published.assign(number=number).drop(columns=ARCHIVE).duplicated()
    return rows.drop(index=published.index[repeated]).reset_index(drop=True)


def _drop_checkpoint(model: str) -> str:
    """Name a model, or two models, without checkpoints."""
    names = [replace(Model.of(name), base=DEFAULT_BASE) for name in named_in(model)]
    return pair_name(*map(str, names))


def _shorten_names(names: Sequence[set]) -> dict[str, str]:
    """Name models without their checkpoints. The answer is empty if all tables have the same
    `names`, or if two names of one table would become equal."""
    if all(table_names == names[0] for table_names in names):
        return {}
    short_names = {name: _drop_checkpoint(str(name)) for name in set().union(*names)}
    for table_names in names:
        if len({short_names[name] for name in table_names}) < len(table_names):
            return {}
    return short_names


def figure(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    captions: Sequence[str],
    pictures: Sequence,
    models: Sequence[str],
    layers: int | None = None,
) -> dict:
    """Describe one figure of both archives: its `chart` where its table has curves, or else a list
    of its `numbers`.

    `tables`, `captions` and `pictures` are in the order of the archives; `layers`: how many the
    published model has.
    """
    paper, item = name.split("/")
    rows = together(tables)
    names = list(dict.fromkeys([*models, *map(_drop_checkpoint, models)]))
    curves = chart(rows, names, layers, (*OVER, "step"))
    if curves and ARCHIVE not in [choice["key"] for choice in curves["choices"]]:
        curves = None
    sections = [caption.strip().partition("\n\n") for caption in captions]
    return {
        "name": name,
        "paper": paper,
        "place": data.label_item(item),
        "title": FIGURES[name].title,
        "shows": sections[0][0],
        "made": [origin for _, _, origin in sections],
        "models": names,
        "tasks": [],
        "thumbnails": [data.thumbnail(picture) for picture in pictures],
        "chart": curves,
        "numbers": None if curves else listed(rows, list(tables)),
    }


def page(
    archives: Sequence[Mapping],
    figures: Sequence[Mapping],
    claims: Sequence[Mapping],
    published: Mapping[str, Mapping],
    has_files: bool,
) -> dict:
    """Collect the page's contents: `archives` with `name`, `scales`, `checkpoints`, number of
    `figures`; `figures` as made by `figure`; `claims` with `sides`, a row of each archive or None,
    and the answer of `agree`; has_files: files lie beside the page."""
    papers = dict.fromkeys(entry["paper"] for entry in (*figures, *claims))
    checkpoints = dict.fromkeys(
        chain.from_iterable(archive["checkpoints"] for archive in archives)
    )
    models = dict.fromkeys(chain.from_iterable(figure["models"] for figure in figures))
    labelled_archives = _label_archives(archives)
    return {
        "title": " and ".join(archive["label"] for archive in labelled_archives),
        "scales": sorted({scale for archive in archives for scale in archive["scales"]}),
        "checkpoints": list(checkpoints),
        "papers": [data.describe_paper(paper, published) for paper in papers],
        "figures": [],
        "claims": [],
        "pairs": {},
        "examples": {},
        "variants": data.describe_variants(),
        "labels": {
            **{model: labelling.label_of(model) for model in models},
            **labelling.EDGES,
        },
        "colours": {},
        "compared": {
            "has_files": has_files,
            "archives": labelled_archives,
            "figures": list(figures),
            "claims": list(map(_describe_claim, claims)),
        },
    }


def _label_archives(archives: Sequence[Mapping]) -> list[dict]:
    """Label the archives by their first checkpoints, without the family, or by their names where
    these are the same."""
    checkpoints = [archive["checkpoints"][0].partition(", ")[0] for archive in archives]
    names = [archive["name"] for archive in archives]
    labels = checkpoints if len(set(checkpoints)) == len(archives) else names
    return [{**archive, "label": label} for archive, label in zip(archives, labels, strict=True)]


def _describe_claim(claim: Mapping) -> dict:
    """Describe a claim, as `data.claim` does, with the values of each archive in `sides`."""
    sides = [side and data.claim(side) for side in claim["sides"]]
    archive_keys = (
        "ours",
        "low",
        "high",
        "replicates",
        "verdict",
        "null",
        "claim_verdict",
        "claim_null",
        "reason",
        "scale",
        *P_VALUES,
        *ADJUSTED,
    )
    first_side = next(filter(None, sides))
    shared = {key: value for key, value in first_side.items() if key not in archive_keys}
    return {
        **shared,
        "agree": claim["agree"],
        "sides": [side and {key: side[key] for key in archive_keys} for side in sides],
    }
