import atexit
import math
import os
import re
import sys
from dataclasses import asdict
from functools import cache, partial, wraps
from inspect import signature
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bertshift import config as settings, downloads, naming
from bertshift.errors import UserError
from bertshift.measures import MEASURES
from bertshift.papers import catalogue
from bertshift.papers.by_name import module_of
from bertshift.requests import comparing, figures, pretraining
from bertshift.requests.runs import (
    MODEL_FILES,
    WEIGHTS,
    both_sides,
    checkpoints,
    children,
    compared,
    each_side,
    folders,
    models,
    numbers,
    numbers_by_folder,
    numbers_by_name,
    numbers_of_pairs,
    of_task,
    outcomes,
    references,
    replicates,
    run_named,
    scored,
    task_of,
    trained,
    trainings,
    with_parents,
)
from bertshift.running import codegraph, gpus, own_files, warm
from bertshift.running.own_modules import modules_of_others
from bertshift.running.redaction import redact
from bertshift.shipped import ROOT, SCRIPTS

LIBRARY = codegraph.LIBRARY
if set("{}") & set(str(LIBRARY)):
    raise WorkflowError(
        f"{LIBRARY}: Snakemake takes braces in a path for wildcards; move this folder to a path without them."
    )
# In a clone, jobs import the clone's library, whatever is installed.
if SCRIPTS.parent == LIBRARY:
    python_path = [str(LIBRARY), os.environ.get("PYTHONPATH")]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, python_path)))
codegraph.recall(Path.cwd())
atexit.register(codegraph.keep, Path.cwd())  # figures' modules are read when a figure is asked for


def refusing(function):
    """Stop snakemake with one sentence where a function raises UserError, or cannot read a path of the user's.

    An exception of an input function would not stop it: where a result exists, Snakemake takes it for granted.
    """

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            sentence = str(error)
        except OSError as error:
            sentence = (
                f"{error.filename} cannot be read ({error.strerror}); correct the path, or who may read it."
            )
        logger.error(redact(sentence))
        sys.exit(1)

    return wrapped


refusing(own_files.check_writable)(Path.cwd())

# `--sdm apptainer` takes one image for all rules. Without it, Snakemake must not look for the image's file.
DEPLOYMENT_METHODS = {method.name for method in workflow.deployment_settings.deployment_method}
if "APPTAINER" in DEPLOYMENT_METHODS:
    IMAGE = ROOT / "envs/bertshift.sif"
    if not IMAGE.exists():
        raise WorkflowError(
            f"{IMAGE} does not exist; build it first: apptainer build envs/bertshift.sif envs/bertshift.def"
        )

    container: str(IMAGE)


EXPERIMENTS = "config/experiments.yaml"
# A workflow that uses this one as a module gives it the configuration.
READS_CONFIGURATION = not workflow.modifier.skip_configfile
# Snakemake names no line of a file that is not YAML, and takes the last of two equal keys.
if READS_CONFIGURATION:
    for file in map(Path, [EXPERIMENTS, *workflow.configfiles]):
        if file.exists():
            refusing(settings.read_yaml)(file)


configfile: EXPERIMENTS


if READS_CONFIGURATION:
    from_command_line = refusing(settings.on_command_line)(workflow.config_settings.config_args)
    config = settings.merge(config, from_command_line)
config = refusing(settings.load_config)(config, ROOT)
config = refusing(pretraining.with_known_commits)(config)
refusing(comparing.check_analyses)(config)
refusing(catalogue.check)(config)
config, warnings = refusing(catalogue.drawable)(config)
if workflow.is_main_process:
    for warning in warnings:
        logger.warning(warning)


refusing(settings.refuse)(own_files.misplaced(config))


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
    # No commas, as cluster jobs get their wildcards as a list.
    stimuli=r"[a-z0-9_+-]+",


def targets():
    """List what snakemake was asked for; a job on a cluster is asked for itself alone."""
    if not workflow.is_main_process:
        return []
    # A workflow that uses this one as a module has a default target of its own.
    default = ["figures/all"] if READS_CONFIGURATION else []
    return sorted(workflow.dag_settings.targets) or default


@cache
def selected(select, **names):
    """Select once for all inputs and settings of all jobs that name the same."""
    return select(config, **names)


