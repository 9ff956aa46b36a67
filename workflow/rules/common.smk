import json
import logging
import os
import re
import shlex
import sys
from dataclasses import asdict
from functools import wraps
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.exceptions import WorkflowError
from snakemake.iocontainers import Wildcards
from snakemake.logging import logger
from snakemake.output_index import OutputIndex
from snakemake.settings.enums import Quietness
from snakemake.settings.types import DeploymentMethod
from snakemake_interface_executor_plugins.settings import ExecMode
from snakemake_interface_logger_plugins.common import LogEvent

ROOT = Path(workflow.basedir)
LIBRARY = ROOT / "workflow"
sys.path.insert(0, str(LIBRARY))

from bertshift import (
    codegraph,
    config as settings,
    costs,
    driver,
    gpus,
    naming,
    network,
    progress,
    stimuli,
    work,
)
from bertshift.errors import UserError
from bertshift.models.source import RECORDED_IN, as_asked_before
from bertshift.plots import catalogue
from bertshift.redaction import redact
from bertshift.seeds import seed_from

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


def taking_over(prepare_dag):
    """Before a real run plans its jobs: end and clear away what a driver that died left in this folder."""

    @wraps(prepare_dag)
    @user_errors_as_sentences
    def wrapped(*args, lock_warn_only, nolock=False, **more):
        if workflow.executor_plugin and not lock_warn_only and not nolock:
            slurm = workflow.executor_settings
            submits = hasattr(slurm, "jobname_prefix")
            name = driver.begin(Path.cwd(), submits, logger.warning)
            if submits:
                slurm.jobname_prefix = "_".join(filter(None, [slurm.jobname_prefix, name]))
        return prepare_dag(*args, lock_warn_only=lock_warn_only, nolock=nolock, **more)

    return wrapped


def recording(finished):
    """A cluster job records itself what made its files: its driver, which also does, may have died meanwhile."""

    @wraps(finished)
    async def wrapped(job):
        mode, workflow.workflow_settings.exec_mode = workflow.exec_mode, ExecMode.DEFAULT
        try:
            await finished(job)
        finally:
            workflow.workflow_settings.exec_mode = mode

    return wrapped


def keeping_records(prepare_dag):
    @wraps(prepare_dag)
    def wrapped(*args, **kwargs):
        prepare_dag(*args, **kwargs)
        workflow.persistence.finished = recording(workflow.persistence.finished)

    return wrapped


logger.addFilter(driver.keep_telling_logs)
workflow._prepare_dag = (taking_over if workflow.is_main_process else keeping_records)(workflow._prepare_dag)

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


def reserve(kind):
    """Minutes and memory that a job of this kind asks a cluster for, more with each attempt; this machine heeds neither."""
    asked = config["cluster"][kind]
    return {
        "runtime": lambda wildcards, attempt: asked["minutes"] * attempt,
        "mem_mb": lambda wildcards, attempt: round(1000 * asked["gb"]) * attempt,
    }


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


# ---- Data
WORLD = "results/world"
# What the generated world holds beside the data sets: text for pretraining, and gold annotation.
WORLD_EXTRAS = ["corpus/documents.txt", "heads/relations.jsonl", "README.txt"] + [
    f"edges/{task}/{split}.jsonl"
    for task in ["pos", "constituents", "dependencies", "entities", "srl", "coref", "spr", "relations"]
    for split in ["train", "dev", "test"]
]


def mirror_files(name):
    """One file a split: the generated world has the first candidate, a user's mirror the first that exists."""
    spec = config["datasets"].get(name)
    if spec is None:
        known = ", ".join(config["datasets"])
        raise WorkflowError(f"no data set '{name}'; config/datasets.yaml has {known}.")
    if config["data"]["source"] == "hub":
        return []
    if config["data"]["source"] == "world":
        return [f"{WORLD}/{candidates[0]}" for candidates in spec["mirror"].values()]
    root = Path(config["data"].get("mirror") or "")
    chosen = []
    for split, candidates in spec["mirror"].items():
        found = [root / candidate for candidate in candidates if (root / candidate).is_file()]
        if not found:
            raise WorkflowError(
                f"data.mirror: {root} has none of {', '.join(candidates)} ({split} split of '{name}'); "
                "put the file there, or set data.source to hub."
            )
        chosen.append(str(found[0]))
    return chosen


