import pytest
from made_archives import data_of_page, tables_of, write, written
from made_papers import configuration

from bertshift.errors import UserError
from bertshift.files import read_tsv
from bertshift.release import __main__ as release
from bertshift.release import archive, redraw
from bertshift.release.contents import tables

RSA = "merchant2020/figure2"
TABLE = "results/rsa/mnli_vs_base.tsv"


def test_a_figure_that_the_run_did_not_know_is_drawn_if_its_tables_are_there(tmp_path):
    """No other figure is drawn, and the reason is said; files that are not wanted are left out, of
    the page too."""
    config = configuration(RSA)
    del config["figures"]["merchant2020"]["figure5"]
    config["figures"]["merchant2020"]["figure1"] = config["figures"]["merchant2020"][RSA[-7:]]
    path = write(tmp_path / "run.zip", [RSA], config=config)
    options = {"figures": {"merchant2020": {"figure5": {"models": ["mnli"], "reference": "base"}}}}
    said, folder = [], tmp_path / "again"
    config = redraw.prepare(path, folder, options)
    names = redraw.redraw(
        folder, config, said.append, without=["*.pdf", "merchant2020/figure5.tsv"]
    )
    assert names == [RSA, "merchant2020/figure5"] and f"{RSA} is drawn." in said
    assert any(
        one.startswith("merchant2020/figure1 is left out: results/structural_probes/base.tsv")
        for one in said
    )
    redraw.lay_out(folder, tmp_path / "out")
    left = {file.name for file in (tmp_path / "out/merchant2020").iterdir()}
    assert left == {"figure2.png", "figure2.tsv", "figure2.txt", "figure5.png", "figure5.txt"}
    assert set(read_tsv(tmp_path / "out/claims.tsv")["figure"]) == {"figure2", "figure5"}
    page = data_of_page((tmp_path / "out/index.html").read_text())
    assert [figure["absent"] for figure in page["figures"]] == [["pdf"], ["pdf", "tsv"]]


def older(everywhere):
    """A table of an older version that lacks a column, which others of its kind may have."""

    def files(folder):
        made = {p: read_tsv(folder / p).assign(version="bertshift 0.1.7") for p in tables_of(RSA)}
        made = {
            p: one.drop(columns="layer") for p, one in made.items() if everywhere or p == TABLE
        }
        return {p: one.to_csv(sep="\t", index=False).encode() for p, one in made.items()}

    return files


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (older(True), f"{TABLE} of bertshift 0.1.7 has no column `layer`."),
        (older(False), f"{TABLE} of bertshift 0.1.7 has no column `layer`."),
        (lambda folder: {TABLE: b""}, "results/rsa/mnli_vs_base."),
        (lambda folder: {TABLE: b"a\tb\n1\t2\n"}, "results/rsa/mnli_vs_base."),
    ],
)
def test_a_table_that_cannot_be_drawn_is_named(tmp_path, change, said):
    written(tmp_path / "run", tables_of(RSA))
    path = write(tmp_path / "run.zip", [RSA], **change(tmp_path / "run"))
    told, folder = [], tmp_path / "again"
    config = redraw.prepare(path, folder, {}, [RSA])
    with pytest.raises(UserError, match="no figure can be drawn from these tables"):
        redraw.redraw(folder, config, told.append, [RSA])
    [why] = told
    assert why.startswith(f"{RSA} is left out: {said}")
    assert str(tmp_path) not in why and "delete" not in why


def test_options_change_the_models_of_a_figure_and_leave_figures_out(tmp_path):
    figures = {"figure2": {"models": ["rte"]}, "figure5": None}
    config = redraw.prepare(
        write(tmp_path / "a.zip", [RSA]), tmp_path, {"figures": {"merchant2020": figures}}
    )
    assert config["figures"]["merchant2020"]["figure2"]["models"] == ["rte"]
    assert redraw.chosen(config) == redraw.chosen(config, ["merchant2020"]) == [RSA]
    with pytest.raises(UserError, match="'merchant2020/figure55' is neither a paper nor a figure"):
        redraw.chosen(config, ["merchant2020/figure55"])


def test_tables_and_keys_of_further_archives_replace_those_before(tmp_path):
    paths = []
    for number, models in enumerate((["mnli"], ["rte"], ["mnli", "rte"])):
        config = configuration(RSA)
        config["figures"]["merchant2020"]["figure2"]["models"] = models
        table = f"number\n{number}\n".encode()
        name = tmp_path / f"{number}.zip"
        paths.append(write(name, [RSA], config=config, **{TABLE: table}))
    config = redraw.prepare(paths[0], tmp_path, {}, more=paths[1:])
    assert config["figures"]["merchant2020"]["figure2"]["models"] == ["mnli", "rte"]
    assert read_tsv(tmp_path / TABLE).loc[0, "number"] == 2


@pytest.mark.parametrize("option", ["--out", "--configfile"])
def test_what_cannot_be_written_or_read_is_told_first(tmp_path, capsys, option):
    (tmp_path / "a").write_text("")
    name = str(tmp_path / ("a" if option == "--out" else "no.yaml"))
    assert release.main(["redraw", "absent.zip", option, name]) == 1
    assert name in capsys.readouterr().err


def test_an_archive_without_tables_writes_nothing(tmp_path):
    archive.write(tmp_path / "a.zip", {"configuration.yaml": b"{}"})
    with (
        archive.opened(tmp_path / "a.zip") as one,
        pytest.raises(UserError, match="has no tables"),
    ):
        redraw.unpack(one, tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    ("licence", "open_"),
    [("OANC, with CC BY 3.0 and CC BY-SA 3.0 parts", True), ("CC BY-SA 4.0 and the terms of the sources", False),
     ("Quora, non-commercial use", False), ("not stated", False)],
)  # fmt: skip
def test_tables_go_with_examples_that_may_be_passed_on(licence, open_):
    example = "results/examples/mnli.json"
    made = [example, "results/rsa/a_vs_b.tsv", "results/rsa/a_vs_b.blocks.npy", "results/models/a/predictions.tsv",
            "results/patterns/maps/a.tsv", "results/figures/hao2020/figure1.tsv", "results/claims/hao2020.tsv"]  # fmt: skip
    found = tables(made, ["results/patterns/maps/a.tsv"], {example: licence})
    assert found == [example] * open_ + made[1:3] + made[4:5]
