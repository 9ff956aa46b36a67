import re
import subprocess
import sys
from pathlib import Path

import pytest
import rule_graph
from conftest import ROOT, counted

from bertshift.papers.catalogue import FIGURES

# A few figures, so that another one in the shipped configuration changes no number here.
GLUE = {"models": ["mrpc", "mnli"], "reference": "base"}
CHAINED, COLA = {"models": ["cola@cased", "rte@cased"]}, {"models": ["cola@cased"]}
LARGE = {
    "models": ["mnli@large", "rte@large"], "reference": "large", "pairs": [["rte@large", "mnli@large"]],
}  # fmt: skip
MNLI, PROBED = {"models": ["mnli"]}, {"models": ["mnli", "dep"], "reference": "base"}
FEW = {
    "kovaleva2019": {"table1": MNLI, "figure2": GLUE, "figure5": GLUE},
    "college2020": {
        **dict.fromkeys(["figure1", "figure2"], CHAINED),
        "figure3": {"models": ["rte@cased"]},
        **dict.fromkeys(["schemes", "figure5"], COLA),
    },
    "hao2020": dict.fromkeys(
        ["similarity", *(f"figure{number}" for number in range(1, 8))], LARGE
    ),
    "merchant2020": {
        **dict.fromkeys(["table1", "figure1", "figure2", "appendix_b"], PROBED),
        "figure3": MNLI,
    },
    "beyond": {
        "lora": {"models": ["mnli", "mnli.lora8"]},
        "grounding": COLA,
        **dict.fromkeys(["when", "where", "forgetting"], MNLI),
    },
}


def test_one_finetuning_a_replicate_and_one_metric_job_a_pair(copy_project):
    project = copy_project()
    project.config = {
        **project.config,
        "figures": FEW,
        "scored": [],
        "grounded": ["rte+cola@cased"],
    }
    jobs = project.jobs()
    # Of two pretraining runs: MRPC, MNLI and Dep, MNLI by LoRA, and from random weights, which are
    # drawn once. Of two seeds: two tasks of Hao et al., and two of College, alone and after the
    # other. MNLI on shuffled labels.
    assert jobs["finetune"] == 3 * 2 + 2 + 1 + 2 * 2 + (2 + 2) * 2 + 2
    assert jobs["pretrain"] == 2 + 1 + 1
    # MNLI after three shares of its steps, one job a replicate, and the same on shuffled labels.
    assert jobs["snapshots"] == 2 * 2
    # MNLI, the same from random weights, by LoRA and after three shares; College's two.
    assert (jobs["frozen"], jobs["scores"], jobs["gains"], jobs["losses"]) == (
        1,
        3 + 3 + 2,
        2,
        4 + 1,
    )
    # MNLI of two checkpoints, with noise in two runs of each, and after three shares.
    assert jobs["noise"] == 2 * 2 + 3 * 2
    two, nulls = ("cosine_padded", "restored", "spectra"), 2
    assert {name: jobs[name] for name in two} == dict.fromkeys(two, 2)
    assert (jobs["cosine"], jobs["similarity"], jobs["layer_cka"]) == (
        2 + nulls,
        2 + 1,
        1 + nulls,
    )
    assert (jobs["forgetting"], jobs["grounding"]) == (1, 1)
    # Merchant's two, MNLI by LoRA, and its three snapshots, each with two nulls.
    assert jobs["rsa"] == 2 + 1 + 3 * 3 + nulls
    # Hao: with the parent, between seeds, and a pair of tasks. MNLI and its snapshots; by LoRA for
    # JS. Those of Hao have noise alone.
    assert jobs["js"] == 2 + 2 + 1 + 1 + 3 * 3 + 1 + nulls + 1
    assert jobs["svcca"] == 2 + 2 + 1 + 1 + 3 * 3 + nulls + 1
    # Base, randomized, and Merchant's two; a row of the sweeps is one job a replicate.
    assert (jobs["edge_probes"], jobs["edge_probe_deltas"]) == (2 + 2, 2)
    assert (jobs["mdl"], jobs["structural_probes"]) == (1 + 2, 1 + 2)
    # One classifier for all tasks, one job a task.
    assert (jobs["pattern_sheet"], jobs["pattern_classifier"], jobs["patterns"]) == (1, 1, 2)
    # Freezing; RTE's layers re-initialised, CoLA's by three schemes; heads of two layers, and the
    # seeds beside them.
    assert jobs["sweep"] == (1 + 1 + 3 + 2 + 1) * 2
    assert (jobs["sweep_table"], jobs["reinit_heads"]) == (1 + 1 + 3, 1)
    assert jobs["figure"] == sum(map(len, FEW.values()))


