"""Merchant et al. 2020, Appendix A: edge probes on the top layer alone, in the layout of Table 1."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import numbers, style
from bertshift.papers.merchant2020 import edge_probe_table


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Top-layer probes, and the mix probes of the same models; the paper's numbers are not at hand."""
    parts = [edge_probe_table.tidy(inputs, variant) for variant in ("top", "mix")]
    return numbers.join(*parts, columns=edge_probe_table.COLUMNS)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Rows are tasks, columns are models; the mix probe's number stands in grey below the top layer's."""
    table = tidy(inputs, published)
    figure = edge_probe_table.draw(table[table["variant"] == "top"], table[table["variant"] == "mix"], "mix")
    return style.captioned(figure, table, style.failures(table))
