"""What a target needs that must be there or be downloaded, and what is said where it is not."""

import pytest
import yaml
from conftest import ROOT

from bertshift import downloads
from bertshift.config import load_config, merge
from bertshift.data import sources
from bertshift.errors import UserError
from bertshift.papers.catalogue import PAPERS, needs
from bertshift.requests.figures import figures_of

USER = yaml.safe_load((ROOT / "config/experiments.yaml").read_text())


@pytest.fixture(scope="module")
def config():
    return load_config(USER, ROOT)


@pytest.mark.parametrize(
    "target",
    [
        "figures/all", "data/all", "results/figures/index.html", "results/claims.tsv",
    ],
)  # fmt: skip
def test_all_figures_are_behind_their_names(config, target):
    assert downloads.figures_behind(target, config) == figures_of(PAPERS, config)


@pytest.mark.parametrize(
    "target", ["figures/hao2020", "results/figures/hao2020.html", "results/claims/hao2020.tsv"]
)
def test_a_papers_figures_are_behind_its_names(config, target):
    assert downloads.figures_behind(target, config) == figures_of(["hao2020"], config)


def test_a_figure_needs_its_tables_and_a_table_itself(config):
    for ending in ("png", "pdf", "tsv", "txt"):
        tables = downloads.tables_of(f"results/figures/hao2020/figure1.{ending}", config)
        assert tables == needs("hao2020/figure1", config)
    for table in (
        "results/rsa/mnli_vs_base.tsv",
        "results/sweeps/squad.freeze.tsv",
        "results/scores/rte@cased.tsv",
    ):
        assert downloads.tables_of(table, config) == [table]


@pytest.mark.parametrize(
    "target",
    [
        "results/rsa/mnly_vs_base.tsv", "results/figures/hao2020/figur1.png", "most_changed.txt", "mine.tsv",
        "results/data/rte/examples.jsonl", "theirs_figures/all", "results/sweeps/squad.tsv",
    ],
)  # fmt: skip
def test_of_another_target_nothing_is_known(config, target):
    assert downloads.tables_of(target, config) == []


@pytest.fixture
def mirrored(tmp_path):
    """mirrored(edge task, its corpus, file, ...) -> the configuration of a mirror with these
    files alone."""

    def of(task: str, name: str, *files: str) -> dict:
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).touch()
        data = {"source": "mirror", "mirror": str(tmp_path)}
        changes = {"scale": "small", "data": data, "edge_tasks": {task: name}}
        return load_config(merge(USER, changes), ROOT)

    return of


EWT = [f"UD_English-EWT/en_ewt-ud-{split}.conllu" for split in ("train", "dev", "test")]
SPR2 = [*EWT, "spr/spr2_on_ud_ewt_2.16.tsv.xz"]


@pytest.mark.parametrize(
    ("task", "name", "files", "sentence"),
    [
        ("spr", "spr2_ud12", SPR2, "spr2_ud12 needs .*; write spr2, which can be had here, or fetch it from"),
        ("spr", "spr2_ud12", EWT, "spr2_ud12 needs .*; fetch it from"),
        ("pos", "world_pos", ["gum.tar.xz"], "only the generated world has world_pos; write gum_pos, which can be had"),
        ("pos", "world_pos", [], "only the generated world has world_pos; write another corpus"),
        # The world has files of these names, too, but not alone.
        ("dependencies", "ewt_dependencies", [], "ewt_dependencies needs .*-train.conllu.*; fetch it from"),
    ],
)  # fmt: skip
def test_a_corpus_that_is_there_is_named_in_the_place_of_one_that_is_not(
    mirrored, task, name, files, sentence
):
    with pytest.raises(UserError, match=rf"^edge_tasks\.{task}: {sentence}"):
        sources.edge_corpus(task, mirrored(task, name, *files))


def test_the_corpus_that_is_named_is_one_that_can_be_had(mirrored):
    config = mirrored("spr", "spr2", *SPR2)
    assert sources.edge_corpus("spr", config)[0] == "mirror"


def test_figures_that_lack_nothing_stand_for_a_target_that_lacks_something(mirrored):
    config = mirrored("spr", "spr2", *(f"glue/CoLA/{split}.tsv" for split in ("train", "dev")))
    targets, lacking = downloads.obtainable(["figures/college2020"], config)
    assert targets == [f"results/figures/college2020/figure{number}.png" for number in (5, 7, 9)]
    (sentence,) = [said for said in lacking if "'squad2'" in said]
    assert lacking[sentence] == ["college2020/figure3", "college2020/figure4"]
    assert downloads.obtainable(["results/scores/cola.tsv"], config) == (
        ["results/scores/cola.tsv"],
        {},
    )


@pytest.mark.parametrize(
    "table", ["results/planted/base.tsv", "results/rsa/base.edit_mine_vs_base.tsv"]
)
def test_noise_beside_planted_changes_needs_the_task_whose_change_it_imitates(mirrored, table):
    edit = {"kind": "feed_forward", "layer": 1, "size": 0.5, "background": "mnli"}
    config = mirrored("spr", "spr2", *SPR2) | {"edits": {"mine": edit}}
    _, lacking = downloads.obtainable([table], config)
    assert any("(train split of 'mnli')" in sentence for sentence in lacking)
