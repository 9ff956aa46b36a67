import re
from pathlib import Path

import pytest
import yaml
from made_archives import written
from made_papers import shipped, world

from bertshift.errors import UserError
from bertshift.files import read_tsv
from bertshift.release import __main__ as release
from bertshift.release import archive, redraw

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
    """No other figure is drawn, and the reason is said."""
    files = RESOLVED | written(tmp_path / "run", world()["merchant2020/figure2"])
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


def test_further_tables_of_another_archive_are_drawn_with_those_of_the_first(tmp_path):
    """Noise may be measured after a run was archived: its archive has its tables, and names the models it is of."""
    tables = world()["merchant2020/figure2"]
    noise = {path: table for path, table in tables.items() if "noise" in path}
    plain = yaml.safe_dump(CONFIG | {"noise": {"of": []}}).encode()
    parts = {
        "run.zip": {"configuration.yaml": plain}
        | written(tmp_path / "run", {p: t for p, t in tables.items() if p not in noise}),
        "noise.zip": RESOLVED | written(tmp_path / "noise", noise),
    }
    for name, files in parts.items():
        archive.write(tmp_path / name, files)
    first, more = (str(tmp_path / name) for name in parts)
    drawn = {}
    for name, further in (("alone", []), ("both", [more])):
        config = redraw.prepare(first, tmp_path / name, {}, more=further)
        redraw.redraw(tmp_path / name, config, lambda said: None, ["merchant2020/figure2"])
        drawn[name] = set(read_tsv(tmp_path / name / "results/figures/merchant2020/figure2.tsv")["series"])
    assert drawn["both"] - drawn["alone"] == {"mnli.noise", "mnli.matched"}


def test_files_of_figures_are_left_out_and_the_page_does_not_link_to_them(tmp_path):
    files = RESOLVED | written(tmp_path / "run", world()["merchant2020/figure2"])
    with opened(tmp_path / "a.zip", files) as one:
        redraw.unpack(one, tmp_path / "again")
        config = redraw.configuration(one, {})
        without = ["*.pdf", "merchant2020/figure5.tsv"]
        redraw.redraw(tmp_path / "again", config, lambda said: None, without=without)
    drawn = tmp_path / "again/results/figures"
    left = {file.name for file in (drawn / "merchant2020").iterdir()}
    assert left == {"figure2.png", "figure2.tsv", "figure2.txt", "figure5.png", "figure5.txt"}
    page = (drawn / "index.html").read_text()
    assert re.findall(r'"absent": ?(\[.*?\])', page) == ['["pdf"]', '["pdf","tsv"]']


def rsa_without(tmp_path, change):
    """What redraw says of an archive of which one of two figures has a table that `change` has changed."""
    made = world()
    files = RESOLVED | written(tmp_path / "run", made["merchant2020/figure2"] | made["hao2020/figure2"])
    path = next(iter(made["merchant2020/figure2"]))
    files |= change(path, read_tsv(tmp_path / "run" / path))
    said = []
    with opened(tmp_path / "a.zip", files) as one:
        redraw.unpack(one, tmp_path / "again")
        config = redraw.configuration(one, {})
        drawn = redraw.redraw(tmp_path / "again", config, said.append, ["merchant2020/figure2", "hao2020/figure2"])  # fmt: skip
    assert drawn == ["hao2020/figure2"]
    [why] = [one for one in said if one.startswith("merchant2020/figure2 is left out: ")]
    return path, why.removeprefix("merchant2020/figure2 is left out: ")


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_column_that_is_not_there_is_named_with_its_table_and_version(tmp_path, everywhere):
    """Also where tables of the same kind have it: below each other, its values would be missing without a word."""
    paths = list(world()["merchant2020/figure2"])[: None if everywhere else 1]

    def change(path, table):
        older = {one: read_tsv(tmp_path / "run" / one).assign(version="bertshift 0.1.7") for one in paths}
        return {one: table.drop(columns="layer").to_csv(sep="\t", index=False).encode() for one, table in older.items()}  # fmt: skip

    path, why = rsa_without(tmp_path, change)
    assert why == f"{path} of bertshift 0.1.7 has no column `layer`."


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a\tb\n1\t2\n"])
def test_a_table_that_cannot_be_read_is_named_as_the_archive_has_it(tmp_path, content):
    path, why = rsa_without(tmp_path, lambda path, table: {path: content})
    assert why.startswith(f"results/rsa/{Path(path).stem}.") and str(tmp_path) not in why
    assert why.endswith(".") and "delete" not in why


def test_the_figures_that_are_wanted_are_a_paper_or_named():
    assert redraw.chosen(CONFIG, ["kovaleva2019"]) == redraw.chosen(CONFIG)
    assert redraw.chosen(CONFIG, ["kovaleva2019/figure5"]) == ["kovaleva2019/figure5"]
    with pytest.raises(UserError, match="'kovaleva2019/figure55' is no paper and no figure"):
        redraw.chosen(CONFIG, ["kovaleva2019/figure55"])


def test_options_change_the_models_of_a_figure_and_leave_figures_out(tmp_path):
    figures = {"figure5": {"models": ["mrpc"]}, "figure6": None}
    with opened(tmp_path / "a.zip", RESOLVED | TABLE) as one:
        config = redraw.configuration(one, {"figures": {"kovaleva2019": figures}})
    wanted = config["figures"]["kovaleva2019"]
    assert wanted["figure5"] == CONFIG["figures"]["kovaleva2019"]["figure5"] | {"models": ["mrpc"]}
    names = redraw.chosen(config)
    assert "kovaleva2019/figure6" not in names and "kovaleva2019/figure7" in names


def test_a_folder_that_is_a_file_and_options_that_are_not_there_are_told_first(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert release.main(["redraw", "absent.zip", "--out", str(tmp_path / "out")]) == 1
    assert "out is a file; name a folder" in capsys.readouterr().err
    assert release.main(["redraw", "absent.zip", "--configfile", str(tmp_path / "no.yaml")]) == 1
    assert "no.yaml; name one with keys" in capsys.readouterr().err


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
