import os
import sys
from functools import wraps
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

ROOT = Path(workflow.basedir)
LIBRARY = ROOT / "workflow"
sys.path.insert(0, str(LIBRARY))

from bertshift import codegraph, config as settings, costs, naming, network, stimuli
from bertshift.errors import UserError
from bertshift.models.source import RECORDED_IN
from bertshift.redaction import redact

# Scripts run in their own process, on this machine or on a cluster node, where this file is parsed again.
# Only the rules that download may reach a network; they lift this for themselves.
os.environ.update(
    {name: "1" for name in network.OFFLINE},
    PYTHONPATH=os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")])),
)

# The same pinned packages for those who do not use .venv: `--sdm conda`, or `--sdm apptainer` with an image built here.
ENVIRONMENT = str(ROOT / "envs/bertshift.yaml")
IMAGE = ROOT / "envs/bertshift.sif"
if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method and not IMAGE.exists():
    raise WorkflowError(
        f"{IMAGE} does not exist; build it first: apptainer build envs/bertshift.sif envs/bertshift.def"
    )


container: str(IMAGE)


def user_errors_as_sentences(function):
    """Turn a UserError into Snakemake's own error, which it prints without a traceback."""

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise WorkflowError(redact(str(error)))

    return wrapped


config = user_errors_as_sentences(settings.load_config)(config, ROOT)


wildcard_constraints:
    base=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    init=r"\d+",
    seed=r"\d+",
    model=r"(?:(?!_vs_)[^/])+?",
    reference=r"[^/]+",
    stimulus=r"[a-z0-9_+]+",
    sweep="|".join(naming.SWEEPS),
    # Not joined by commas: cluster jobs are told their wildcards as a list.
    stimuli=r"[a-z0-9_+-]+",


def code(*scripts, module=None):
    """A digest of what a rule's scripts do: another one reruns the rule, a comment or a fresh checkout does not."""
    files = [LIBRARY / "scripts" / f"{name}.py" for name in scripts]
    if module:
        files.append(LIBRARY / "bertshift" / f"{module}.py")
    return codegraph.digest(files)


def unique(names):
    return list(dict.fromkeys(names))


def reserve(kind, disk_mb=0):
    """Minutes and memory that a job of this kind asks a cluster for, more with each attempt; this machine heeds neither.

    disk_mb: temporary files that it writes; what else it writes stays, and no limit on a time's would help.
    """

    def asked(which):
        return lambda wildcards, rulename, threads, attempt: which(
            expected(rulename, tuple(wildcards.items()), threads), config["cluster"], kind, attempt
        )

    return {"disk_mb": disk_mb, "runtime": asked(costs.minutes), "mem_mb": asked(costs.megabytes)}


def only(names):
    return "|".join(names) or "(?!)"


@user_errors_as_sentences
def parse_model(name):
    return naming.parse_model(name, config)


@user_errors_as_sentences
def parse_comparison(wildcards):
    return naming.parse_comparison(wildcards.model, wildcards.reference, config)


MODEL_FILES = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
]


def run_files(run):
    return [f"{run.folder}/{name}" for name in MODEL_FILES]


def runs_of(model):
    return naming.runs_of(model, config)


def run_of(wildcards):
    run = naming.Run(parse_model(wildcards.model), int(wildcards.init), int(wildcards.get("seed", 0)))
    if run not in runs_of(run.model):
        raise WorkflowError(
            f"'{run.model}' has no replicate {run.name} at this scale; {naming.MORE_RUNS}, of bases.{run.model.base}."
        )
    return run


def dataset_of(wildcards):
    task = parse_model(wildcards.model).task
    return config["tasks"][task]["dataset"]


def runs_to_score(model):
    if not model.tasks:
        raise WorkflowError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return runs_of(model)


def runs_with_scores(wildcards):
    return runs_to_score(parse_model(wildcards.model))


def provenance(model):
    return {
        "model": str(model),
        "task": model.task,
        "runs": [[run.init, run.seed] for run in runs_of(model)],
        "scale": config["scale"],
        "source": config["data"]["source"],
        "checkpoints": checkpoints_of(runs_of(model)),
    }


def checkpoints_of(runs):
    """By pretraining run, what tables call it, or where that is recorded."""
    return {str(run.init): settings.describe_base(run.model.base, run.init, config) for run in runs}


def records(*models):
    """The files that tell which commits were downloaded, where the configuration does not."""
    names = [name for model in models for name in checkpoints_of(runs_of(model)).values()]
    return unique(name[RECORDED_IN] for name in names if isinstance(name, dict))


def trainings(*models):
    """One run of every fine-tuning that led to any of the models."""
    runs = [runs_of(model)[0] for model in models]
    return unique(stage for run in runs for stage in (run, *run.ancestors) if stage.model.tasks)