def sidecar(name):
    return f"results/data/{name}/dataset.json"


def examples(name):
    return f"results/data/{name}/examples.jsonl"


def world_files():
    datasets = [
        candidates[0] for spec in config["datasets"].values() for candidates in spec["mirror"].values()
    ]
    return [f"{WORLD}/{path}" for path in dict.fromkeys(datasets + WORLD_EXTRAS)]


# The rules that reach a network, where the configuration says so.
FETCHING = ["dataset", "checkpoint", "corpus"]


def fetched_for(target):
    """What they make of all that a rule is made from; found, as Snakemake does, by asking each file's rule for its inputs."""
    makers_of = OutputIndex(list(workflow.rules)).match_producers
    queue, seen, fetched = [(workflow.get_rule(target), ())], set(), []
    while queue:
        maker, wildcards = queue.pop()
        for file in maker.expand_input(Wildcards(fromdict=dict(wildcards)))[0]:
            for below in makers_of(file):
                job = below, tuple(below.get_wildcards(file).items())
                if job not in seen:
                    seen.add(job)
                    queue.append(job)
                    if below.name in FETCHING:
                        fetched.append(file)
    return fetched


def dataset_source(name):
    spec = config["datasets"][name]
    data = config["data"]
    root = WORLD if data["source"] == "world" else data.get("mirror")
    where = {"cache": data["cache"]} if data["source"] == "hub" else {"mirror": root}
    return {"name": name, "spec": spec, "source": data["source"], **where}


@user_errors_as_sentences
def stimuli_datasets(wildcards):
    return unique(dataset for dataset, _ in stimuli.sources_of(wildcards.stimulus, config))


def stimuli_settings(name):
    form = config["stimuli"].get(name, {}).get("form", "inputs")
    text = form in ["sentences", "consecutive_pairs"]
    size = "text" if text else "combined" if "+" in name else "task"
    return {
        "name": name,
        "sources": stimuli.sources_of(name, config),
        "form": form,
        "number": config["samples"][size],
        "source": config["data"]["source"],
    }


# ---- Checkpoints
PRETRAINED_HERE = [name for name, base in config["bases"].items() if "pretrain" in base]
PRETRAINED_ELSEWHERE = [name for name in config["bases"] if name not in PRETRAINED_HERE]
CHECKPOINT = "results/pretrained/{base}/init{init}"
for name in PRETRAINED_ELSEWHERE:
    entries = config["bases"][name]["checkpoints"]
    entries[:] = [
        as_asked_before(entry, CHECKPOINT.format(base=name, init=init))
        for init, entry in enumerate(entries, 1)
    ]


def only(names):
    return "|".join(names) or "(?!)"


def vocabulary_files(name):
    return [
        f"results/vocabularies/{name}/{file}"
        for file in ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    ]


def vocabulary(wildcards):
    if wildcards.vocabulary not in config["vocabularies"]:
        known = ", ".join(config["vocabularies"])
        raise WorkflowError(f"no vocabulary '{wildcards.vocabulary}'; known: {known}.")
    return config["vocabularies"][wildcards.vocabulary]


def architecture(wildcards):
    return config["bases"][wildcards.base]["pretrain"]


def checkpoint_source(wildcards):
    sources = config["bases"][wildcards.base]["checkpoints"]
    if not 1 <= int(wildcards.init) <= len(sources):
        raise WorkflowError(
            f"bases.{wildcards.base}.checkpoints lists {len(sources)} run(s); there is no init{wildcards.init}."
        )
    # Another label is no other checkpoint.
    return {key: value for key, value in sources[int(wildcards.init) - 1].items() if key != "label"}


