# Where the workflow reaches into Snakemake beyond what Snakemake documents, all in this file and in place.smk.
# tests/dag/test_hooks.py says in words which of these names a new Snakemake has changed.
import os
import sys
import time
from contextlib import ExitStack
from functools import cache, wraps
from itertools import chain
from pathlib import Path
from subprocess import CalledProcessError

from snakemake.benchmark import benchmarked
from snakemake.exceptions import MissingRuleException, WorkflowError
from snakemake.io import strip_wildcard_constraints
from snakemake.iocontainers import Wildcards
from snakemake.logging import logger
from snakemake.output_index import OutputIndex
from snakemake.persistence import ParamsChange
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.script import PythonScript
from snakemake.settings.enums import RerunTrigger
from snakemake.settings.types import DeploymentMethod
from snakemake_interface_executor_plugins.settings import ExecMode

from bertshift import suggestions
from bertshift.errors import UserError
from bertshift.files import BLOCKS_ENDING
from bertshift.running import codegraph, driver, gpus
from bertshift.running.disk import Reader, next_files, unread
from bertshift.running.preloaded import THREADS, Forker
from bertshift.running.redaction import redact

BEGUN = time.time()
codegraph.recall()

# {rule: its name here}. A workflow that uses this one as a module may rename its rules, and has rules of its own, which are
# left alone. Where it changes rules, this file is read once more.
OURS = vars(workflow).setdefault("bertshift", {})
READ_BEFORE = bool(OURS)
MODIFIER = workflow.modifier
if MODIFIER.path_modifier.prefix or MODIFIER.path_modifier.modifies_prefixes:
    raise WorkflowError(
        "module bertshift: leave out prefix and replace_prefix, as results tell by their paths what they were made from; "
        "to keep them apart, work in a folder of its own (snakemake --directory)."
    )


def know_rules():
    """When all rules are read."""
    OURS.update({proxy.rule: name for name, proxy in rules._rules.items()})


def is_ours(job):
    return job.rule in OURS


def user_errors_as_sentences(function):
    """Turn a UserError into Snakemake's own error, which it prints without a traceback."""

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise WorkflowError(redact(str(error)))

    return wrapped


# ---- What every rule with a script has


def complete_rules():
    """Every rule with a script gets the environment of all and, beside its log, a record of what each of its jobs cost.

    Snakemake looks for wildcards and spaces in the paths of environments, used or not, and a clone may lie anywhere: so
    rules have only what is asked for.
    Of the jobs that are ready, those of a later stage start first: a figure is drawn as soon as it can be, and no
    activations wait longer than they must. Only data come before all: what needs them would wait for every pretraining.
    Snakemake itself has no defaults for rules.
    """
    shared = workflow.workflow_settings.cache or ()
    asked = workflow.deployment_settings.deployment_method
    for each, name in OURS.items():
        if DeploymentMethod.APPTAINER not in asked:
            each.container_img = None
        if each.script:
            each.priority = costs.stage(name, COSTS) or len(COSTS["stages"])
            each.conda_env = ENVIRONMENT if DeploymentMethod.CONDA in asked else None
            # Snakemake shares no output between folders (--cache) whose rule has a record of costs.
            if each.name not in shared:
                each.benchmark_modifier = each.log_modifier
                each.benchmark = each.log[0].replace(".log", ".cost.tsv")


# ---- What one configuration made never passes for another's
# Snakemake trusts outputs of which it has no record, and outputs whose rule cannot make them any more. Both may be of
# another configuration. The first are made again; at the second, the command stops.

# The rules whose parameters and inputs tell all that their outputs hold: of others, --cache would take one's for another's.
SHARED = ["dataset", "checkpoint", "corpus", "vocabulary", "pretrain"]
NEEDED_TRIGGERS = {RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT}


def check_options():
    """Refuse options under which Snakemake does not look at what an output was made from."""
    if workflow.dag_settings.allowed_rules:
        raise WorkflowError(
            "--allowed-rules cannot tell what an input was made from; name files as targets instead."
        )
    cached = workflow.workflow_settings.cache or ()
    if refused := sorted(
        each.name for each, name in OURS.items() if each.name in cached and name not in SHARED
    ):
        raise WorkflowError(
            f"--cache cannot share what {' and '.join(refused)} makes; name some of {', '.join(SHARED)}."
        )
    if missing := sorted(trigger.name.lower() for trigger in NEEDED_TRIGGERS - workflow.rerun_triggers):
        raise WorkflowError(
            f"--rerun-triggers leaves out {' and '.join(missing)}: results of another configuration would pass for "
            "this one's. Leave the option away, or accept what is there with --touch."
        )


