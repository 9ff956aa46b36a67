"""Hao et al. 2020, Figure 2 by other measures than SVCCA, and by class of tokens; a control of
ours."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import layers, numbers, style
from bertshift.measures import POSITIVE
from bertshift.rows.nulls import is_null
from bertshift.rows.table import Table, concat

METRICS = {
    "svcca99": "svcca",
    "pwcca_reference": "pwcca",
    "pwcca_model": "pwcca",
    "cka_debiased": "cka",
    "cka_biased": "cka",
    "procrustes": "procrustes",
}
# Those of METRICS that are drawn; the rest is in the table.
DRAWN = {
    "svcca99": ("SVCCA", {"color": "#000000", "marker": "o"}),
    "pwcca_reference": ("PWCCA", {"color": "#E69F00", "marker": "s"}),
    "cka_debiased": ("CKA", {"color": "#0072B2", "marker": "^"}),
    "procrustes": ("Procrustes", {"color": "#CC79A7", "marker": "D"}),
}
TOKENS = {"all": "all tokens", "content": "content", "cls": "first token", "sep": "separators"}
COLUMNS = ["panel", "quantity", "tokens", "variant", "layer", *numbers.VALUES]
RUN = ["model", "stimuli", "init", "seed", "ref_init", "ref_seed"]


def tidy(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate by `quantity`: distances, and those of unrelated states (`<variant>_null`); and
    each replicate's distance as a share of the latter."""
    parts = [
        numbers.stack(inputs, metric, [name, f"{name}_null"]) for name, metric in METRICS.items()
    ]
    measured = concat(parts)
    is_unrelated = measured["variant"].str.endswith("_null")
    related = measured.where(~is_unrelated)
    quantities = {
        "distance": measured,
        "share of null": _divide_by_nulls(related, measured.rows[is_unrelated]),
    }
    everything = concat(part.assign(quantity=name) for name, part in quantities.items())
    everything = everything.assign(panel=everything["model"])
    by = ["panel", "quantity", "tokens", "variant", "layer"]
    means = numbers.means(everything, by, ["panel", "quantity"])
    return numbers.join(means, columns=COLUMNS)


def _divide_by_nulls(related: Table, nulls: pd.DataFrame) -> Table:
    cell = [*RUN, "tokens", "layer", "variant"]
    nulls = nulls.assign(variant=nulls["variant"].str.removesuffix("_null"))
    nulls = nulls.set_index(cell)["value"].rename("null")
    null = related.rows.join(nulls, on=cell)["null"]
    return related.mapped(lambda distance: distance / null).within(POSITIVE)


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw a panel per class of tokens and task, a line per measure over layers, each as a share
    of its own null."""
    table = tidy(inputs, published)
    shares = table[(table["quantity"] == "share of null") & table["variant"].isin(DRAWN)]
    labels = TOKENS | style.special_names(table)
    # A single model has this legend, too.
    figure = layers.small_multiples(shares, "tokens", labels, DRAWN, style.TEXT_WIDTH)
    figure.set_figheight(0.5 + 1.3 * len(TOKENS))
    for axes in figure.axes:
        axes.axhline(1, color="#666666", linewidth=0.9, **style.UNRELATED)
        axes.set_ylim(0, max(1.08, axes.get_ylim()[1]))
    figure.legends[0].set_title(
        "Distance from the pretrained model, as a share of that between unrelated states (dotted)"
    )
    return style.captioned(
        figure,
        table,
        _unrelated_note(table),
        layers.null_note(table, "panel"),
        style.failures(table, "panel"),
    )


def _unrelated_note(table: pd.DataFrame) -> str:
    """Write a sentence on the distances of unrelated states."""
    models = table[~is_null(table["panel"])]
    by_variant = dict(list(models[models["tokens"] == "all"].groupby("variant")["value"]))
    nulls = [
        f"{numbers.reach(by_variant[f'{name}_null'])} by {label}"
        for name, (label, _) in DRAWN.items()
    ]
    return f"For all tokens the distance of unrelated states is {', '.join(nulls)}."