# ---- Runs
RUN = "results/models/{model}/init{init}_seed{seed}"


def run_of(wildcards):
    run = naming.Run(parse_model(wildcards.model), int(wildcards.init), int(wildcards.get("seed", 0)))
    if run not in runs_of(run.model):
        raise WorkflowError(
            f"'{run.model}' has no replicate {run.name} at this scale; raise its checkpoint's 'runs' or 'seeds'."
        )
    return run


def finetune_settings(wildcards):
    run = run_of(wildcards)
    if not run.model.tasks:
        raise WorkflowError(f"'{run.model}' is not fine-tuned and has no seed; ask for init{wildcards.init}.")
    return run_settings(run)


def run_settings(run):
    model = run.model
    return {
        **settings.task_settings(model, config),
        "variants": [variant.text for variant in model.variants],
        # Without the variants and earlier tasks: runs that are compared see the same batches and draw the same head.
        "seed": finetune_seed(model, run.init, run.seed),
    }


def finetune_seed(model, init, seed):
    return seed_from("finetune", model.task, model.base, init, seed)


def sweep_samples(task):
    shared, own = config["sweeps"], config["sweeps"]["tasks"].get(task, {})
    sizes = {key: own.get(key, shared.get(key)) for key in ["max_train", "max_dev"]}
    return {key: size for key, size in sizes.items() if size is not None}


@user_errors_as_sentences
def sweep_settings(wildcards):
    run = run_of(wildcards)
    row = {}
    for position, one in naming.sweep_of(run, wildcards.sweep, config):
        name = str(one.model) if one.seed == run.seed else f"{one.model}_seed{one.seed}"
        row[name] = position, one
    runs = {name: run_settings(one) for name, (_, one) in row.items()}
    for each in runs.values():
        each["task"] |= sweep_samples(run.model.task)
    return {
        "runs": runs,
        "row": {
            name: {"model": str(one.model), "init": one.init, "seed": one.seed, "position": position}
            for name, (position, one) in row.items()
        },
        "layers": naming.shape_of(config["bases"][run.model.base])["layers"],
        "provenance": {**provenance(run.model), "runs": [[run.init, run.seed]]},
    }


def rivals(wildcards):
    """Two models of one task whose predictions can be tested against each other, example by example."""
    model, reference = parse_model(wildcards.model), parse_model(wildcards.reference)
    kind = config["tasks"].get(model.task, {}).get("kind")
    if model.task != reference.task or kind not in ["classification", "regression", "spans"]:
        raise WorkflowError(
            f"results/gains/{model}_vs_{reference}.tsv: only two models of one task that classifies, rates or answers "
            "can be tested on its examples; write e.g. 'wnli+rte_vs_rte'."
        )
    return model, reference


@user_errors_as_sentences
def rival_runs(wildcards):
    return naming.pair_runs(*rivals(wildcards), config)


def gain_inputs(file):
    """This file of every replicate of the model, each followed by that of the replicate which it meets."""
    return lambda wildcards: [f"{run.folder}/{file}" for pair in rival_runs(wildcards) for run in pair]


def gain_settings(wildcards):
    model, reference = rivals(wildcards)
    return provenance(model) | {
        "reference": str(reference),
        "pairs": [[[run.init, run.seed] for run in pair] for pair in rival_runs(wildcards)],
    }


def rows_of_sweep(name, kind, ending="tsv"):
    model = parse_model(name)
    return [f"results/sweeps/{name}.{kind}/{run.name}.{ending}" for run in runs_to_score(model)]


def layers_of_rows(name):
    """{file of a row of re-initialised heads: their layer}, counted from 1 where the configuration counts from the top."""
    layers = naming.shape_of(config["bases"][parse_model(name).base])["layers"]
    wanted = unique(n if n > 0 else layers + 1 + n for n in config["sweeps"]["head_layers"])
    return {file: layer for layer in wanted for file in rows_of_sweep(name, f"reinitL{layer}")}