def of_job(function, *selections):
    """Return a function of wildcards, as rules need it, from one of the configuration and of the wildcards that it names.

    of_job(outcomes, both_sides, compared): the outcomes of both sides of what is compared.
    """
    *functions, select = (function, *selections)
    taken = signature(select).parameters

    @refusing
    @cache
    def value(**wildcards):
        try:
            answer = selected(select, **wildcards)
            for function in reversed(functions):
                answer = function(config, answer)
            return answer
        except UserError as error:
            raise downloads.with_all_missing(error, targets(), config)

    def value_of_job(wildcards):
        names = dict(wildcards.items())
        if "stem" in names:  # a snapshot's path has its share inside of the model's name
            names["model"] = names.pop("stem") + names.pop("checkpoint")
        return value(**{name: text for name, text in names.items() if name in taken})

    return value_of_job


def path(pattern, **names):
    """Return what `collect` does, for one path. It may have the rule's wildcards too."""
    return lambda wildcards: pattern.format(
        **wildcards, **{name: function(wildcards) for name, function in names.items()}
    )


def given(function):
    """Return the files that this names. Some may be the user's own: they must be there, and may get another time without
    another content."""

    @refusing
    def files(wildcards):
        named = function(wildcards)
        own_files.check(named, config)
        if isinstance(named, str):
            return mark(named)
        return list(map(mark, named))

    def mark(path):
        return ancient(path) if own_files.is_own(path) else path

    return files


def settings_of(own=None, **values):
    """Return what else a rule's output depends on, one param a setting; another value makes the output again.

    Each is JSON with its name, as Snakemake compares params without their names. A value is a function of wildcards, a
    text that may have wildcards, or anything else as it is.
    own: a function that names files of which some are the user's own; their contents count.
    """

    def value_of(value, wildcards):
        if callable(value):
            return value(wildcards)
        return value.format(**wildcards) if isinstance(value, str) else value

    def setting(name, value):
        return lambda wildcards: settings.canonical({name: value_of(value, wildcards)})

    @refusing
    def own_contents(wildcards):
        return settings.canonical({"own": own_files.contents(own_files.among(own(wildcards)))})

    params = {name: setting(name, value) for name, value in values.items()}
    return params | {"own": own_contents} if own else params


@refusing
def code(*scripts, module=None, computes=(), draws=(), data=(), without=()):
    """Return a digest of what a rule's scripts do.

    The rule reruns where it changes; no comment and no fresh checkout changes it.

    data: files of the library that its modules read.
    computes: the measures whose ranges count, as their tables are made.
    draws: the measures whose records count, as their tables are drawn.
    without: modules of the library that do not count.
    """
    files = [SCRIPTS / f"{name}.py" for name in scripts]
    if module:
        files.append(LIBRARY / f"bertshift/{module}.py")
    files += [LIBRARY / name for name in data]
    known = {name: [MEASURES[name].ranges, MEASURES[name].counted] for name in computes}
    known |= {name: asdict(MEASURES[name]) for name in draws}
    return codegraph.digest(files, [LIBRARY / "bertshift" / name for name in without], known)


def code_for_model(*scripts, module=None, computes=(), model="{model}"):
    """Return the digest of `code` without what only models of other tasks and variants need."""

    digest = cache(partial(code, *scripts, module=module, computes=computes))

    @refusing
    def digest_of_job(wildcards):
        return digest(without=modules_of_others(model.format(**wildcards), config))

    return digest_of_job


def code_of_figure(wildcards):
    name = f"{wildcards.paper}/{wildcards.item}"
    return code("figure", module=f"papers/{module_of(name)}", draws=figures.measures_of([name], config))


def drawing_of_figure(wildcards):
    """Return what a paper's list says of how its figure is drawn."""
    figure = catalogue.FIGURES[f"{wildcards.paper}/{wildcards.item}"]
    return settings.canonical({"function": figure.drawn_by, "arguments": dict(figure.arguments)})


def code_of_claims(wildcards):
    drawn = figures.measures_of(figures.figures_of([wildcards.paper], config), config)
    return code("claims", module=f"papers/{wildcards.paper}/claims", draws=drawn)


def match_only(names):
    """Return a regular expression for these names, or for none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def minutes(kind):
    """Return the minutes that a job of this kind asks a cluster for, more with each attempt.

    Local runs ignore them.
    """
    return lambda wildcards, attempt: config["cluster"][kind]["minutes"] * attempt


def memory(kind):
    """Return the megabytes that a job of this kind asks a cluster for, as `minutes` does."""
    return lambda wildcards, attempt: math.ceil(1000 * config["cluster"][kind]["gb"]) * attempt
