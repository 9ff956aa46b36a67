import numpy as np
import pandas as pd
import pytest

from bertshift.errors import UserError
from bertshift.files import read_tsv, write_tsv
from bertshift.patterns.labels import read_labels
from bertshift.patterns.sheet import choose, measure


@pytest.fixture
def table(attended, models, inputs, tmp_path):
    rows = dict.fromkeys(models, inputs)
    write_tsv(tmp_path / "maps.tsv", measure(choose(models, rows, 12), rows, 64)[0])
    return read_tsv(tmp_path / "maps.tsv")


def test_a_corrected_label_and_one_that_is_marked_are_a_persons(table, tmp_path):
    copy = table.iloc[::-1].copy()  # in any order
    copy.loc[0, "label"] = "block" if copy.loc[0, "label"] != "block" else "vertical"
    copy.loc[3, "source"] = "person"
    copy.drop(columns="page").to_csv(
        tmp_path / "mine.tsv", sep="\t", index=False, lineterminator="\r\n"
    )
    labels = read_labels(tmp_path / "mine.tsv", table)
    assert np.flatnonzero(labels["source"] == "person").tolist() == [0, 3]
    assert labels["label"].tolist() == [copy.loc[0, "label"], *table["label"][1:]]
    write_tsv(tmp_path / "same.tsv", table)
    same = read_labels(tmp_path / "same.tsv", table)
    pd.testing.assert_frame_equal(same, table, check_dtype=False)  # texts are kept in two ways


def put(row, column, value):
    def edit(table):
        table = table.astype(object)
        table.loc[row, column] = value
        return table

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put(2, "label", "vertcal"), r"4: label 'vertcal' is not a class"),
        (put(2, "source", "me"), r"4: source 'me' is neither"),
        (put(5, "map", 99), r"7: the sheet has no map '99'"),
        (put(5, "map", 1), r"7: map 1 is another map now"),
        (put(5, "d", "0,25"), r"7: v, d, b must stay the numbers"),
        (put(5, "b", None), r"7: map 6 is another map now"),
        (lambda t: t.iloc[[0, 1, 2, 3, 4, 4, *range(6, 12)]], r"7: map 5 stands there twice"),
        (lambda t: t.drop(index=[3, 5]), r"11 ends without map 4, 6"),
        (lambda t: t.drop(columns="label"), r"1 lacks the columns label"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(edit, message, table, tmp_path):
    write_tsv(tmp_path / "mine.tsv", edit(table))
    with pytest.raises(UserError, match=rf"mine\.tsv:{message}"):
        read_labels(tmp_path / "mine.tsv", table)