def dataset_of(wildcards):
    task = parse_model(wildcards.model).task
    return config["tasks"][task]["dataset"]


def runs_with_scores(wildcards):
    return runs_to_score(parse_model(wildcards.model))


def runs_to_score(model):
    if not model.tasks:
        raise WorkflowError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return runs_of(model)


def frozen_starts(wildcards):
    """The runs that a model's runs start from, each once."""
    model = parse_model(wildcards.model)
    if not model.tasks or config["tasks"][model.task]["kind"] not in ["classification", "regression"]:
        raise WorkflowError(
            f"results/frozen/{model}.tsv: '{model}' is not fine-tuned to classify or to rate a text; write e.g. 'mrpc'."
        )
    if model.variants:
        plain = naming.Model(model.tasks, (), model.base)
        raise WorkflowError(
            f"results/frozen/{model}.tsv: an encoder is taken as it is, without variants; write '{plain}'."
        )
    return unique(run.parent for run in runs_of(model))


def frozen_settings(wildcards):
    model = parse_model(wildcards.model)
    heads = range(1, config["frozen"]["heads"] + 1)
    return {
        **provenance(model),
        "model": str(model.parent),
        "child": str(model),
        "task": settings.task_settings(model, config)["task"],
        "max_train": config["frozen"]["max_train"],
        "starts": {
            start.folder: {
                "init": start.init,
                "seed": start.seed,
                "heads": [finetune_seed(model, start.init, head) for head in heads],
            }
            for start in frozen_starts(wildcards)
        },
    }


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


# ---- Comparisons
# `stimuli` lists one or several input sets, joined by commas: one job reads a model once for all of them.
ACTIVATIONS = "results/activations/{metric}/{model}/{stimuli}"
METRICS_OF_ATTENTION = ["cosine", "js", "relation_heads"]
# Who reads what another metric has dumped, if both look at the same inputs: extracting it costs more than either. In
# return one of the two made anew runs the other as well.
READS_THE_DUMP_OF = {
    "attention_to": "cosine",
    "own_or_inherited": "cosine",
    "svcca": "js",
    "similarity": "svcca",
}
PROBES = ["edge_probes", "mdl", "structural_probes"]
# Stimuli with rules of their own: the sentences of all edge tasks, the treebank's, and those with relations marked.
PROBED = ["edges", "trees", "relations"]


def dump_of(metric):
    return dump_of(READS_THE_DUMP_OF[metric]) if metric in READS_THE_DUMP_OF else metric


def keep(path):
    return path if config["keep_activations"] else temp(path)


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


