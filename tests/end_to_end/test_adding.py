"""A metric, a figure, a variant of names and a task, by the steps that guides name and no
others."""

import pytest
import yaml
from test_docs import TEMPLATE, write_own_task

from bertshift.files import read_tsv

pytestmark = pytest.mark.slow("whole workflow")

FIGURE = '''"""Cosine of tokens, by layer."""

from bertshift.figures import numbers
from bertshift.papers.hao2020 import change


def draw(inputs, published):
    rows = numbers.stack(inputs, "token_cosine", ["content"])
    named = change.name_series(rows, "token_cosine")
    table = numbers.join(numbers.ours(named, "panel", "series"))
    figure, axes = change.curves(table)
    return change.finish(figure, axes, table)
'''
DATASET = """
mine:
  kind: pair
  format: glue_tsv
  mirror: {train: glue/RTE/train.tsv, dev: glue/RTE/dev.tsv}
  columns: {text_a: sentence1, text_b: sentence2, label: label}
  labels: {entailment: entailment, not_entailment: not_entailment}
"""


@pytest.fixture
def mine(finished, tmp_path):
    project = finished.copy(tmp_path / "mine")
    library = project.folder / "workflow/bertshift"

    def insert(file, place, text):
        before, found, after = (library / file).read_text().partition(place)
        assert found
        (library / file).write_text(before + text + found + after)

    for folder, text in zip(("metrics", "measures"), TEMPLATE, strict=True):
        (library / folder / "token_cosine.py").write_text(text)
    (library / "papers/hao2020/distance.py").write_text(FIGURE)
    tables = 'per_model("results/token_cosine/{model}_vs_{reference}.tsv")'
    entry = f'Figure("Cosine of tokens", {tables}, "Mean over tokens.")'
    insert("papers/hao2020/__init__.py", '    "figure1": ', f'    "distance": {entry},\n')

    insert(
        "naming.py",
        '    "carry": ',
        '    "unpooled": Kind("unpooled", ("unpooled",), "zeroes the pooler"),\n',
    )
    zeroed = (
        'case "unpooled":\n                model.pooler.dense.weight.data.zero_()\n            '
    )
    insert("models/variants.py", 'case "freeze":', zeroed)

    config = project.config
    with open(project.folder / "config/datasets.yaml", "a") as datasets:
        datasets.write(DATASET)
    config["tasks"]["mine"] = config["tasks"]["rte"] | {"dataset": "mine"}
    config["figures"]["hao2020"]["distance"] = {"models": ["mine"], "reference": "base"}
    project.config = config
    return project


def test_the_steps_of_the_readme_are_enough(mine):
    assert yaml.safe_load((mine.folder / "config/datasets.yaml").read_text())["mine"]
    mine.snakemake("results/figures/hao2020/distance.png", "results/scores/mine.unpooled.tsv")
    drawn = read_tsv(mine.folder / "results/figures/hao2020/distance.tsv")
    assert set(drawn["series"]) == {"mine"} and set(drawn["layer"]) == {0, 1, 2}
    assert drawn["value"].between(0, 1, inclusive="neither").any()
    scores = read_tsv(mine.folder / "results/scores/mine.unpooled.tsv")
    assert set(scores["model"]) == {"mine.unpooled"} and scores["init"].nunique() == 2
    assert "unpooled" in mine.snakemake("results/scores/mine.pooled.tsv", "-n", check=False)


def test_the_tutorials_own_task_is_tried_with_the_models_that_are_there(finished, tmp_path):
    project = finished.copy(tmp_path / "mine")
    trial, _ = write_own_task(project.folder, copies=20)
    log = project.snakemake(*trial)
    assert "rule pretrain" not in log and "rule world" not in log
    scores = read_tsv(project.folder / "results/scores/mytask.tsv")
    assert set(scores["init"]) == {1, 2} and scores["value"].between(0, 1).all()