# What is looked at before jobs are planned; common.smk adds what needs the configuration.
CHECKS = [check_options]


def distrust(persistence):
    """Let an output without a record count as changed."""
    params_changed, has_metadata = persistence.params_changed, persistence.has_metadata

    @wraps(params_changed)
    def wrapped(job, file=None):
        if not is_ours(job):
            return params_changed(job, file=file)
        files = job.output if file is None else [file]
        unknown = {str(f) for f in files if os.path.exists(f) and persistence.metadata(f) is None}
        changes = params_changed(job, file=file)
        return changes | ParamsChange({"no record of what made it"}, set(), unknown) if unknown else changes

    persistence.params_changed = wrapped
    # Or Snakemake compares no output of a job where one lacks a record.
    persistence.has_metadata = lambda job: is_ours(job) or has_metadata(job)


@cache
def output_index():
    return OutputIndex(list(workflow.rules))


def makers_of(file):
    """The rules that make a file."""
    return output_index().match_producers(file)


def check_leftovers(dag):
    for job in dag.jobs:
        made = set(chain.from_iterable(dag.dependencies[job].values()))
        for file in (f for f in job.input if f not in made):
            if found := leftover(file):
                raise WorkflowError(
                    f"{found[0]} was made under another configuration, and cannot be made under this one: {found[1]}"
                )


def leftover(file):
    """(file, reason) of the first one, on the way to `file`, that a rule should make and cannot."""
    for maker in filter(OURS.__contains__, makers_of(file)):
        try:
            wanted, *_ = maker.expand_input(Wildcards(fromdict=dict(maker.get_wildcards(file))))
        except Exception as error:  # noqa: BLE001 - Snakemake wraps what an input function raises
            return file, error.__context__ or error
        for below in wanted:
            if found := leftover(below):
                return found
            if not os.path.exists(below) and not makers_of(below):
                return file, f"{below} is missing."
    return None


# ---- The user's own files lie where no job writes

# What these make is data, which a configuration may name.
MAKING_DATA = ("world", "corpus")


def is_made(file):
    """Whether a job of this workflow makes it, other than data."""
    return any(maker in OURS and OURS[maker] not in MAKING_DATA for maker in makers_of(file))


def is_folder_of_job(path):
    """Whether a job has the folder for itself: it makes the folder, or files of fixed names in it."""

    def holds(output):
        folder, name = os.path.split(strip_wildcard_constraints(str(output)))
        return output.match(f"{path}/{name}") if "{" in folder and "{" not in name else False

    return any(
        output.match(path) if output.is_directory else holds(output)
        for rule in OURS
        for output in rule.output
    )


# ---- Names that no rule makes


def unknown_targets():
    """The files asked for that no rule makes and that do not exist."""
    return [
        target
        for target in workflow.dag_settings.targets
        if not workflow.is_rule(target) and not Path(target).exists() and not makers_of(target)
    ]


def told_of(target):
    """What to write in place of a target that no rule makes."""
    if told := figures.not_drawn(config, target):
        return told
    files = [strip_wildcard_constraints(str(file)) for rule in workflow.rules for file in rule.output]
    files = [file for file in files if not file.endswith(BLOCKS_ENDING)]
    names = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    return suggestions.nearest_target(target, files, names, makers_of)


def explaining(build_dag):
    """Mistakes that only show when all rules are known get a sentence."""

    @wraps(build_dag)
    def wrapped():
        try:
            build_dag()
        except MissingRuleException:
            if targets := unknown_targets():
                raise WorkflowError("\n".join(map(told_of, targets)))
            raise
        check_leftovers(workflow.dag)

    return wrapped


# ---- Temporary files