def comparison_inputs(metric):
    """Inputs of one metric for two models: both dumps of every stimulus, and what the numbers were made from."""

    def activations(which):
        return lambda wildcards: ACTIVATIONS.format(
            metric=dump_of(metric),
            model=parse_comparison(wildcards)[which],
            stimuli="-".join(comparison_stimuli(metric, wildcards)),
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


# ---- Attention to kinds of tokens
def annotators():
    """The runs that say what the words of a stimulus are: the first replicates of a tagger and of a parser."""
    return [runs_of(parse_model(config["annotators"][kind]))[0] for kind in ["tags", "trees"]]


def annotation_files(wildcards, ending):
    names = comparison_stimuli("attention_to", wildcards)
    return [f"results/annotations/{name}.{ending}" for name in names]


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


def own_or_inherited_settings(wildcards):
    return comparison_settings("own_or_inherited", folders=folders_compared(wildcards))(wildcards)


def padded_settings(wildcards):
    samples = config["samples"]
    return comparison_settings(
        "cosine",
        folders=folders_compared(wildcards),
        inputs=samples["padded"],
        pad_to=samples["padded_length"],
    )(wildcards)


def attention_to_settings(wildcards):
    """As of any comparison of weights; its table has rows of the reference by itself."""
    _, reference = parse_comparison(wildcards)
    checkpoints = checkpoints_of(run for run in compared_runs(wildcards) if run.model == reference)
    return comparison_settings(
        "attention_to", folders=folders_compared(wildcards), reference_checkpoints=checkpoints
    )(wildcards)


# ---- Probes
EDGES = "results/edges/{task}"
PROBE_SPLITS = ["train", "dev", "test"]


def edge_set(task):
    return config["edge_sets"][config["edge_tasks"][task]]


# What the catalogue's entries download, by its place: the address without its scheme.
CORPORA = "results/corpora"
DOWNLOADS = {
    each["url"].partition("://")[2]: each
    for each in [
        *(each for spec in config["edge_sets"].values() for each in spec.get("download", {}).values()),
        config["relations"]["download"],
    ]
}


def edge_corpus(task):
    """The folder and the files in it: Snakemake makes the world's, a mirror has the others, or they are downloaded."""
    spec, data = edge_set(task), config["data"]
    if data["source"] == "world":
        return WORLD, spec["files"]
    mirror = Path(data.get("mirror") or "")
    offered = {part: each["url"].partition("://")[2] for part, each in spec.get("download", {}).items()}
    # A mirror may hold downloads too, where they lie below results/corpora.
    for files in filter(None, [spec["files"], offered]):
        if all((mirror / file).exists() for file in files.values()):
            return str(mirror), files
    if data["source"] == "hub" and offered:
        return CORPORA, offered
    missing = [mirror / file for file in spec["files"].values() if not (mirror / file).exists()]
    raise WorkflowError(
        f"edge_tasks.{task}: {config['edge_tasks'][task]} needs {missing[0]}; fetch it from {spec['url']} "
        "and put it there, or set data.mirror to the folder that holds it."
    )


def edge_files(task):
    root, files = edge_corpus(task)
    return [str(Path(root) / file) for file in files.values()]


def edge_source(task):
    root, files = edge_corpus(task)
    spec = {key: value for key, value in edge_set(task).items() if key != "download"}
    return {
        "name": config["edge_tasks"][task],
        "spec": {**spec, "files": files},
        "root": root,
        "source": "download" if root == CORPORA else "mirror",
    }


def edge_sets():
    """The sidecar of every task: where it is, the three splits are whole."""
    return [f"{EDGES.format(task=task)}/edges.json" for task in config["edge_tasks"]]


def edge_tasks():
    return {task: EDGES.format(task=task) for task in config["edge_tasks"]}


def edge_sentence_settings():
    return {"tasks": edge_tasks(), "probe": config["probes"]["edge"], "source": config["data"]["source"]}


def tree_settings():
    return {
        "sizes": {"train": config["probes"]["structural"].get("max_train")},
        "source": config["data"]["source"],
    }


def probe_inputs(metric, stimuli):
    """Inputs of a probe: the dump of all replicates, and the sentences that it was made from."""
    return {
        "dump": lambda wildcards: ACTIVATIONS.format(
            metric=metric, model=parse_model(wildcards.model), stimuli=stimuli
        ),
        "sentences": f"results/stimuli/{stimuli}.jsonl",
        "description": f"results/stimuli/{stimuli}.json",
        "sidecars": lambda wildcards: trained_on(parse_model(wildcards.model)),
        "scores": lambda wildcards: training_scores(parse_model(wildcards.model)),
        "commits": lambda wildcards: records(parse_model(wildcards.model)),
    }


def probe_settings(kind, name):
    model = parse_model(name)
    runs = runs_of(model)
    # Online codes are made of edge probes, and trained as these unless said otherwise.
    shared = config["probes"]["edge"] if kind == "mdl" else {}
    return {
        "probe": {**shared, **config["probes"][kind]},
        "tasks": edge_tasks(),
        "runs": {run.name: [run.init, run.seed] for run in runs},
        **{
            key: value
            for key, value in provenance(model).items()
            if key in ["model", "scale", "source", "checkpoints"]
        },
    }


def edge_probe_settings(wildcards):
    model = parse_model(wildcards.model)
    lexical = ["lexical", "word_only"] if model.is_checkpoint else []
    return {
        **probe_settings("edge", wildcards.model),
        "variants": ["mix", "top", *lexical],
        "folders": {run.name: run.folder for run in runs_of(model)},
    }


def delta_settings(wildcards):
    pairs = naming.pair_runs(*parse_comparison(wildcards), config)
    return {
        "model": wildcards.model,
        "reference": wildcards.reference,
        "pairs": [[[run.init, run.seed], [other.init, other.seed]] for run, other in pairs],
    }


# ---- Ablations
def ablation_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **provenance(model),
        "task": settings.task_settings(model, config)["task"],
        "runs": {run.folder: [run.init, run.seed] for run in runs_of(model)},
        "ablation": config["ablation"],
    }


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