def test_all_figures_are_the_default_target_and_what_they_read_can_be_fetched_before(
    project, planned
):
    jobs = project.jobs()
    assert jobs == counted(planned("demo"))
    assert jobs["figure"] == len(FIGURES)
    assert_data_all_fetches_the_same(project, jobs)


# Three pretraining runs of `base` at the paper's scale, as Merchant et al. averaged over.
@pytest.mark.slow("large dry runs")
@pytest.mark.parametrize(("scale", "checkpoints"), [("small", 5), ("paper", 7)])
def test_the_same_figures_at_every_scale(project, planned, scale, checkpoints):
    jobs = counted(planned(scale))
    assert (
        jobs["gallery"] == 1
        and jobs["checkpoint"] == checkpoints
        and not jobs["pretrain"]
        and not jobs["world"]
    )
    assert jobs["corpus"] == 12
    assert_data_all_fetches_the_same(project, jobs, "--config", f"scale={scale}")


FETCHING = {"dataset", "checkpoint", "corpus"}


def assert_data_all_fetches_the_same(project, jobs, *arguments):
    """Assert that data/all fetches what these jobs fetch; `world` makes what demo's data sets are
    read from."""
    needed = {rule: number for rule, number in jobs.items() if rule in FETCHING | {"world"}}
    assert project.jobs("data/all", *arguments) == needed | {"data/all": 1}


def test_what_no_figure_needs_is_not_fetched(copy_project):
    project = copy_project()
    few = {
        "merchant2020": {"figure3": {"models": ["squad"]}},
        "hao2020": {"figure1": {"models": ["rte@large"], "reference": "large"}},
    }
    project.config = {**project.config, "figures": few}
    jobs = project.jobs("figures/all", "--config", "scale=small")
    assert (jobs["dataset"], jobs["checkpoint"], jobs["corpus"]) == (2, 2, 0)
    assert_data_all_fetches_the_same(project, jobs, "--config", "scale=small")


def test_any_two_models_can_be_named(project):
    jobs = project.jobs(
        "results/svcca/wnli+cola@cased_vs_cased.tsv",
        "results/cosine/mnli.random_vs_base.tsv",
        "results/rsa/rte.reinit3_vs_rte.tsv",
        "results/js/cola.reinitL4H3@cased_vs_cola@cased.tsv",
        "results/rsa/squad.freeze2_vs_squad.tsv",
        "results/svcca/mnli.keep2_vs_base.tsv",
        "results/js/mrpc@large_vs_mrpc@large.tsv",
        "results/rsa/large_vs_base.tsv",
        "results/svcca/base.random_vs_base.tsv",
        "results/scores/wnli+cola.carry@cased.tsv",
        "results/frozen/wnli+cola@cased.tsv",
        "results/gains/rte.reinit3@cased_vs_rte.tsv",
        "results/scores/rte.reinit3.plateau@cased.tsv",
        "results/sweeps/rte.plateau@cased.reinitd.losses.tsv",
        "results/reinit_heads/cola@cased.tsv",
    )
    asked = {
        "svcca": 3,
        "js": 2,
        "rsa": 3,
        "cosine": 1,
        "frozen": 1,
        "gains": 1,
        "reinit_heads": 1,
    }
    assert {rule: jobs[rule] for rule in asked} == asked


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("results/rsa/mnly_vs_base.tsv", "no task or checkpoint 'mnly'; nearest: mnli"),
        ("results/figures/hao2020/figur1.png", "there is no figur1; write figure1 instead."),
    ],
)
def test_a_name_that_does_not_exist_gets_a_sentence_alone(project, target, sentence):
    printed = project.snakemake(target, "--dry-run", check=False)
    said = printed.partition("Building DAG of jobs...\n")[2]
    assert sentence in said and len(said.splitlines()) == 1
    assert "Host:" not in printed


def test_gpu_rules_ask_for_one_gpu(planned):
    blocks = planned("demo").split("\n[")
    for rule in ("pretrain", "finetune", "activations"):
        asked = [block for block in blocks if f"rule {rule}:" in block]
        assert asked and all("gpu=1" in block for block in asked)


