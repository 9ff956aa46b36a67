import numpy as np
import pandas as pd

from bertshift.figures import numbers


def test_joined_columns_keep_their_numbers_whether_or_not_a_list_names_them():
    ours = pd.DataFrame({"panel": ["a"], "value": [1], "layer": [2], "other": [1 / 3]})
    paper = pd.DataFrame({"panel": ["b"], "value": [2.5], "citation": ["c"]})
    table = numbers.join(
        ours, paper, columns=["panel", "value", "layer", "other", "citation", "unit"]
    )
    assert table["other"].dtype == float and table["other"][0] == 1 / 3
    assert np.isnan(table["other"][1]) and table["layer"].tolist() == [2, 0]
    assert table["citation"].tolist() == ["", "c"] and table["unit"].tolist() == ["", ""]
