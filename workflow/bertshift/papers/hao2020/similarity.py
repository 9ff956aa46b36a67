"""Hao et al. 2020, Figure 2 by other measures than SVCCA, and by class of tokens; a control of
ours."""

from collections.abc import Mapping
from itertools import combinations

import pandas as pd

from bertshift.figures import layers, numbers, style
from bertshift.rows import ranges, statistics
from bertshift.rows.nulls import null_of

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


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate by `quantity`: distances, and those of unrelated states (`<variant>_null`); each
    replicate's distance as a share of the latter; and Spearman correlations of two measures over a
    replicate's layers (layer 0, `<variant> ~ <variant>`)."""
    kept = [
        numbers.stack(inputs, metric, [name, f"{name}_null"]) for name, metric in METRICS.items()
    ]
    rows = pd.concat(kept, ignore_index=True)
    is_null = rows["variant"].str.endswith("_null")
    related, nulls = rows[~is_null], rows[is_null]
    cell = [*RUN, "tokens", "layer", "variant"]
    nulls = nulls.assign(variant=nulls["variant"].str.removesuffix("_null")).set_index(cell)[
        "value"
    ]
    null = related.join(nulls.rename("null"), on=cell)["null"]
    quantities = {
        "distance": rows,
        "share of null": ranges.within(
            statistics.mapped(related, lambda distance: distance / null), ranges.POSITIVE
        ),
        "rank correlation": _rank_correlations(related),
    }
    everything = pd.concat([part.assign(quantity=name) for name, part in quantities.items()])
    by = ["panel", "quantity", "tokens", "variant", "layer"]
    means = numbers.means(everything.assign(panel=everything["model"]), by, ["panel", "quantity"])
    return numbers.join(means, columns=COLUMNS)


def _rank_correlations(rows: pd.DataFrame) -> pd.DataFrame:
    found = []
    for _, run in rows.groupby([*RUN, "tokens"], sort=False):
        ranks = run.pivot(index="layer", columns="variant", values="value").corr("spearman")
        for a, b in combinations([name for name in METRICS if name in ranks], 2):
            pair = {"variant": f"{a} ~ {b}", "layer": 0, "value": ranks.loc[a, b]}
            found.append(run.iloc[0].to_dict() | pair)
    table = pd.DataFrame(found)
    table = statistics.with_value(table, table["value"], ranges.CORRELATION)
    return table.dropna(subset="value")  # a measure that is the same in all layers ranks none


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw a panel per class of tokens and task, a line per measure over layers, each as a share
    of its own null."""
    table = tidy(inputs, published)
    shares = table[(table["quantity"] == "share of null") & table["variant"].isin(DRAWN)]
    words = TOKENS | style.special_names(table)
    figure = layers.small_multiples(shares, "tokens", words, DRAWN)
    # A single model has this legend, too.
    figure.set_size_inches(style.TEXT_WIDTH, 0.5 + 1.3 * len(TOKENS))
    for axes in figure.axes:
        axes.axhline(1, color="#666666", linestyle=":", linewidth=0.9)
        axes.set_ylim(0, 1.08)
    figure.legends[0].set_title(
        "Distance from the pretrained model, as a share of that between unrelated states (dotted)"
    )
    models = table[table["panel"].map(null_of) == ""]
    values = dict(list(models[models["tokens"] == "all"].groupby("variant")["value"]))
    nulls = ", ".join(
        f"{numbers.reach(values[f'{name}_null'])} by {label}" for name, (label, _) in DRAWN.items()
    )
    pairs = [f"{a} ~ {b}" for a, b in combinations(DRAWN, 2)]
    by_tokens = models[models["variant"].isin(pairs)].groupby("tokens", sort=False)["value"]
    ranges = ", ".join(
        f"{numbers.reach(values)} ({words[tokens]})" for tokens, values in by_tokens
    )
    return style.captioned(
        figure,
        table,
        f"For all tokens the distance of unrelated states is {nulls}.",
        f"Rank correlations over layers of any two of these measures: {ranges}.",
        layers.null_note(table, "panel", "Dash-dotted"),
        style.failures(table, "panel"),
    )
