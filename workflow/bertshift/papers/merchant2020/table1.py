"""Merchant et al. 2020, Table 1: F1 of edge probes on a mix of all layers, before and after fine-tuning."""

from collections.abc import Mapping

import pandas as pd

from bertshift.figures import numbers, style
from bertshift.papers.merchant2020 import edge_probe_table


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our mix probes, and the paper's scores and differences for the same columns and tasks."""
    ours = edge_probe_table.tidy(inputs, "mix")
    return numbers.join(ours, printed(published, ours), columns=edge_probe_table.COLUMNS)


def printed(published: Mapping, ours: pd.DataFrame) -> pd.DataFrame:
    """The paper's Table 1 in the columns and rows of `ours`; of two models of one task, beside the first."""
    entry, paper = published.get("table1", {}), published.get("paper", {})
    series = {style.task_of(name): name for name in reversed(ours["series"].unique())}
    cells = [("f1", "base", entry.get("base", {}))]
    cells += [("delta", column, deltas) for column, deltas in entry.get("delta", {}).items()]
    rows = [
        {"panel": panel, "series": series[column], "task": task, "value": value,
         "variant": "lexical" if column == "lexical" else "mix"}
        for panel, column, values in cells if column in series
        for task, value in values.items() if task in set(ours["task"])
    ]  # fmt: skip
    if not rows:
        return pd.DataFrame()
    columns = pd.DataFrame(rows).to_dict("list")
    return numbers.published(entry, paper, **columns, view=edge_probe_table.HEADLINE)


@style.styled
def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Rows are tasks, columns are models; the paper's number stands in grey below ours, selectivity in a second block."""
    table = tidy(inputs, published)
    is_ours = table["source"] == "ours"
    figure = edge_probe_table.draw(table[is_ours], table[~is_ours], "paper")
    return style.captioned(figure, table, style.failures(table))
