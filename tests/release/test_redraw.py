from pathlib import Path

import pytest
import yaml
from made_papers import shipped, world

from bertshift.errors import UserError
from bertshift.files import read_tsv
from bertshift.release import archive, redraw
from bertshift.rows.blocks import write_with_blocks

CONFIG = shipped() | {"figures": {"kovaleva2019": shipped()["figures"]["kovaleva2019"]}}
RESOLVED = {"configuration.yaml": yaml.safe_dump(CONFIG).encode()}
TABLE = {"results/rsa/mnli_vs_base.tsv": b"value\n1\n"}


def opened(path: Path, files: dict):
    archive.write(path, files)
    return archive.opened(path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (RESOLVED | TABLE | {"results/../../evil.tsv": b"1"}, "results/../../evil.tsv would lie outside"),
        (RESOLVED | TABLE | {"/etc/evil.tsv": b"1"}, "/etc/evil.tsv would lie outside"),
        (TABLE, "has no configuration.yaml"),
        (RESOLVED, "has no tables"),
    ],
)
def test_an_archive_that_cannot_be_drawn_is_a_sentence(tmp_path, files, said):
    with opened(tmp_path / "a.zip", files) as one, pytest.raises(UserError, match=said):
        redraw.unpack(one, tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_the_configuration_of_another_program_is_refused(tmp_path):
    other = TABLE | {"configuration.yaml": b"name: other\n"}
    with opened(tmp_path / "a.zip", other) as one, pytest.raises(UserError, match="names no figures"):
        redraw.configuration(one, {})


def test_a_figure_that_the_run_did_not_know_is_drawn_if_its_tables_are_there(tmp_path):
    """And nothing else; why not is said."""
    made = world()["merchant2020/figure2"]
    files = dict(RESOLVED)
    for path, table in made.items():
        write_with_blocks(tmp_path / path, table)
        files |= {
            file.relative_to(tmp_path).as_posix(): file
            for file in (tmp_path / path).parent.glob(f"{Path(path).stem}.*")
        }
    said = []
    with opened(tmp_path / "a.zip", files) as one:
        redraw.unpack(one, tmp_path / "again")
        drawn = redraw.redraw(tmp_path / "again", redraw.configuration(one, {}), said.append)
    assert drawn == ["merchant2020/figure2", "merchant2020/figure5"]
    redraw.lay_out(tmp_path / "again", tmp_path / "out")
    assert {file.suffix for file in (tmp_path / "out/merchant2020").iterdir()} == {
        ".png",
        ".pdf",
        ".tsv",
        ".txt",
    }
    assert set(read_tsv(tmp_path / "out/claims.tsv")["figure"]) == {"figure2", "figure5"}
    assert "merchant2020/figure2 is drawn." in said
    assert any(
        one.startswith("merchant2020/figure1 is left out: results/structural_probes/base.tsv") for one in said
    )


def test_tables_of_nothing_drawn_are_refused(tmp_path):
    with opened(tmp_path / "a.zip", RESOLVED | {"results/other/a.tsv": b"value\n1\n"}) as one:
        redraw.unpack(one, tmp_path / "again")
        with pytest.raises(UserError, match="no figure can be drawn"):
            redraw.redraw(tmp_path / "again", redraw.configuration(one, {}), lambda said: None)


@pytest.mark.parametrize(
    ("licence", "open_"),
    [("CC BY-SA 4.0", True), ("OANC, with CC BY 3.0 and CC BY-SA 3.0 parts", True), ("CC BY-SA 4.0 and the terms of the sources", False),
     ("Quora, non-commercial use", False), ("not stated", False)],
)  # fmt: skip
def test_tables_go_with_examples_that_may_be_passed_on(licence, open_):
    from bertshift.release.contents import tables

    example = "results/examples/mnli.json"
    made = [example, "results/rsa/a_vs_b.tsv", "results/rsa/a_vs_b.blocks.npy", "results/models/a/predictions.tsv",
            "results/patterns/maps/a.tsv", "results/figures/hao2020/figure1.tsv", "results/claims/hao2020.tsv"]  # fmt: skip
    found = tables(made, ["results/patterns/maps/a.tsv"], {example: licence})
    assert found == [example] * open_ + made[1:3] + made[4:5]
