"""Two archives beside each other: what both say of the same claims and figures."""

import numpy as np
import pandas as pd
import pytest
import yaml
from made_archives import write
from made_papers import shipped, stretched
from made_tables import WITHOUT

from bertshift.files import read_tsv
from bertshift.page import compared, listing
from bertshift.release import __main__ as release
from bertshift.release import archive, compare
from bertshift.verdicts.deciding import FAILS, HOLDS, UNDECIDED, UNTESTED

NAME = "hao2020/figure2"


def turned(name, item):
    """Deeper models, whose SVCCA distances fall over layers."""
    return {
        path: table.assign(**(0.9 - table.filter(["value", *WITHOUT])))
        for path, table in stretched(name, item).items()
    }


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    ours = write(folder / "ours.zip", [NAME, "merchant2020/figure2"])
    return ours, write(folder / "theirs.zip", [NAME], turned)


@pytest.fixture(scope="module")
def made(archives, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "out"
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr(
            "builtins.print", lambda *words, sep=" ", **_: said.append(sep.join(map(str, words)))
        )
        assert release.main(["compare", *archives, "--out", str(out)]) == 0
    return out, "\n".join(said)


def test_each_claim_has_what_both_archives_say(made):
    out, _ = made
    rows = read_tsv(out / "claims.tsv")
    assert not rows.duplicated(compare.KEYS).any()
    for side, name in (("first", "ours"), ("second", "theirs")):
        alone = read_tsv(out / name / "claims.tsv").set_index(compare.KEYS)
        told = rows.set_index(compare.KEYS).loc[alone.index]
        alone = alone[["ours", "low", "high", "verdict"]]
        found = told[[f"{column}_{side}" for column in alone]].set_axis(alone.columns, axis=1)
        pd.testing.assert_frame_equal(found, alone)
    hao = rows[rows["paper"] == "hao2020"]
    assert (
        set(hao["verdicts"]) >= {"opposite"}
        and not (hao["verdicts"] == "in one archive alone").any()
    )
    assert set(rows.loc[rows["paper"] == "merchant2020", "verdicts"]) == {"in one archive alone"}


def test_every_number_of_both_stands_in_a_table(made):
    out, _ = made
    rows = read_tsv(out / "hao2020/figure2.tsv")
    for name in ("ours", "theirs"):
        own = read_tsv(out / name / "hao2020/figure2.tsv")
        found = rows[rows["archive"] == name].drop(columns="archive").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, own, check_dtype=False)
    assert (out / "ours/index.html").is_file() and not (out / "merchant2020").exists()


def test_a_page_alone_has_no_files_beside_it(archives, made, tmp_path):
    out = tmp_path / "out"
    assert release.main(["compare", *archives, "--page-alone", "--out", str(out)]) == 0
    assert {file.name for file in out.iterdir()} == {"claims.tsv", "index.html"}
    assert (out / "claims.tsv").read_bytes() == (made[0] / "claims.tsv").read_bytes()


def test_archives_that_share_no_figure_are_a_sentence(archives, tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    assert release.main(["compare", *archives, "--only", "merchant2020", *out]) == 1
    said = capsys.readouterr().err
    assert "theirs.zip: 'merchant2020' is neither a paper nor a figure of this archive" in said
    other = write(tmp_path / "other.zip", ["merchant2020/figure2"])
    assert release.main(["compare", archives[1], other, *out]) == 1
    names = "hao2020/figure2 in the one, merchant2020/figure2 in the other"
    assert capsys.readouterr().err == f"error: theirs and other share no figure: {names}.\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "bad.zip has no configuration.yaml"),
        ({"results/../../evil.tsv": b"1"}, "results/../../evil.tsv would lie outside"),
        ({"/etc/evil.tsv": b"1"}, "/etc/evil.tsv would lie outside"),
        ({"configuration.yaml": b"name: other\n"}, "names no figures; it is not of this program"),
        ({"configuration.yaml": b"figures: [a]\n"}, "names no figures; it is not of this program"),
        ({"configuration.yaml": b"a: [\n"}, "configuration.yaml is not YAML"),
        ({"configuration.yaml": b"figures: {hao2020: {figure1: null}}\n"}, "is not of this program, or of another version"),
        ({"configuration.yaml": yaml.safe_dump(shipped()).encode()}, "no figure can be drawn from these tables"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_one_sentence_and_writes_nothing(files, said, tmp_path, capsys):
    bad = tmp_path / "bad.zip"
    archive.write(bad, {"results/a.tsv": b"value\n1\n"} | files)
    assert release.main(["redraw", str(bad), "--out", str(tmp_path / "out")]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and said in line
    assert [file.name for file in tmp_path.iterdir()] == ["bad.zip"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["verify"], "no archive is named; write make verify"),
        (["redraw"], "no archive is named; write make redraw"),
        (["compare"], "two archives are compared, and 0 named"),
        (["compare", "a.zip"], "two archives are compared, and 1 named"),
        (["compare", "a.zip", "b.zip", "c.zip"], "two archives are compared, and 3 named"),
    ],
)
def test_too_few_or_too_many_archives_are_one_sentence(command, said, capsys):
    assert release.main(command) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [(HOLDS, HOLDS, "agree"), (FAILS, HOLDS, "opposite"), (UNDECIDED, FAILS, "one undecided"), (UNDECIDED, UNDECIDED, "agree"),
     (UNTESTED, UNTESTED, "not testable"), (HOLDS, UNTESTED, "not testable"), (HOLDS, np.nan, "in one archive alone")],
)  # fmt: skip
def test_what_two_verdicts_say(one, other, said):
    assert compare.agreement(one, other) == compare.agreement(other, one) == said


def rows(source="ours", **columns):
    return pd.DataFrame([{"source": source, "value": 0.5, "low": 0.4, "high": 0.6} | columns])


def test_models_of_two_checkpoints_stand_beside_each_other():
    first = pd.concat(
        [rows(series="mnli@large"), rows("published", series="mnli@large", value=0.9)]
    )
    found = compared.together({"a": first, "b": rows(series="mnli")})
    assert list(found["series"].unique()) == ["mnli"]
    assert list(found["archive"]) == ["a", "a", "b"]


def test_a_published_value_stands_once_where_models_have_other_numbers_of_layers():
    """It stands as far from each archive's last layer as from the paper's."""
    curve = [rows("published", series="mnli", layer=layer, value=0.5) for layer in (1, 2)]
    first, second = (
        pd.concat([*curve, rows("published", series="mnli", layer=layer, value=0.84)])
        for layer in (3, 5)
    )
    found = compared.together({"a": first, "b": second})
    assert list(found["layer"]) == [1, 2, 3] and set(found["archive"]) == {"a"}


def test_published_numbers_stand_once_and_lists_have_both_numbers():
    table = pd.concat([rows(series="mrpc"), rows("published", series="mrpc", value=0.9)])
    other = pd.concat([table.assign(value=[0.7, 0.9]), rows(series="rte", value=0.2)])
    listed = listing.listed(compared.together({"a": table, "b": other}), ["a", "b"])
    assert listed["heads"] == ["Shown"]
    assert listed["rows"] == [
        [["MRPC"], [[0.5, 0.4, 0.6], [0.7, 0.4, 0.6]], 0.9],
        [["RTE"], [None, [0.2, 0.4, 0.6]], None],
    ]
