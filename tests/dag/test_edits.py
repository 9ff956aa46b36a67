"""What an edit makes again. Stubs in the place of the scripts write their outputs empty, so a run takes seconds."""

import re

import pytest

STUB = """
from pathlib import Path

for output in map(Path, snakemake.output):
    folder = "activations" in output.parts
    file = output / "file" if folder else output
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
"""
MODELS = ["mnli", "dep", "mnli.lora8"]
TARGETS = [*(f"results/scores/{model}.tsv" for model in MODELS), "results/js/mnli_vs_base.tsv"]


@pytest.fixture(scope="module")
def made(copy_project):
    """A project whose rules know the true scripts' code and run stubs."""
    project = copy_project()
    for script in (project.folder / "workflow/scripts").glob("*.py"):
        stub = project.folder / "workflow/stubs" / script.name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB)
    for rules in (project.folder / "workflow/rules").glob("*.smk"):
        rules.write_text(rules.read_text().replace('"../scripts/', '"../stubs/'))
    project.snakemake(*TARGETS)
    assert not project.reruns(*TARGETS)
    return project


def made_again(project, file, text):
    """The rules and models that an edit, `text` at the end of a file or a new file, makes again."""
    path = project.folder / file
    before = path.read_text() if path.exists() else None
    path.write_text((before or "") + text)
    try:
        jobs = project.reruns(*TARGETS)
    finally:
        path.unlink() if before is None else path.write_text(before)
    return {re.sub(r"(\w+) model=([^,]+).*", r"\1 \2", job) for job in jobs}


CODE = "\nADDED = 1\n"
METRIC = """
from bertshift.measures.metric import Metric

METRIC = Metric(module="svcca")
"""


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("workflow/bertshift/models/heads.py", "\n# Why this is so.\n"),
        ("workflow/bertshift/running/jobs.py", CODE),
        ("workflow/bertshift/errors.py", CODE),
        ("workflow/bertshift/metrics/svcca.py", CODE),
        ("workflow/bertshift/measures/mine.py", METRIC),
        ("workflow/bertshift/papers/hao2020/__init__.py", CODE),
        ("envs/compute.yaml", "      - another==1.0\n"),
        ("config/experiments.yaml", "\nsnapshots: [0, 50]\n"),
    ],
)
def test_what_no_table_depends_on_makes_none_again(made, file, text):
    assert made_again(made, file, text) == set()


def test_a_module_makes_again_what_runs_it(made):
    js = made_again(made, "workflow/bertshift/metrics/jensen_shannon.py", CODE)
    assert {"js mnli", "cosine mnli"} & js == {"js mnli"}
    parser = made_again(made, "workflow/bertshift/models/biaffine.py", CODE)
    assert parser == {"finetune dep", "scores dep"}
    adapters = made_again(made, "workflow/bertshift/models/lora.py", CODE)
    assert adapters == {"finetune mnli.lora8", "scores mnli.lora8"}
    head = made_again(made, "workflow/bertshift/tasks/text_classification.py", CODE)
    assert {"finetune mnli", "scores mnli"} <= head and "finetune dep" not in head
