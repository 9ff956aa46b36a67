import pandas as pd
import pytest

from bertshift.files import write_tsv
from bertshift.release import archive, verify

THERE = pd.DataFrame({"layer": [1, 2, 3], "metric": ["rsa", "rsa", "cka"], "value": [0.5, 0.25, None],
                      "failed": [True, False, False], "version": "bertshift 0.1.0"})  # fmt: skip


@pytest.mark.parametrize(
    ("here", "said"),
    [
        (THERE, []),
        (THERE.assign(version="bertshift 0.2.0"), []),
        (THERE.assign(value=[0.53, 0.2, None]), ["`value` by at most 0.05 in 2 of 3 rows"]),
        (THERE.assign(value=[0.5, 0.25, 0.1]), ["`value` by a missing value in 1 of 3 rows"]),
        (
            THERE.assign(value=[0.5, 0.2, 0.1]),
            ["`value` by at most 0.05 or by a missing value in 2 of 3 rows"],
        ),
        (THERE.assign(metric="rsa"), ["`metric` in 1 of 3 rows"]),
        (THERE.assign(failed=False), ["`failed` in 1 of 3 rows"]),
        (THERE.assign(value="none"), ["`value` in 3 of 3 rows"]),
        (THERE[:2], ["2 rows here, 3 in the archive"]),
        (
            THERE.rename(columns={"value": "mean"}),
            ["column `value` is missing here", "column `mean` is new here"],
        ),
    ],
)
def test_what_two_tables_differ_in(here, said):
    assert list(verify.differences(THERE, here)) == said


def test_every_table_of_the_archive_is_looked_for(tmp_path):
    names = [f"results/rsa/{name}.tsv" for name in ("same", "newer", "other", "absent")]
    for name in names:
        write_tsv(tmp_path / name, THERE)
    archive.write(tmp_path / "run.zip", {name: tmp_path / name for name in names})
    same, newer, other, absent = names
    write_tsv(tmp_path / newer, THERE.assign(version="bertshift 0.2.0"))
    write_tsv(tmp_path / other, THERE.assign(layer=THERE["layer"] + 2))
    (tmp_path / absent).unlink()
    (tmp_path / "results/rsa/more.tsv").write_text("is of no interest")
    with archive.opened(tmp_path / "run.zip") as opened:
        found = verify.compare(opened, tmp_path)
    assert (found.same, found.version, found.missing) == ([same], [newer], [absent])
    assert list(verify.sentences(found)) == [
        f"{other} differs: `layer` by at most 2 in 3 of 3 rows.",
        f"{absent} is missing here.",
        "Tables: 1 the same bytes here, 1 the same but for the version of the program, 1 different, 1 missing here.",
    ]


def test_keys_whose_values_differ():
    assert verify.other_settings({"scale": "demo", "a": 1, "b": {"c": 2}}, {"scale": "demo", "b": {"c": 3}, "d": 0}) == ["a", "b", "d"]  # fmt: skip
