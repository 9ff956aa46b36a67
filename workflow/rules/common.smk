import os
import sys
from functools import wraps
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
LIBRARY = ROOT / "workflow"
sys.path.insert(0, str(LIBRARY))
# Scripts run in their own process, on this machine or on a cluster node, where this file is parsed again.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")]))
# Only the download rules may reach the hub; they lift this for themselves.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

from bertshift import codegraph, config as settings, naming, stimuli
from bertshift.errors import UserError
from bertshift.plots import catalogue
from bertshift.seeds import seed_from


container: "docker://python:3.11-slim"


def user_errors_as_sentences(function):
    """Turn a UserError into Snakemake's own error, which it prints without a traceback."""

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise WorkflowError(str(error))

    return wrapped


config = user_errors_as_sentences(settings.load_config)(config, ROOT)

DATA = "results/data/{dataset}"
SPLITS_OF_TASKS = ["train", "dev"]


wildcard_constraints:
    base=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    init=r"\d+",
    seed=r"\d+",
    model=r"[^/]+?",
    reference=r"[^/]+",
    stimuli=r"[a-z0-9_+]+",


def code(name, *modules):
    """A digest of what a rule's script does: another one reruns the rule, a comment or a fresh checkout does not."""
    files = [
        LIBRARY / "scripts" / f"{name}.py",
        *(LIBRARY / "bertshift" / f"{module}.py" for module in modules),
    ]
    return codegraph.digest(files)


@user_errors_as_sentences
def parse_model(name):
    return naming.parse_model(name, config)


@user_errors_as_sentences
def parse_comparison(wildcards):
    return naming.parse_comparison(wildcards.model, wildcards.reference, config)


def run_files(run):
    return [f"{run.folder}/{name}" for name in MODEL_FILES]


def runs_of(model):
    return naming.runs_of(model, config)


MODEL_FILES = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
]
