"""The page that shows two archives beside each other, as JSON can hold it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from bertshift.naming import VARIANTS, Name, named_in, pair_name
from bertshift.page import data
from bertshift.page.charts import NAMES_MODELS, OVER, chart
from bertshift.page.listing import ARCHIVE, listed
from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.rows import labelling


def together(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of one figure, by archive; published rows once, in the first archive that
    has them.

    Where both show the same models of other checkpoints, models are named without checkpoint:
    `mnli@large` beside `mnli`.
    """
    tables = {
        name: table.astype({key: object for key in NAMES_MODELS if key in table})
        for name, table in tables.items()
    }
    for key in NAMES_MODELS:
        if all(key in table for table in tables.values()):
            plain = _plain([set(table[key].dropna()) for table in tables.values()])
            tables = {
                name: table.assign(**{key: table[key].replace(plain)})
                for name, table in tables.items()
            }
    rows = pd.concat(
        [table.assign(**{ARCHIVE: name}) for name, table in tables.items()], ignore_index=True
    )
    return _published_once(rows)


def _published_once(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out published rows that an earlier archive has, too. A single value may stand at
    another layer there: it is as far from the last layer of each archive's models as in the paper.
    """
    published = rows[rows["source"] == "published"]
    facts = published.drop(columns=["version", "layer"], errors="ignore")
    numbered = facts.assign(number=facts.groupby(list(facts), dropna=False).cumcount()).drop(
        columns=ARCHIVE
    )
    again = numbered.index[numbered.duplicated()]
    return rows.drop(index=again).reset_index(drop=True)


def _anywhere(model: str) -> str:
    """Name a model, or two models, without checkpoints."""
    return pair_name(*(str(replace(Name.of(name), explicit_base="")) for name in named_in(model)))


def _plain(names: Sequence[set]) -> dict[str, str]:
    """Name models without their checkpoints; none where these are the same, or two names of one
    table would be."""
    plain = {name: _anywhere(str(name)) for name in set().union(*names)}
    apart = all(len({plain[name] for name in some}) == len(some) for some in names)
    return plain if apart and len({*map(frozenset, names)}) > 1 else {}


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
    plain = list(dict.fromkeys([*models, *map(_anywhere, models)]))
    curves = chart(rows, plain, layers, (*OVER, "step"))
    if curves and ARCHIVE not in [choice["key"] for choice in curves["choices"]]:
        curves = None
    words = [caption.strip().partition("\n\n") for caption in captions]
    return {
        "name": name,
        "paper": paper,
        "place": data.place(item),
        "title": FIGURES[name].title,
        "shows": words[0][0],
        "made": [made for _, _, made in words],
        "models": plain,
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
) -> dict:
    """Collect all that the page needs: `archives` with `name`, `scales`, `checkpoints`, number of
    `figures`; `figures` as made by `figure`; `claims` with `sides`, a row of each archive or None,
    and what `agree` says."""
    papers = list(dict.fromkeys([one["paper"] for one in (*figures, *claims)]))
    return {
        "title": " and ".join(one["name"] for one in archives),
        "scales": sorted({scale for one in archives for scale in one["scales"]}),
        "checkpoints": list(
            dict.fromkeys(name for one in archives for name in one["checkpoints"])
        ),
        "papers": [
            {
                "name": paper,
                "short": PAPERS[paper].NAME,
                "citation": published[paper]["paper"].get("citation", paper),
            }
            for paper in papers
        ],
        "figures": [],
        "claims": [],
        "pairs": {},
        "examples": {},
        "variants": [["." + kind.forms[0], kind.does] for kind in VARIANTS.values()],
        "labels": (
            {name: labelling.label_of(name) for one in figures for name in one["models"]}
            | labelling.EDGES
        ),
        "colours": {},
        "compared": {
            "archives": list(archives),
            "figures": list(figures),
            "claims": [_claim(one) for one in claims],
        },
    }


def _claim(one: Mapping) -> dict:
    """Describe a claim, as `data.claim` does, with what each archive says of it apart."""
    sides = [side and data.claim(side) for side in one["sides"]]
    both = next(filter(None, sides))
    own = (
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
        "probability",
        "adjusted_probability",
    )
    return {
        **{key: value for key, value in both.items() if key not in own},
        "agree": one["agree"],
        "sides": [side and {key: side[key] for key in own} for side in sides],
    }