def restored_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **parent_settings(wildcards),
        "task": settings.task_settings(model, config)["task"],
        "stimuli": model.task,
        "tokens": config["samples"]["svcca_tokens"],
        "max_length": config["samples"]["max_length"],
        "max_dev": config["ablation"]["max_dev"],
    }


# ---- Relations
def relation_source():
    """FrameNet, or sentences with relations marked: where, and whether that is the world, the hub or a mirror."""
    spec, data = config["relations"], config["data"]
    if not spec["source"] and data["source"] == "world":
        return f"{WORLD}/heads/relations.jsonl", "world"
    mirror = Path(data.get("mirror") or "")
    wanted = [spec["source"]] if spec["source"] else [mirror / file for file in spec["files"]]
    for path in wanted:
        if Path(path).exists():
            return str(path), "mirror"
    if not spec["source"] and data["source"] == "hub":
        return f"{CORPORA}/{spec['download']['url'].partition('://')[2]}", "hub"
    if spec["source"]:
        missing = f"relations.source: {spec['source']} does not exist"
    else:
        missing = f"data.mirror: {mirror} has none of {', '.join(spec['files'])}"
    raise WorkflowError(
        f"{missing}; fetch FrameNet 1.7 (python -m nltk.downloader -d FOLDER framenet_v17) and put it there, or set "
        "relations.source to where it is."
    )


def relation_settings(wildcards):
    runs = runs_of(parse_model(wildcards.model))
    replicates = {run.name: [run.init, run.seed] for run in runs}
    return provenance(parse_model(wildcards.model)) | {"runs": replicates}


# ---- Patterns of attention
def labelled_models():
    """The models whose maps are labelled."""
    names = (config["figures"].get("kovaleva2019", {}).get("figure2") or {}).get("models")
    if not names:
        raise WorkflowError(
            "results/patterns: maps to be labelled come from the models of figures.kovaleva2019.figure2, which lists none."
        )
    models = [parse_model(name) for name in names]
    if plain := [str(model) for model in models if not model.tasks]:
        raise WorkflowError(
            f"figures.kovaleva2019.figure2: {plain[0]} is not fine-tuned and has no inputs of its own; name a task's model."
        )
    return models


def sheet_settings():
    def one(model):
        shape, kept = naming.shape_of(config["bases"][model.base]), model.variant("keep")
        layers = int(kept["layers"]) if kept else shape["layers"]
        runs = {run.folder: [run.init, run.seed] for run in runs_of(model)}
        return {**provenance(model), "layers": layers, "heads": shape["heads"], "runs": runs}

    return {
        "models": {str(model): one(model) for model in labelled_models()},
        "maps": config["patterns"]["maps"],
        "max_length": config["samples"]["max_length"],
        "scale": config["scale"],
    }


def corrected_labels():
    path = config["patterns"]["labels"]
    if path and not Path(path).is_file():
        raise WorkflowError(
            f"patterns.labels: {path} does not exist; copy results/patterns/sheet/maps.tsv there and correct the labels."
        )
    return [path] if path else []