def within_disk(select):
    """Snakemake counts a job's disk_mb until the job ends. Here a writer of temporary files counts until they are deleted."""

    @wraps(select)
    def wrapped(scheduler, jobs):
        if "disk_mb" not in scheduler.global_resources:
            return select(scheduler, jobs)
        dag = scheduler.workflow.dag
        running = temporary(scheduler.running)
        writers = {job for job in temporary(jobs) if any(map(dag.needrun, dag.depending[job]))}
        there = {
            job for job in temporary(dag.jobs) - running if any(Path(f).exists() for f in job.temp_output)
        }
        readers = []
        for reader in {job for writer in writers for job in dag.depending[writer] if dag.needrun(job)}:
            before = dag.dependencies[reader]
            left = {job for job in before if not dag.noneedrun_finished(job)}
            # No file is made while its reader still waits for anything else, such as a training.
            if left <= writers | running:
                readers.append(Reader(sizes(left & writers), begun=not (running | there).isdisjoint(before)))
        room = scheduler.resources["disk_mb"] - sum(sizes(there).values())
        alone = not scheduler.running and writers.issuperset(jobs)
        now = next_files(readers, room, alone)
        return select(scheduler, [job for job in jobs if job not in writers or job in now])

    return wrapped


def worth_starting(open_jobs):
    """Leave out of the jobs that are ready those whose temporary files nobody will read, as a job failed (--keep-going).

    Snakemake ends when no job is ready and none runs: it would wait for ever for those, as `within_disk` chooses none.
    """

    def wrapped(scheduler):
        jobs, dag = open_jobs(scheduler), scheduler.workflow.dag
        if not scheduler.failed:
            return jobs
        failed = chain.from_iterable(job if job.is_group() else [job] for job in scheduler.failed)
        vain = unread(temporary(dag.jobs), failed, lambda job: [*filter(dag.needrun, dag.depending[job])])
        return [job for job in jobs if job not in vain]

    return wrapped


def temporary(jobs):
    # Groups of jobs have neither.
    return {job for job in jobs if getattr(job, "temp_output", None) and is_ours(job)}


def sizes(jobs):
    return {job: job.scheduler_resources.get("disk_mb", 0) for job in jobs}


# ---- Drivers: the snakemake processes that work in this folder


@cache  # a report after the run plans its jobs again
def take_over():
    """Before a real run plans its jobs: end and clear away what a driver that died left in this folder.

    UserError while one is alive.
    """
    slurm = workflow.executor_settings
    submits = hasattr(slurm, "jobname_prefix")
    name = driver.begin(Path.cwd(), submits, logger.warning)
    driver.stop_jobs_when_interrupted(name, logger.warning)
    if submits:
        slurm.jobname_prefix = "_".join(filter(None, [slurm.jobname_prefix, name]))


def unlocking(unlock):
    """Lift no lock of a run that is alive."""

    @wraps(unlock)
    @user_errors_as_sentences
    def wrapped():
        driver.dead_drivers(Path.cwd())  # or an error that names the one that is alive
        unlock()

    return wrapped


def recording(finished):
    """Let a cluster job record what made its files. Its driver does so too, but may have died meanwhile."""

    @wraps(finished)
    async def wrapped(job):
        if not is_ours(job):
            return await finished(job)
        mode, workflow.workflow_settings.exec_mode = workflow.exec_mode, ExecMode.DEFAULT
        try:
            await finished(job)
        finally:
            workflow.workflow_settings.exec_mode = mode

    return wrapped


def agreeing(finished):
    """Let a job fail whose node saw other code, settings or own files than the driver, whose record names what it planned."""

    @wraps(finished)
    async def wrapped(job):
        persistence = workflow.persistence
        for file in job.output if is_ours(job) and not job.is_local else ():
            record = persistence.metadata(file)
            of_this_run = record and record.endtime and record.endtime > BEGUN
            if of_this_run and record.params != persistence._params(job):
                persistence.cleanup(job)  # Snakemake calls this once more, for a job that failed
                raise WorkflowError(
                    f"{file} was made from other code, settings or files of your own than this run had been planned "
                    "with; call the same command again."
                )
        await finished(job)

    return wrapped


# What Snakemake limits its jobs to where nobody asks for a limit: jobs, and seconds.
DEFAULT_RATE = (100, 1)


