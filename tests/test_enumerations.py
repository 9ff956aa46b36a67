"""What can be chosen is said in four places: README, config/, the schemas and the code. They must say the same."""

import re

import pytest
import yaml
from conftest import ROOT
from made_papers import shipped

from bertshift import naming
from bertshift.data.edges.prepare import FORMATS
from bertshift.data.edges.records import TASKS
from bertshift.data.hub import COLUMNS
from bertshift.data.prepare import READERS
from bertshift.models.ablate import VARIANTS
from bertshift.models.families import FAMILIES
from bertshift.tasks import dependency_parsing, question_answering, scores
from bertshift.training.optimizers import EPSILON
from bertshift.training.schedules import SCHEDULE
from bertshift.training.settings import OPTIMIZERS, PRECISIONS, SCHEDULES
from bertshift.training.vocabulary import BYTE_LEVEL


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


SCHEMA, DATASETS, EDGES = (
    yaml.safe_load(read(f"workflow/schemas/{name}.schema.yaml")) for name in ("config", "datasets", "edges")
)
KEYS = SCHEMA["properties"]
GUIDE, README = read("config/README.md"), read("README.md")
# What each row of the guide's table says, by each key that it is about.
ROWS = {}
for row in re.findall(r"^\| (`.*?) \|(.*)\|$", GUIDE, re.MULTILINE):
    for key in re.findall(r"`([^`]+)`", row[0]):
        ROWS[key] = row[1]


def words(text):
    return set(re.findall(r"`([^`]+)`", text))


def after(text, start, end):
    """The words in backticks between two pieces of text."""
    return words(re.search(re.escape(start) + r"(.*?)" + re.escape(end), text, re.DOTALL)[1])


def comment(name, key):
    """What the head of a catalogue says of a key, to the next key."""
    return re.search(rf"^# {key} +(.*(?:\n#   .*)*)", read(name), re.MULTILINE)[1]


def listed(text):
    """Names in `a, b or c`, up to the end of the sentence."""
    return set(re.findall(r"\w+", re.sub(r"\([^)]*\)", "", text).replace(" or ", " ")))


def branches(schema, key):
    """Of an if/then for each value of `key`: {value: what holds then}."""
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
NAMED = README.partition("A model is named by")[2].partition("A model compared")[0]
HOW = ROWS["training.warmup"]

