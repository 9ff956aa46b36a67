"""Merchant et al. 2020, Appendix A: edge probes on the top layer alone, in the layout of Table 1."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.plots import edge_probe_table, style, tables


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Top-layer probes, and the mix probes of the same models; the paper's numbers are not at hand."""
    parts = [edge_probe_table.tidy(inputs, variant) for variant in ("top", "mix")]
    return tables.join(*parts, columns=edge_probe_table.COLUMNS)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> tuple[Figure, pd.DataFrame]:
    """Rows are tasks, columns are models; the mix probe's number stands in grey below the top layer's."""
    table = tidy(inputs, published)
    figure = edge_probe_table.draw(table[table["variant"] == "top"], table[table["variant"] == "mix"], "mix")
    style.caption(
        figure, table, "F1 in points, micro-averaged over all labels, of probes that see the last layer only; grey: the "
        "same of probes on a mix of all layers, as in Table 1.", edge_probe_table.NOTE, style.failures(table),
    )  # fmt: skip
    return figure, table