def test_of_the_ready_jobs_those_nearest_to_a_figure_start_first(planned):
    # Without its data a model would wait for every pretraining.
    order = ("pretrain", "finetune", "activations", "js", "figure", "dataset")
    jobs = [
        next(block for block in planned("demo").split("\n[") if f"rule {rule}:" in block)
        for rule in order
    ]
    priorities = [int(re.search(r"priority: (\d+)", job)[1]) for job in jobs]
    assert priorities == sorted(set(priorities))


def lacks(project, tmp_path, target):
    """What is said of a target where a mirror is empty and a checkpoint gone."""
    config = [
        "scale=small",
        f"data={{source: mirror, mirror: {tmp_path}}}",
        "bases={base: {checkpoints: [{path: /nowhere}]}}",
    ]
    return project.snakemake(target, "--dry-run", "--config", *config, check=False)


def test_all_that_a_target_lacks_is_told_at_once_and_no_more(project, tmp_path):
    printed = lacks(project, tmp_path, "results/rsa/rte_vs_base.tsv")
    lacking = ["none of glue/RTE/train.tsv", "none of glue/RTE/dev.tsv", "wiki_raw/", "bases.base.checkpoints: "]  # fmt: skip
    assert not [words for words in lacking if words not in printed]
    others = ["glue/CoLA", "gum.tar.xz", "framenet", "make plan"]
    assert not [words for words in others if words in printed]


def test_all_that_figures_lack_is_told_at_once(project, tmp_path):
    printed = lacks(project, tmp_path, "figures/all")
    lacking = ["glue/CoLA", "gum.tar.xz", "framenet", "`make plan` says which figures need this"]
    assert not [words for words in lacking if words not in printed]


def test_a_metric_that_there_is_not_gets_a_sentence(project):
    printed = project.snakemake(
        "-n", "--config", "analyses={cosin: {stimuli: [own]}}", check=False
    )
    assert "analyses.cosin: no metric of this name looks at inputs; nearest: cosine." in printed


def test_ones_own_files_may_not_lie_where_jobs_write(project):
    def told(*config):
        return project.snakemake("results/scores/rte.tsv", "-n", "--config", *config, check=False)

    printed = told(
        "scale=small",
        "bases={base: {checkpoints: [{path: results/pretrained/base/init1}]}}",
        "corpora={mine: results/stimuli/wiki.jsonl}",
        "patterns={labels: results/patterns/sheet/mine.tsv}",
    )
    for key in (
        "bases.base.checkpoints: results/pretrained/base/init1",
        "corpora.mine: results/stimuli/wiki.jsonl",
        "patterns.labels: results/patterns/sheet/mine.tsv",
    ):
        assert f"{key} lies where this workflow writes" in printed
    # Data that a rule makes may be named.
    assert "This was a dry-run" in told("corpora={other: results/world/corpus/documents.txt}")


def test_a_key_that_stands_twice_is_named(project, tmp_path):
    (tmp_path / "mine.yaml").write_text("world: {seed: 2}\nscale: small\nworld: {seed: 3}\n")
    printed = project.snakemake("-n", "--configfile", str(tmp_path / "mine.yaml"), check=False)
    assert "mine.yaml, line 3: the key 'world' stands twice; write it once." in printed


def test_an_address_with_a_password_is_refused_and_not_shown(project):
    relations = "relations={download: {url: 'https://me:opensesame@a.example/fn.zip'}}"
    printed = project.snakemake("figures/all", "--dry-run", "--config", relations, check=False)
    assert "relations.download.url: 'https://[hidden]@a.example/fn.zip' holds what" in printed
    assert "opensesame" not in printed


def test_a_clone_may_lie_where_its_path_has_no_braces(project, tmp_path):
    refused = project.copy(tmp_path / "my {z} clone").snakemake("--dry-run", check=False)
    assert "move this folder to a path without them" in refused
    clone = project.copy(tmp_path / "my clone")
    assert clone.jobs("results/vocabularies/demo-uncased/tokenizer.json") == {
        "world": 1,
        "vocabulary": 1,
    }


def test_the_picture_of_rules_is_that_of_the_demo(project):
    page = (ROOT / "docs/workflow.md").read_text()
    printed = project.snakemake("figures/all", "--rulegraph", "mermaid-js")
    assert rule_graph.written(page, printed) == page, "run: make guide"


def test_lint(project):
    assert "good condition" in project.snakemake("--lint")


@pytest.mark.parametrize(
    "command",
    [
        ["snakefmt", "--check", "Snakefile", "workflow/rules"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["lint-imports", "--no-cache"],
    ],
    ids=" ".join,
)
def test_style(command):
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