def trained_on(*models):
    return [sidecar(config["tasks"][run.model.task]["dataset"]) for run in trainings(*models)]


def training_scores(*models):
    return [f"{run.folder}/scores.json" for run in trainings(*models)]


def trained(runs):
    """Those that end in a fine-tuning."""
    return [run for run in runs if run.model.tasks]


def outcomes(runs):
    return [f"{run.folder}/scores.json" for run in trained(runs)]


def names_of(runs):
    """Of the trained, in the order of their outcomes."""
    return [[str(run.model), run.init, run.seed] for run in trained(runs)]


def runs_and_parents(wildcards):
    """The runs of a model, each with the run that it was fine-tuned from."""
    runs = runs_with_scores(wildcards)
    drawn = [v.text for v in runs[0].model.variants if v.kind in ["random", "reinit", "reinit_head"]]
    if drawn:
        raise WorkflowError(
            f"'{runs[0].model}' was fine-tuned from weights drawn anew, which are not kept; name it without .{drawn[0]}."
        )
    return [(run, run.parent) for run in runs]


def parent_settings(wildcards):
    pairs = runs_and_parents(wildcards)
    model = pairs[0][0].model
    return {
        **provenance(model),
        "reference": str(model.parent),
        "runs": [
            {
                "folder": run.folder,
                "parent": parent.folder,
                "init": run.init,
                "seed": run.seed,
                "ref_init": parent.init,
                "ref_seed": parent.seed,
            }
            for run, parent in pairs
        ],
        "trained": names_of(unique(run for pair in pairs for run in pair)),
    }


def comparison_inputs(metric):
    """Inputs of one metric for two models: both dumps of every stimulus, and what the numbers were made from."""

    def activations(which):
        return lambda wildcards: dump_read_by(
            metric, parse_comparison(wildcards)[which], comparison_stimuli(metric, wildcards)
        )

    return {"model": activations(0), "reference": activations(1), **provenance_inputs(metric)}


def provenance_inputs(metric):
    """The files that say what the numbers of a comparison were made from."""

    def descriptions(wildcards):
        return [f"results/stimuli/{name}.json" for name in comparison_stimuli(metric, wildcards)]

    def sidecars(wildcards):
        return trained_on(*parse_comparison(wildcards))

    def scores(wildcards):
        return training_scores(*parse_comparison(wildcards))

    def commits(wildcards):
        return records(*parse_comparison(wildcards))

    return {
        "descriptions": descriptions,
        "sidecars": sidecars,
        "scores": scores,
        "outcomes": lambda wildcards: outcomes(compared_runs(wildcards)),
        "commits": commits,
    }


@user_errors_as_sentences
def comparison_stimuli(metric, wildcards):
    return stimuli.stimuli_of(metric, *parse_comparison(wildcards), config)


def comparison_settings(metric, **more):
    """Which replicate meets which, by name, and the provenance that every row carries."""

    @user_errors_as_sentences
    def of(wildcards):
        model, reference = parse_comparison(wildcards)
        pairs = naming.pair_runs(model, reference, config)
        return settings.canonical(
            {
                "model": str(model),
                "reference": str(reference),
                "stimuli": comparison_stimuli(metric, wildcards),
                "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
                "trained": names_of(unique(run for pair in pairs for run in pair)),
                "scale": config["scale"],
                "source": config["data"]["source"],
                "checkpoints": checkpoints_of(run for run, _ in pairs),
                **more,
            }
        )

    return of


@user_errors_as_sentences
def compared_runs(wildcards):
    """Every replicate of either model that is compared."""
    pairs = naming.pair_runs(*parse_comparison(wildcards), config)
    return unique(run for pair in pairs for run in pair)


def weights_compared(wildcards):
    return [
        f"{run.folder}/{name}"
        for run in compared_runs(wildcards)
        for name in ["config.json", "model.safetensors"]
    ]


def folders_compared(wildcards):
    """Of each side, where each run's weights are."""
    sides = dict(zip(["model", "reference"], parse_comparison(wildcards)))
    runs = compared_runs(wildcards)
    return {side: {run.name: run.folder for run in runs if run.model == one} for side, one in sides.items()}


# What the rules of one file ask of the configuration; Snakemake's linter wants functions apart from rules.
include: "common/driver.smk"
include: "common/disk.smk"
include: "common/data.smk"
include: "common/pretrain.smk"
include: "common/finetune.smk"
include: "common/sweeps.smk"
include: "common/activations.smk"
include: "common/attention.smk"
include: "common/attention_to.smk"
include: "common/probing.smk"
include: "common/ablation.smk"
include: "common/relations.smk"
include: "common/patterns.smk"
include: "common/figures.smk"
include: "common/plan.smk"