def pattern_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **provenance(model),
        "runs": {run.folder: [run.init, run.seed] for run in runs_of(model)},
        "max_examples": config["patterns"]["max_examples"],
        "max_length": config["samples"]["max_length"],
    }


# ---- Figures
PAPERS = {
    "kovaleva2019": "Kovaleva et al. 2019",
    "college2020": "BERT Goes to College 2020",
    "hao2020": "Hao et al. 2020",
    "merchant2020": "Merchant et al. 2020",
}


def figures_of(*papers):
    """Those that the configuration has models for; null leaves a figure out."""
    return [
        name
        for name, entry in catalogue.FIGURES.items()
        if entry.paper in papers and config["figures"].get(entry.paper, {}).get(entry.item)
    ]


@user_errors_as_sentences
def figure_tables(name):
    return catalogue.needs(name, config)


def published(paper):
    return f"config/published/{paper}.yaml"


def drawn(names, ending):
    return [f"results/figures/{name}.{ending}" for name in names]


def caption(name):
    entry = catalogue.FIGURES[name]
    return f"workflow/report/{entry.paper}_{entry.item}.rst"


# ---- What it will cost, and how far it is
COSTS = costs.read_table(ROOT / "config/costs.yaml")


def jobs_of(dag):
    """Jobs as the library knows them, without those that only name targets."""
    jobs = [job for job in dag.jobs if not job.is_norun]
    return [
        work.Job(
            dag.jobid(job),
            job.rule.name,
            wildcards=job.wildcards_dict,
            settings=json.loads(job.params.get("settings", "{}")),
            threads=job.threads,
            gpu=bool(job.resources.get("gpu")),
            output=tuple(map(str, job.output)),
            temporary=bool(job.temp_output),
            record=job.benchmark and str(job.benchmark),
            needed=dag.needrun(job),
            after=tuple(dag.jobid(other) for other in dag.dependencies[job] if not other.is_norun),
        )
        for job in jobs
    ]


def limits():
    """What this run may use at a time; of a cluster's GPUs only the limit on jobs is known."""
    if not workflow.local_exec:
        return costs.Resources(jobs=workflow.nodes, has_gpu=True)
    limit = workflow.global_resources.get("gpu")
    return costs.Resources(workflow.cores, limit and int(limit.value), has_gpu=bool(gpus.count()))


def planned():
    """Expected seconds of every job that is left, and until the last of them ends."""
    jobs, limited = jobs_of(workflow.dag), limits()
    expected = costs.estimate(jobs, config, COSTS, limited.has_gpu)
    seconds, _ = costs.simulate(jobs, expected, limited)
    return {job.number: expected[job.number].seconds for job in jobs if job.needed}, seconds


PLAN = "BERTSHIFT_PLAN"


def plan_command(wildcards):
    """This very command for all figures, as a dry run that knows what the real one may use."""
    rest = ["figures/all" if argument == "plan" else argument for argument in sys.argv[1:]]
    told = f"{PLAN}={json.dumps(asdict(limits()))}"
    quietly = ["--quiet", "rules", "progress", "--dry-run"]
    return shlex.join(["env", told, sys.executable, "-m", "snakemake", *quietly, *rest])


class Planner(logging.Handler):
    """Prints the plan as soon as the jobs are known; that is all that a dry run for a plan shows."""

    def emit(self, record):
        if getattr(record, "event", None) == LogEvent.RUN_INFO or record.msg == NOTHING_TO_BE_DONE_MSG:
            told = costs.Resources(**json.loads(os.environ[PLAN]))
            print(costs.plan(jobs_of(workflow.dag), config, COSTS, told))


if PLAN in os.environ:
    for handler in logger.handlers:
        handler.setLevel(logging.WARNING)
    logger.addHandler(Planner())
elif workflow.is_main_process:
    quietness = {"quietness": Quietness.PROGRESS}
    logger.addHandler(progress.Progress(planned, lambda line: logger.info(line, extra=quietness)))
