"""What can be chosen is said in the code, in the schemas, and in guides that are written from
these. They must say the same."""

import re

import guide
import pytest
import yaml
from conftest import ROOT
from made_papers import shipped

from bertshift import edits, naming
from bertshift.config import SCALES
from bertshift.data.edges.prepare import FORMATS
from bertshift.data.edges.records import TASKS
from bertshift.data.hub import COLUMNS
from bertshift.data.prepare import READERS
from bertshift.models.ablate import VARIANTS
from bertshift.models.families import FAMILIES
from bertshift.tasks import dependency_parsing, question_answering, scores
from bertshift.training.optimizers import EPSILON
from bertshift.training.schedules import SCHEDULE
from bertshift.training.vocabulary import BYTE_LEVEL


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


SCHEMA, DATASETS, EDGES = (
    yaml.safe_load(read(f"workflow/schemas/{name}.schema.yaml"))
    for name in ("config", "datasets", "edges")
)
KEYS = SCHEMA["properties"]
GUIDE, README = read("config/README.md"), read("README.md")


def branches(schema, key):
    """Return what the if/then of a schema says for each value of `key`: {value: what holds
    then}."""
    return {
        each["if"]["properties"][key]["const"]: each["then"]["properties"]
        for each in schema["allOf"]
        if "const" in each["if"]["properties"].get(key, {})
    }


TASK = KEYS["tasks"]["additionalProperties"]
TRAINING = KEYS["training"]["properties"]
PRETRAIN = KEYS["bases"]["additionalProperties"]["properties"]["pretrain"]["properties"]
VOCABULARY = KEYS["vocabularies"]["additionalProperties"]["properties"]
STIMULUS = KEYS["stimuli"]["additionalProperties"]["properties"]
DATASET, EDGE_SET = DATASETS["additionalProperties"], EDGES["additionalProperties"]
NAMED = README.partition("A name describes how a model was trained")[2].partition(
    "A model compared"
)[0]

ENUMERATIONS = {
    "schedules": [SCHEDULE, TRAINING["schedule"]["enum"]],
    "optimizers": [EPSILON, TRAINING["optimizer"]["enum"]],
    "families to pretrain": [FAMILIES, PRETRAIN["family"]["enum"]],
    "byte-level vocabularies": [BYTE_LEVEL, VOCABULARY["special"]["enum"]],
    "kinds of tasks": [TASK["properties"]["kind"]["enum"], branches(TASK, "kind")],
    "kinds of data sets": [DATASET["properties"]["kind"]["enum"], {"sentence", "pair", *COLUMNS}],
    "formats of data sets": [READERS, DATASET["properties"]["format"]["enum"]],
    "formats of edge sets": [
        FORMATS,
        EDGE_SET["properties"]["format"]["enum"],
        branches(EDGE_SET, "format"),
    ],
    "edge tasks": [TASKS, EDGE_SET["properties"]["task"]["enum"]],
    "forms of stimuli": [
        {
            "inputs",
            *re.findall(r'form(?:"\])? == "(\w+)"', read("workflow/bertshift/data/stimuli.py")),
        },
        STIMULUS["form"]["enum"],
    ],
    "variants of a disabled head": [
        VARIANTS,
        KEYS["ablation"]["properties"]["variants"]["items"]["enum"],
    ],
    "forms of variants": [
        naming.VARIANTS,
        {
            naming.parse_variant(form).kind
            for kind in naming.VARIANTS.values()
            for form in kind.forms
        },
    ],
    "settings of a variant": [
        TRAINING["per_variant"]["propertyNames"]["enum"],
        # .bertadam says itself how to train; .shuffled and .at10 are trained as the model without
        # them, and .noise and .edit_ff2 not at all.
        set(naming.VARIANTS) - {"bertadam", "shuffled", "at", "noise", "edit"},
    ],
    "kinds of edits": [
        edits.KINDS,
        KEYS["edits"]["additionalProperties"]["properties"]["kind"]["enum"],
    ],
    "keys of edits": [
        KEYS["edits"]["additionalProperties"]["properties"],
        {"kind", "background"}.union(*(kind.needs for kind in edits.KINDS.values())),
    ],
    "scales": [
        SCALES,
        KEYS["scale"]["enum"],
        {file.stem for file in (ROOT / "config/scales").iterdir()},
    ],
}


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_every_place_says_the_same(name):
    places = [set(place) for place in ENUMERATIONS[name]]
    assert all(place == places[0] for place in places), places


METRICS = {
    "classification": scores.CLASS_SCORES,
    "regression": scores.REGRESSION_SCORES,
    "spans": question_answering.METRICS,
    "tags": {"accuracy"},
    "dependencies": dependency_parsing.METRICS,
}


def test_the_metrics_of_each_kind_of_task():
    schema = {
        kind: set(then["metrics"]["items"]["enum"])
        for kind, then in branches(TASK, "kind").items()
    }
    assert schema == {kind: set(known) for kind, known in METRICS.items()}


def test_what_each_format_of_edge_sets_annotates_and_needs():
    for name, then in branches(EDGE_SET, "format").items():
        form, files = FORMATS[name], then["files"]
        assert set(then.get("task", {"enum": TASKS})["enum"]) == set(form.tasks), name
        assert set(files["required"]) == set(form.files), name
        assert set(files["properties"]) == {*form.files, *form.more}, name


def test_the_columns_of_each_kind_of_data_set():
    then = {
        each["if"]["properties"]["kind"].get("const", "labelled"): each["then"]
        for each in DATASET["allOf"]
    }
    for kind, columns in COLUMNS.items():
        assert set(then[kind]["properties"]["hub"]["properties"]["columns"]["properties"]) == set(
            columns
        )


def test_the_tables_of_the_guides_are_those_of_schemas_catalogues_and_records():
    assert guide.written(GUIDE) == GUIDE, "write them with: make guide"
    for page in guide.PAGES:
        text = page.read_text(encoding="utf-8")
        assert guide.filled(text) == text, "write them with: make guide"


def test_the_names_of_the_readme_are_models_of_the_demo_and_show_every_variant():
    column = re.findall(r"^\| (`.*?) \|", NAMED, re.MULTILINE)
    names = [name for cell in column for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) > 12 and all(naming.parse_model(name, shipped()) for name in names)
    shown = {variant.kind for name in names for variant in naming.Model.of(name).variants}
    assert shown == set(naming.VARIANTS)