ENUMERATIONS = {
    "schedules": [
        SCHEDULES,
        SCHEDULE,
        TRAINING["schedule"]["enum"],
        TASK["properties"]["schedule"]["enum"],
        TASK["properties"]["per_base"]["additionalProperties"]["properties"]["schedule"]["enum"],
        after(HOW, "schedules are", "optimisers"),
    ],
    "optimizers": [
        OPTIMIZERS,
        EPSILON,
        TRAINING["optimizer"]["enum"],
        TASK["properties"]["optimizer"]["enum"],
        TASK["properties"]["per_base"]["additionalProperties"]["properties"]["optimizer"]["enum"],
        after(HOW + "|", "optimisers", "|"),
    ],
    "families to pretrain": [
        FAMILIES,
        PRETRAIN["family"]["enum"],
        words(ROWS["bases.<name>.pretrain.family"].rpartition(" BERT needs")[0]),
    ],
    "byte-level vocabularies": [
        BYTE_LEVEL,
        VOCABULARY["special"]["enum"],
        after(ROWS["vocabularies.<name>"] + "|", "has `special`:", "|"),
    ],
    "precisions": [PRECISIONS, TRAINING["precision"]["enum"]],
    "kinds of tasks": [
        TASK["properties"]["kind"]["enum"],
        branches(TASK, "kind"),
        after(ROWS["tasks.<name>"], "`kind` (", ")"),
    ],
    "kinds of data sets": [
        DATASET["properties"]["kind"]["enum"],
        {"sentence", "pair", *COLUMNS},
        listed(comment("config/datasets.yaml", "kind").partition(":")[2].partition("(")[0]),
        set(re.findall(r"^#   (\w+) +\S+, ", read("workflow/bertshift/data/examples.py"), re.MULTILINE)),
    ],
    "formats of data sets": [
        READERS,
        DATASET["properties"]["format"]["enum"],
        listed(comment("config/datasets.yaml", "format").partition(":")[2]),
    ],
    "formats of edge sets": [
        FORMATS,
        EDGE_SET["properties"]["format"]["enum"],
        branches(EDGE_SET, "format"),
        listed(comment("config/edges.yaml", "format").partition(":")[2]),
    ],
    "edge tasks": [
        TASKS,
        EDGE_SET["properties"]["task"]["enum"],
        listed(comment("config/edges.yaml", "task").partition(":")[2]),
    ],
    "forms of stimuli": [
        {"inputs", *re.findall(r'form(?:"\])? == "(\w+)"', read("workflow/bertshift/data/stimuli.py"))},
        STIMULUS["form"]["enum"],
        after(ROWS["stimuli.<name>"] + "|", "`form`:", "|"),
    ],
    "variants of a disabled head": [
        VARIANTS,
        KEYS["ablation"]["properties"]["variants"]["items"]["enum"],
        after(ROWS["ablation.variants"], "disabled:", ";"),
    ],
    "variants of names": [
        naming.VARIANTS,
        {naming.parse_variant(form).kind for kind in naming.VARIANTS.values() for form in kind.forms},
        {
            naming.parse_variant(text).kind
            for text in re.findall(
                r"[.`]((?:reinit|freeze|keep|lora|carry|random|bertadam|plateau|at\d)\w*)", NAMED
            )
        },
    ],
    "settings of a variant": [
        TRAINING["per_variant"]["propertyNames"]["enum"],
        words(ROWS["training.per_variant.<kind>"].partition("variant:")[2]),
        # .bertadam says itself how to train, and .at10 is trained as the model without it.
        set(naming.VARIANTS) - {"bertadam", "at"},
    ],
    "jobs of a cluster": [
        set(KEYS["cluster"]["properties"]) - {"margin"},
        after(ROWS["cluster.<kind>.minutes"], "kinds are", "(also"),
    ],
    "scales": [KEYS["scale"]["enum"], words(ROWS["scale"])],
    "sources": [KEYS["data"]["properties"]["source"]["enum"], words(ROWS["data.source"])],
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
    schema = {kind: set(then["metrics"]["items"]["enum"]) for kind, then in branches(TASK, "kind").items()}
    assert schema == {kind: set(known) for kind, known in METRICS.items()}
    told = re.search(r"^Metrics are .*?\n\n", GUIDE, re.MULTILINE | re.DOTALL)[0]
    *parts, last = re.split(r" of (?:classes|regressions|spans),\s| of tags, and of dependencies ", told)
    assert [words(part) for part in parts if words(part)] + [words(last)] == [
        set(each) for each in METRICS.values()
    ]


def test_what_each_format_of_edge_sets_annotates_and_needs():
    for name, then in branches(EDGE_SET, "format").items():
        form, files = FORMATS[name], then["files"]
        assert set(then.get("task", {"enum": TASKS})["enum"]) == set(form.tasks), name
        assert set(files["required"]) == set(form.files), name
        assert set(files["properties"]) == {*form.files, *form.more}, name


def test_the_columns_of_each_kind_of_data_set():
    then = {
        each["if"]["properties"]["kind"].get("const", "labelled"): each["then"] for each in DATASET["allOf"]
    }
    for kind, columns in COLUMNS.items():
        assert set(then[kind]["properties"]["hub"]["properties"]["columns"]["properties"]) == set(columns)


def test_the_names_of_the_readme_are_models_of_the_demo():
    names = [name for row in re.findall(r"^\| (`.*?) \|", NAMED, re.MULTILINE) for name in sorted(words(row))]
    config = shipped()
    assert len(names) > 12 and all(naming.parse_model(name, config) for name in names)


def test_every_row_of_runs_is_in_a_readme():
    shown = set(
        re.findall(
            r"[\w@]\.((?:freeze|keep|reinit|seeds)[a-zA-Z0-9]*)\.tsv|; \.(\w+):|\s\.(\w+):", README + GUIDE
        )
    )
    kinds = {kind for found in shown for kind in found if kind}
    matching = {kind: [form for form in naming.SWEEPS if re.fullmatch(form, kind)] for kind in kinds}
    assert all(matching.values()), matching
    assert {form for forms in matching.values() for form in forms} == set(naming.SWEEPS)


def test_every_key_is_in_the_table_and_every_row_is_a_key():
    groups = [top for top, schema in KEYS.items() if "properties" in schema]
    table = "\n".join(line for line in GUIDE.splitlines() if line.startswith("| `"))
    missing = [
        f"{top}.{key}"
        for top in groups
        for key in KEYS[top]["properties"]
        if not re.search(
            rf"^\| .*`{top}[.`].*`(?:[\w<>]+\.)*{key}[.`]|`{top}\.{key}[.`]", table, re.MULTILINE
        )
    ]
    assert not missing, missing
    rows = {key.split(".")[0] for key in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)}
    assert rows <= set(KEYS), rows - set(KEYS)
