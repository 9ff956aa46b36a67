import math
import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError


include: "place.smk"


sys.path.insert(0, str(LIBRARY))


include: "hooks.smk"


from bertshift import config as settings, naming
from bertshift.files import blocks_beside
from bertshift.measures.registry import METRICS
from bertshift.models.source import SOURCE
from bertshift.papers import catalogue
from bertshift.planning import costs
from bertshift.requests import comparing, forgetting, pretraining
from bertshift.requests.runs import MODEL_FILES
from bertshift.running import codegraph, own_files

# Scripts run in their own process, on this machine or on a cluster node, where this file is parsed again.
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")])))

# The same pinned packages for those who do not use .venv: `--sdm conda`, or `--sdm apptainer` with an image built here.
# `complete_rules` gives it to all rules that run a script.
ENVIRONMENT = str(ROOT / "envs/bertshift.yaml")
IMAGE = ROOT / "envs/bertshift.sif"
if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method and not IMAGE.exists():
    raise WorkflowError(
        f"{IMAGE} does not exist; build it first: apptainer build envs/bertshift.sif envs/bertshift.def"
    )


container: str(IMAGE)


EXPERIMENTS = "config/experiments.yaml"
# A workflow that uses this one hands its configuration over.
ALONE = not workflow.modifier.skip_configfile
# Snakemake would not say which line is not YAML, and of a key that stands twice it takes the last.
for file in filter(Path.exists, map(Path, [EXPERIMENTS, *workflow.configfiles] if ALONE else [])):
    user_errors_as_sentences(settings.read_yaml)(file)


configfile: EXPERIMENTS


if ALONE:
    typed = user_errors_as_sentences(settings.on_command_line)(workflow.config_settings.config_args)
    config = settings.merge(config, typed)
config = pretraining.with_known_commits(user_errors_as_sentences(settings.load_config)(config, ROOT))
user_errors_as_sentences(comparing.check_analyses)(config)
user_errors_as_sentences(catalogue.check)(config)
config, headless = user_errors_as_sentences(forgetting.without_headless)(config)
for sentence in headless if workflow.is_main_process else ():
    logger.warning(sentence)


CHECKS.append(lambda: settings.refuse(own_files.misplaced(config, is_made, is_folder_of_job)))


wildcard_constraints:
    base=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    init=r"\d+",
    seed=r"\d+",
    paper="|".join(catalogue.ROOMS),
    model=r"(?:(?!_vs_)[^/])+?",
    reference=r"[^/]+",
    stimulus=r"[a-z0-9_+]+",
    sweep="|".join(naming.SWEEPS),
    # Not joined by commas: cluster jobs are told their wildcards as a list.
    stimuli=r"[a-z0-9_+-]+",


@cache
def answer_to(request):
    """A request's answer as a function of wildcards, as rules need it. Each answer is worked out once."""

    @user_errors_as_sentences
    @cache
    def answer(**wildcards):
        return request(config, **wildcards)

    return lambda wildcards: answer(**dict(wildcards.items()))


def inputs_of(request):
    """The files that a job reads. Those of the user's own may get another time without another content."""

    def untimed(files):
        if isinstance(files, list):
            return [untimed(file) for file in files]
        return ancient(files) if own_files.is_own(files) else files

    return unpack(
        lambda wildcards: {
            name: untimed(files) for name, files in answer_to(request)(wildcards).inputs.items()
        }
    )


def settings_of(request):
    """What else its output depends on: another value makes it again."""

    def all_of(wildcards):
        answer = answer_to(request)(wildcards)
        if own := own_files.among(answer.inputs):
            answer = answer.plus(own=own_files.contents(own))
        return settings.canonical(answer.settings)

    all_of.request = request  # for the plan
    return all_of


def depends_on(request):
    """What the output of most rules depends on beside files: the script of the request's name, and its settings."""
    name = request.__name__
    return {"code": code(name, records={name} & METRICS.keys()), "settings": settings_of(request)}


@user_errors_as_sentences
def code(*scripts, module=None, records=()):
    """A digest of what a rule's scripts do, and their names. Where it changes, the rule reruns; no comment and no fresh
    checkout changes it. Each job compares it with the code that it has loaded.

    records: the metrics of two models whose records count, as the rule computes or reads their tables.
    """
    modules = [*([module] if module else []), *(f"measures/{name}" for name in sorted(records))]
    files = [LIBRARY / "scripts" / f"{name}.py" for name in scripts]
    return codegraph.told([*files, *(LIBRARY / "bertshift" / f"{name}.py" for name in modules)])


def only(names):
    return "|".join(map(re.escape, names)) or "(?!)"


def reserve(kind, dumped=None):
    """Minutes and memory that a job of this kind asks a cluster for, more with each attempt. Local runs ignore both.

    dumped: where the plan counts what is deleted again, "disk" if other jobs read it and "scratch" if the job itself does.
    Only this counts as `disk_mb`, as the rest of what it writes stays.
    """

    def asked(which):
        return lambda wildcards, rulename, threads, attempt: which(
            expected(rulename, tuple(wildcards.items()), threads), config["cluster"], kind, attempt
        )

    def deleted(wildcards, rulename, threads):
        return math.ceil(getattr(expected(rulename, tuple(wildcards.items()), threads), dumped) / costs.MB)

    return {
        "disk_mb": deleted if dumped else 0,
        "runtime": asked(costs.minutes),
        "mem_mb": asked(costs.megabytes),
    }


# Under which key the configuration says how many threads a kind of job has; other kinds have one.
KEY_OF_THREADS = {"train": "train", "analyse": "analyse", "probe": "analyse"}


def with_blocks(table):
    """The table, and beside it what its numbers are without each block of inputs."""
    return [table, blocks_beside(table)]


def named(files):
    """Files by their names without endings: with --cache, Snakemake shares only outputs that have names."""
    return {Path(file).stem: file for file in files}


def made_by(request, *files, kind="analyse", gpu=0, dumped=None, log=None, where=None, **named):
    """The rule of the request's name, which makes these files by the script of that name.

    kind and dumped are those of `reserve`; kind None is a job on the machine that starts the others.
    where: constraints of wildcards. log: where below logs/, without its ending; by default it has the names of the rule
    and of the first file.
    """
    name, first = request.__name__, [*files, *named.values()][0]
    log = log or f"{name}/{Path(first).stem}"
    asked = {**reserve(kind, dumped), **({"gpu": gpu} if gpu else {})} if kind else {}

    rule:
        name:
            name
        input:
            inputs_of(request),
        output:
            *files,
            **named,
        log:
            f"logs/{log}.log",
        wildcard_constraints:
            **(where or {}),
        localrule: not kind
        threads: config["threads"][KEY_OF_THREADS[kind]] if kind in KEY_OF_THREADS else 1
        resources:
            **asked,
        params:
            **depends_on(request),
        script:
            f"../scripts/{name}.py"


# Snakemake's linter wants functions apart from rules.
include: "planning.smk"