def drop_default_rate():
    """Take the default job rate limit away, which costs more than it saves, before the scheduler is made.

    With a limit, each pass of the scheduler starts a timer for another pass, which starts the next, and none ever ends:
    after some hundred jobs they take half a core, and the end of a run waits for them. No option says "no limit".
    """
    scheduling = workflow.scheduling_settings
    limit = scheduling and scheduling.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == DEFAULT_RATE:
        object.__setattr__(scheduling, "max_jobs_per_timespan", None)  # the class is frozen


# ---- The start of jobs

FORKER = Forker()
# Fewer jobs do not win back what the process takes to import the library.
ENOUGH_TO_FORK = 8


def forking(execute_script):
    """Start a job of one thread on this machine's CPU as a fork of a process that has imported the library."""

    @wraps(execute_script)
    def wrapped(script, fname, edit=False):
        elsewhere = script.conda_env or script.container_img or script.env_modules
        # The hub's libraries look once, when they are imported, whether they may download.
        alone = elsewhere or edit or OURS.get(workflow.get_rule(script.rulename)) in (None, *FETCHING)
        few = len(workflow.dag) < ENOUGH_TO_FORK
        if few or alone or script.threads != THREADS or gpus.given():
            return execute_script(script, fname, edit)
        folders = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), script.resources.get("tmpdir"))
        with ExitStack() as measured:
            status = FORKER.run(
                os.path.abspath(fname),
                {name: str(folder) for name, folder in folders.items() if folder},
                lambda process: measured.enter_context(benchmarked(process, script.bench_record)),
            )
        if status is None:
            return execute_script(script, fname, edit)
        if status:
            raise CalledProcessError(status, f"python {fname}")

    return wrapped


# ---- Downloads

# The rules that reach a network, where the configuration says so.
FETCHING = ["dataset", "checkpoint", "corpus"]


def fetched(wildcards):
    """The downloads among all that figures/all is made from: each file's rule is asked for its inputs, as Snakemake does."""
    queue, seen, found = [(rules._rules["figures/all"].rule, ())], set(), []
    while queue:
        maker, wildcards = queue.pop()
        for file in maker.expand_input(Wildcards(fromdict=dict(wildcards)))[0]:
            for below in makers_of(file):
                job = below, tuple(below.get_wildcards(file).items())
                if job not in seen:
                    seen.add(job)
                    queue.append(job)
                    if OURS.get(below) in FETCHING:
                        found.append(file)
    return found


# ---- In place of Snakemake's own


def preparing(prepare_dag):
    """What drivers and cluster jobs do when the rules are known and before jobs are planned.

    A command that makes no files may look on beside a driver at work, without a lock.
    """

    @wraps(prepare_dag)
    @user_errors_as_sentences
    def wrapped(*args, lock_warn_only, nolock=False, **more):
        complete_rules()
        drop_default_rate()
        if not workflow.is_main_process:
            prepare_dag(*args, lock_warn_only=lock_warn_only, nolock=nolock, **more)
            workflow.persistence.finished = recording(workflow.persistence.finished)
            return
        for check in CHECKS:
            check()
        codegraph.keep()
        looks_on = lock_warn_only or set(workflow.dag_settings.targets) == {MODIFIER.modify_rulename("plan")}
        if looks_on:
            for other in driver.at_work(Path.cwd()):
                logger.info(f"{other} is at work in this folder: what it is making now counts as not made.")
        elif workflow.executor_plugin and not nolock:
            take_over()
        prepare_dag(*args, lock_warn_only=lock_warn_only, nolock=nolock or looks_on, **more)
        distrust(workflow.persistence)
        if not workflow.local_exec:
            workflow.persistence.finished = agreeing(workflow.persistence.finished)

    return wrapped


if not READ_BEFORE:
    logger.addFilter(driver.keep_telling_logs)
    workflow.unlock = unlocking(workflow.unlock)
    workflow._prepare_dag = preparing(workflow._prepare_dag)
if workflow.is_main_process and not READ_BEFORE:
    JobScheduler.job_selector = within_disk(JobScheduler.job_selector)
    JobScheduler.open_jobs = property(worth_starting(JobScheduler.open_jobs.fget))
    workflow._build_dag = explaining(workflow._build_dag)
    # Elsewhere a process that has imported torch cannot fork.
    if sys.platform == "linux" and workflow.local_exec:
        PythonScript.execute_script = forking(PythonScript.execute_script)
