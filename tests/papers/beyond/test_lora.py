import numpy as np
from made_papers import real
from pictures import assert_legible

from bertshift.figures import numbers

MODELS = ["sst2", "sst2.lora8"]


def test_edge_probes_are_a_row_of_their_own_where_they_are_asked_for(draw):
    """Those of MNLI, as if they were of these models."""
    [probes] = numbers.of_measure(
        real("merchant2020/table1", "mnli_vs_base"), "edge_probes"
    ).values()
    tables = real("beyond/lora", "/sst2")
    tables |= {
        f"results/edge_probes/{model}_vs_base.tsv": probes.assign(model=model) for model in MODELS
    }
    figure, table, _ = draw("beyond/lora", tables)
    assert_legible(figure)
    edges = table[table["panel"] == "edges"]
    assert set(edges["series"]) == {*MODELS} and len(edges) == 2 * probes["task"].nunique()
    lines = figure.axes[-1].get_lines()
    drawn = np.concatenate([line.get_ydata() for line in lines if line.get_marker() != "None"])
    assert np.allclose(sorted(drawn), sorted(edges["value"]))
