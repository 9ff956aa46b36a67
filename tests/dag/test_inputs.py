"""The files that jobs read."""

import re

import pytest
from conftest import ROOT

from bertshift.measures import MEASURES, OF_DUMPS
from bertshift.planning import read_jobs, writing_jobs

NOISY = [
    "results/rsa/rte.noise_vs_base.tsv",
    "results/cosine_padded/rte.noise_vs_base.tsv",
    "results/spectra/rte.lora8.noise_vs_base.tsv",
    *(
        f"results/{folder}/rte.noise.tsv"
        for folder in (
            "forgetting", "edge_probes", "mdl", "structural_probes", "relation_heads", "patterns",
        )
    ),
]  # fmt: skip
TARGETS = [
    *(f"results/{metric}/rte_vs_base.tsv" for metric in OF_DUMPS),
    *NOISY,
    "results/scores/rte.freeze2.at10@cased.tsv",
    "results/models/mrpc+rte.freeze2.shuffled@cased/init1_seed2/scores.json",
    "results/models/mrpc+rte.freeze2@cased/init1_seed2/scores.json",
    "results/models/rte.freeze2@cased/init1_seed1/scores.json",
    "results/models/mrpc+rte.freeze2.noise@cased/init1_seed4/config.json",
]


@pytest.fixture(scope="module")
def read_by(copy_project, tmp_path_factory):
    """read_by(output) -> the files that its job reads."""
    project = copy_project()
    project.config = {**project.config, "noise": {"draws": 3}}
    file = tmp_path_factory.mktemp("plan") / "jobs.jsonl"
    project.snakemake(*TARGETS, "--dry-run", *writing_jobs(file))
    jobs = read_jobs(file).values()
    inputs = {output: list(job.inputs) for job in jobs for output in job.outputs}
    return inputs.__getitem__


def scores_of(model, *runs):
    return [f"results/models/{model}/{run}/scores.json" for run in runs]


@pytest.mark.parametrize("metric", OF_DUMPS)
def test_a_comparison_reads_both_dumps_and_what_they_were_made_from(read_by, metric):
    inputs = read_by(f"results/{metric}/rte_vs_base.tsv")
    model, reference, *_ = inputs
    assert model.startswith("results/activations/") and "/rte/" in model
    assert reference == model.replace("/rte/", "/base/", 1)
    assert {*scores_of("rte", "init1_seed1", "init2_seed1")} <= {*inputs}
    weights = {"results/models/rte/init2_seed1/model.safetensors"} <= {*inputs}
    assert weights == OF_DUMPS[metric].weights


@pytest.mark.parametrize("table", NOISY)
def test_what_reads_states_attention_or_weights_takes_noise(read_by, table):
    inputs = {*read_by(table)}
    model = table.rpartition("/")[2].removesuffix(".tsv").removesuffix("_vs_base")
    trained = model.removesuffix(".noise")
    assert {*scores_of(trained, "init1_seed1", "init2_seed1")} <= inputs
    assert f"results/models/{model}/init2_seed3/source.json" in inputs


def test_noise_is_made_from_a_run_and_its_parent(read_by):
    inputs = read_by("results/models/mrpc+rte.freeze2.noise@cased/init1_seed4/config.json")
    assert {file.rpartition("/")[0] for file in inputs} == {
        "results/models/mrpc@cased/init1_seed2",
        "results/models/mrpc+rte.freeze2@cased/init1_seed2",
    }


def test_a_snapshot_is_trained_as_its_model(read_by):
    snapshot, model = (
        read_by(f"results/models/rte.freeze2{share}@cased/init1_seed1/scores.json")
        for share in (".at10", "")
    )
    assert snapshot == model
    scores = read_by("results/scores/rte.freeze2.at10@cased.tsv")
    assert scores[:2] == scores_of("rte.freeze2.at10@cased", "init1_seed1", "init1_seed2")


def test_shuffled_labels_are_trained_on_the_same_files(read_by):
    shuffled, plain = (
        read_by(f"results/models/mrpc+rte.freeze2{null}@cased/init1_seed2/scores.json")
        for null in (".shuffled", "")
    )
    assert shuffled == plain


def test_a_rule_counts_the_ranges_of_the_measure_that_it_computes():
    counted = set()
    for file in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in re.split(r"^rule ", file.read_text(), flags=re.MULTILINE)[1:]:
            output = rule.partition("output:")[2].partition("log:")[0]
            for measure in MEASURES.keys() & re.findall(r'"results/(\w+)/{', output):
                assert f'computes=["{measure}"]' in rule, rule
                counted.add(measure)
    assert counted == MEASURES.keys() - OF_DUMPS.keys()
