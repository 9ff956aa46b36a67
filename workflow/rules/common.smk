import math
import os
import re
import sys
from functools import cache, wraps
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bertshift import config as settings, naming
from bertshift.errors import UserError
from bertshift.files import blocks_beside
from bertshift.measures.registry import METRICS
from bertshift.models.source import SOURCE
from bertshift.papers import catalogue
from bertshift.planning import costs
from bertshift.requests import comparing, pretraining
from bertshift.requests.runs import MODEL_FILES
from bertshift.running import codegraph, gpus, own_files, warm
from bertshift.running.redaction import redact

LIBRARY = codegraph.PACKAGE.parent
ROOT = LIBRARY.parent
codegraph.recall()
# {rule: its name here}. A workflow that uses this one as a module may rename its rules.
OURS = {}
FETCHING = ["dataset", "checkpoint", "corpus"]  # these reach a network, where the configuration says so


def know_rules():
    """When all rules are read."""
    OURS.update({proxy.rule: name for name, proxy in rules._rules.items()})
    codegraph.keep()


def sentences(function):
    """Turn a UserError into Snakemake's own error, which it prints without a traceback."""

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise WorkflowError(redact(str(error)))

    return wrapped


# The same pinned packages for those who do not use .venv: `--sdm conda`, or `--sdm apptainer` with an image built here.
# Snakemake looks for wildcards and spaces in both paths, used or not, and a clone may lie anywhere: so rules have only what
# is asked for. Its linter wants one of them.
ASKED = {method.name for method in workflow.deployment_settings.deployment_method}
ENVIRONMENT = str(ROOT / "envs/bertshift.yaml") if "CONDA" in ASKED else None
# Those have the packages, and the library from here.
if ASKED:
    os.environ["PYTHONPATH"] = str(LIBRARY)
IMAGE = ROOT / "envs/bertshift.sif"
if "APPTAINER" in ASKED and not IMAGE.exists():
    raise WorkflowError(
        f"{IMAGE} does not exist; build it first: apptainer build envs/bertshift.sif envs/bertshift.def"
    )
if "APPTAINER" in ASKED or "--lint" in sys.argv:

    container: str(IMAGE)


EXPERIMENTS = "config/experiments.yaml"
# A workflow that uses this one hands its configuration over.
ALONE = not workflow.modifier.skip_configfile
# Snakemake would not say which line is not YAML, and of a key that stands twice it takes the last.
for file in filter(Path.exists, map(Path, [EXPERIMENTS, *workflow.configfiles] if ALONE else [])):
    sentences(settings.read_yaml)(file)


configfile: EXPERIMENTS


if ALONE:
    typed = sentences(settings.on_command_line)(workflow.config_settings.config_args)
    config = settings.merge(config, typed)
config = pretraining.with_known_commits(sentences(settings.load_config)(config, ROOT))
sentences(comparing.check_analyses)(config)
sentences(catalogue.check)(config)
config, left_out = sentences(catalogue.drawable)(config)
for sentence in left_out if workflow.is_main_process else ():
    logger.warning(sentence)


sentences(settings.refuse)(own_files.misplaced(config))


wildcard_constraints:
    base=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    init=r"\d+",
    seed=r"\d+",
    paper="|".join(catalogue.PAPERS),
    item=r"[a-z0-9_]+",
    model=r"(?:(?!_vs_)[^/])+?",
    reference=r"[^/]+",
    stimulus=r"[a-z0-9_+]+",
    sweep="|".join(naming.SWEEPS),
    # Not joined by commas: cluster jobs are told their wildcards as a list.
    stimuli=r"[a-z0-9_+-]+",


@cache
def answer_to(request):
    """A request's answer as a function of wildcards, as rules need it. Each answer is worked out once."""

    @sentences
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


@sentences
def code(*scripts, module=None, records=()):
    """A digest of what a rule's scripts do, and their names. Where it changes, the rule reruns; no comment and no fresh
    checkout changes it. Each job compares it with the code that it has loaded.

    records: the metrics of two models whose records count, as the rule computes or reads their tables.
    """
    modules = [*([module] if module else []), *(f"measures/{name}" for name in sorted(records))]
    files = [LIBRARY / "scripts" / f"{name}.py" for name in scripts]
    return codegraph.digest([*files, *(LIBRARY / "bertshift" / f"{name}.py" for name in modules)])


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


def priority_of(name):
    """Of the jobs that are ready, those of a later stage start first: a figure is drawn as soon as it can be, and no
    activations wait longer than they must. Only data come before all: what needs them would wait for every pretraining.
    """
    return costs.stage(name, COSTS) or len(COSTS["stages"])


def made_by(
    request,
    *files,
    name=None,
    program=None,
    depends=None,
    kind="analyse",
    gpu=0,
    dumped=None,
    log=None,
    where=None,
    **named,
):
    """The rule that makes these files as the request says. It has the request's name, unless told.

    program: the script's name, by default the rule's; called `script`, it would hide what Snakemake runs scripts by.
    depends: what the files depend on beside those that are read; by default the script's code and the request's settings.
    kind and dumped are those of `reserve`; kind None is a job on the machine that starts the others.
    where: constraints of wildcards. log: where below logs/, without its ending; by default it has the names of the rule
    and of the first file.
    """
    name, program = name or request.__name__, program or name or request.__name__
    log = log or f"{name}/{Path([*files, *named.values()][0]).stem}"
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
        priority: priority_of(name)
        localrule: not kind
        conda:
            ENVIRONMENT
        threads: config["threads"][KEY_OF_THREADS[kind]] if kind in KEY_OF_THREADS else 1
        resources:
            **asked,
        params:
            **(
                depends
                or {"code": code(program, records={name} & METRICS.keys()), "settings": settings_of(request)}
            ),
        script:
            f"../scripts/{program}.py"


# Snakemake's linter wants functions apart from rules.
include: "planning.smk"
