"""What runs again after which edit; most are dry runs on a finished project, each edit undone."""

import os
import re

import pytest

from bertshift.measures import MEASURES

pytestmark = pytest.mark.slow("many runs")


@pytest.fixture
def project(finished):
    kept = {path: path.read_text() for path in _editable(finished.folder)}
    yield finished
    for path, text in kept.items():
        path.write_text(text)


def _editable(folder):
    names = ("config/experiments.yaml", "pyproject.toml", "envs/compute.yaml")
    library = folder / "workflow"
    words = library / "demo_world/lexicon.yaml"
    return [*(folder / name for name in names), words, *library.rglob("*.py")]


def finetuned(jobs):
    return {job.split("model=")[1].split(",")[0] for job in jobs if job.startswith("finetune")}


def rules(jobs):
    """The names of the rules, and of each figure."""
    figures = (re.match(r"figure paper=(\w+), item=(\w+)", job) for job in jobs)
    return {job.split()[0] for job in jobs} | {f"{each[1]}/{each[2]}" for each in figures if each}


def test_a_learning_rate_reruns_its_task_and_what_hangs_on_it(project):
    config = project.config
    config["tasks"]["mrpc"]["learning_rate"] = 3e-5
    project.config = config
    jobs = project.reruns("figures/all")
    assert finetuned(jobs) == {"mrpc", "mrpc.random", "rte+mrpc", "mrpc+rte"}
    assert "kovaleva2019/figure5" in rules(jobs) and "hao2020/figure1" not in rules(jobs)
    assert not {"pretrain", "world", "dataset", "rsa"} & rules(jobs)


def test_what_changes_no_number_reruns_nothing(project):
    config = project.config
    config["tasks"] = dict(
        reversed([(name, dict(reversed(task.items()))) for name, task in config["tasks"].items()])
    )
    project.config = dict(reversed(config.items())) | {"unusable_gpu": "stop"}
    for path in _editable(project.folder):
        path.write_text("# a comment\n" + path.read_text())
        os.utime(path)
    released = project.folder / "pyproject.toml"
    released.write_text(
        re.sub(r'^version = ".*"$', 'version = "9.9.9"', released.read_text(), flags=re.MULTILINE)
    )
    assert "9.9.9" in released.read_text()
    # How jobs run, and what users are told.
    for name in ("running/jobs.py", "running/progress.py", "errors.py", "suggestions.py"):
        path = project.folder / "workflow/bertshift" / name
        path.write_text(path.read_text() + "\nADDED = 1\n")
    record = project.folder / "workflow/bertshift/measures/mine.py"
    record.write_text(
        "from bertshift.measures import Measure\n\nMEASURE = Measure('mine', module='svcca')\n"
    )
    try:
        assert not rules(project.reruns("figures/all")) - {"figures/all"}
    finally:
        record.unlink()


@pytest.mark.parametrize(
    ("module", "models"), [("models/biaffine.py", {"dep"}), ("models/lora.py", {"rte.lora4"})]
)
def test_a_module_that_some_models_need_trains_these_alone(project, module, models):
    path = project.folder / "workflow/bertshift" / module
    path.write_text(path.read_text() + "\nADDED = 1\n")
    jobs = project.reruns("figures/all")
    assert finetuned(jobs) == models and not {"pretrain", "ablation", "grounding"} & rules(jobs)


def test_the_style_of_figures_draws_the_maps_to_be_labelled_and_trains_no_classifier(project):
    path = project.folder / "workflow/bertshift/figures/style.py"
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert not {"pattern_sheet", "pattern_classifier"} & rules(project.reruns("figures/all"))
    assert rules(project.reruns("results/patterns/pages")) == {"pattern_pages"}


def test_a_new_seed_costs_only_its_own_runs(project):
    config = project.config
    config["tasks"]["squad"]["seeds"] = 2
    project.config = config
    jobs = project.reruns("figures/merchant2020")
    assert {job for job in jobs if job.startswith("finetune")} == {
        f"finetune model=squad, init={init}, seed=2" for init in (1, 2)
    }


