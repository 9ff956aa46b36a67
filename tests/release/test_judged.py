"""Claims' files of a reader's own."""

from pathlib import Path

import pytest
from conftest import ROOT
from made_archives import data_of_page, write

from bertshift.errors import UserError
from bertshift.files import read_tsv
from bertshift.release import __main__ as release
from bertshift.release import judged

PAPER, FIGURE = "hao2020", "figure2"
STRICTER = [f'"H2.1", HALVES, above_minus_below(13), low={bound}' for bound in ("0.0", "2.0")]
SHIPPED = judged.PROGRAMS.published(PAPER)


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    """A copy of the program's file of this paper with one change."""
    text = (SHIPPED.parent / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / name


def test_a_criterion_and_a_statement_of_ones_own_are_those_of_the_redraw(tmp_path):
    """Beside them stand the real run's claims, as the program's own files decide them."""
    run = write(tmp_path / "run.zip", [f"{PAPER}/{FIGURE}"])
    stricter = changed(tmp_path, "claims.py", *STRICTER)
    reworded = changed(
        tmp_path, "published.yaml", "Hidden states of higher layers change", "They change"
    )
    out = tmp_path / "own"
    command = ["redraw", run, "--claims", str(stricter), "--claims", str(reworded)]
    assert release.main([*command, "--only", f"{PAPER}/{FIGURE}", "--out", str(out)]) == 0
    own = read_tsv(out / "claims.tsv").set_index("claim").filter(like="mnli", axis=0)
    page = data_of_page((out / "index.html").read_text(encoding="utf-8"))
    assert [one for one in page["claims"] if "They change more" in one["statement"]]
    theirs = read_tsv(ROOT / "docs/real/claims.tsv").query("paper == @PAPER and figure == @FIGURE")
    theirs = theirs.set_index("claim").loc[own.index]
    changes = theirs.index[theirs.index.str.startswith("H2.1") & (theirs["verdict"] == "holds")]
    assert len(changes) and {*own.loc[changes, "verdict"]} == {"fails"}
    assert own.loc[changes, "statement"].str.startswith("They change").all()
    assert own.loc[changes, "ours"].to_numpy() == pytest.approx(theirs.loc[changes, "ours"])
    others = theirs.index[~theirs.index.str.startswith("H2.1")]
    assert len(others) and own.loc[others, "verdict"].equals(theirs.loc[others, "verdict"])


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("published.yaml", "key: hao2020", "key: other", "is of no paper of this program, 'other'"),
        ("published.yaml", "\ntable1:", "\ntable2:", "lacks table1; begin with a copy of"),
        ("published.yaml", "  H2.1:", "  H2.9:", "does not state claim H2.1"),
        ("published.yaml", "\nclaims:\n", "\nclaims:\n  T.1: {statement: a, item: figure2}\n", "no number decides claims.T.1"),
        ("published.yaml", "    statement: Attention of", "    said: Attention of", "claims.H1.1 has no statement"),
        ("claims.py", 'Claims("hao2020")', 'Claims("other")', "is of no paper of this program, 'other'"),
        ("claims.py", "import numpy as np", "import nothing_such as np", "does not run (ModuleNotFoundError"),
        ("claims.py", '"H2.1"', '"H2.9"', "does not state claim H2.9"),
        ("claims.py", 'claim("figure2"', 'claim("figure22"', "claim H2.1 is of hao2020/figure22, which is not a figure"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_told_before_anything_is_drawn(
    tmp_path, capsys, name, old, new, said
):
    file = changed(tmp_path, name, old, new)
    assert release.main(["redraw", "absent.zip", "--claims", str(file)]) == 1
    assert said in capsys.readouterr().err


def test_a_file_that_is_none_of_claims_is_refused(tmp_path):
    (tmp_path / "own.py").write_text("CLAIMS = 1\n")
    with pytest.raises(UserError, match="has no CLAIMS; begin with a copy"):
        judged.read([tmp_path / "own.py"])
    with pytest.raises(UserError, match="is not a file of claims; name a changed copy"):
        judged.read([tmp_path / "claims.txt"])