@pytest.mark.parametrize(
    ("module", "first"),
    [
        ("bertshift/metrics/svcca.py", "svcca"),
        ("bertshift/training/finetuning.py", "finetune"),
        ("demo_world/lexicon.py", "world"),
        ("bertshift/activations/extract.py", "rsa"),
    ],
)
def test_an_edited_module_reruns_the_stages_that_import_it(project, module, first):
    path = project.folder / "workflow" / module
    path.write_text(path.read_text() + "\nADDED = 1\n")
    jobs = rules(project.reruns("figures/all"))
    upstream = {
        "svcca": {
            "finetune"
        },  # js and cosine read the same dump, made anew, and rsa snapshots of training
        "finetune": {"pretrain", "dataset", "stimuli"},
        "world": set(),
        "rsa": {"finetune", "stimuli", "pretrain"},
    }
    assert first in jobs and not upstream[first] & jobs


@pytest.mark.parametrize(
    ("measure", "edit", "made", "drawn", "kept"),
    [
        # From another dump: measures on the same dump run again with it.
        (
            "layer_cka",
            ("Measure(", 'Measure(reads="sampled", '),
            True,
            "beyond/where",
            "beyond/lora",
        ),
        ("spectra", (": POSITIVE", ": (-1.0, 9.0)"), True, "beyond/lora", "beyond/where"),
        ("mdl", (": POSITIVE", ": (-1.0, 9.0)"), True, "merchant2020/appendix_b", "beyond/where"),
        ("svcca", ('"SVCCA distance"', '"SVCCA"'), False, "hao2020/figure2", "hao2020/figure1"),
    ],
)
def test_an_edited_record_makes_its_measure_and_its_figures_again_and_no_others(
    project, measure, edit, made, drawn, kept
):
    path = project.folder / f"workflow/bertshift/measures/{measure}.py"
    assert edit[0] in path.read_text()
    path.write_text(path.read_text().replace(*edit, 1))
    jobs = rules(project.reruns("figures/all"))
    assert MEASURES.keys() & jobs == ({measure} if made else set())
    assert drawn in jobs and kept not in jobs


def test_what_a_paper_says_of_a_drawing_draws_that_figure_again(project):
    path = project.folder / "workflow/bertshift/papers/merchant2020/__init__.py"
    before, after = '{"variant": "top"}', '{"variant": "mix"}'
    assert path.read_text().count(before) == 1
    path.write_text(path.read_text().replace(before, after))
    drawn = [job for job in project.reruns("figures/all") if job.startswith("figure ")]
    assert drawn == ["figure paper=merchant2020, item=appendix_a"]


def test_the_window_of_activations_reruns_all_that_read_them(project):
    config = project.config
    config["samples"]["max_length"] = 100
    project.config = config
    tables = [
        "results/mdl/dep.tsv",
        "results/edge_probes/dep.tsv",
        "results/structural_probes/dep.tsv",
    ]
    jobs = rules(project.reruns(*tables, "results/rsa/squad_vs_base.tsv"))
    assert jobs == {"mdl", "edge_probes", "structural_probes", "activations", "rsa"}


def test_runs_of_a_row_are_not_trained_again_for_another_table(finished, tmp_path):
    used = finished.copy(tmp_path / "used")
    edited, runs = (
        used.folder / "workflow/bertshift/rows/provenance.py",
        "results/sweeps/rte.freeze",
    )
    trained = {path: path.stat().st_mtime for path in (used.folder / runs).glob("*/*/scores.json")}
    edited.write_text(edited.read_text() + "\nADDED = True\n")
    assert "sweep" in rules(used.reruns(f"{runs}.tsv"))
    used.snakemake(f"{runs}.tsv")
    assert trained and trained == {path: path.stat().st_mtime for path in trained}
