# Where the workflow reaches into Snakemake beyond what that documents, all here and in place.smk. Each hook says what goes
# wrong without it, where in snakemake/ that comes from, and the newest version that it is known to work with: pyproject.toml
# allows no newer one. tests/dag/test_hooks.py says in words which names a new one has changed.
import os
import sys
import time
from functools import cache, wraps
from pathlib import Path
from subprocess import CalledProcessError

from snakemake.exceptions import MissingRuleException, WorkflowError
from snakemake.io import strip_wildcard_constraints
from snakemake.iocontainers import Wildcards
from snakemake.logging import logger
from snakemake.output_index import OutputIndex
from snakemake.persistence import ParamsChange, PersistenceBase
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.script import PythonScript
from snakemake_interface_executor_plugins.settings import ExecMode

from bertshift import suggestions
from bertshift.errors import UserError
from bertshift.files import BLOCKS_ENDING
from bertshift.running import codegraph, driver, gpus, makers, options
from bertshift.running.disk import Reader, next_files
from bertshift.running.preloaded import THREADS, Forker
from bertshift.running.redaction import redact

BEGUN = time.time()
codegraph.recall()
logger.addFilter(driver.keep_telling_logs)
logger.addFilter(options.advise)  # Workflow.log_provenance_info in workflow.py, 9.27.1
# {rule: its name here}. A workflow that uses this one as a module may rename its rules, and has its own, which are left
# alone; where it changes rules, this file is read once more (ModuleInfo.use_rules in modules.py, 9.27.1).
OURS = vars(workflow).setdefault("bertshift", {})
READ_BEFORE, MODIFIER = bool(OURS), workflow.modifier
if MODIFIER.path_modifier.prefix or MODIFIER.path_modifier.modifies_prefixes:
    raise WorkflowError(
        "module bertshift: leave out prefix and replace_prefix, as results tell by their paths what they were made from; "
        "to keep them apart, work in a folder of its own (snakemake --directory)."
    )
CACHED = workflow.workflow_settings.cache or ()
FETCHING = ["dataset", "checkpoint", "corpus"]  # these reach a network, where the configuration says so
FORKER, ENOUGH_TO_FORK = Forker(), 8  # fewer jobs do not win back what it takes to import the library
CHECKS = []  # what is looked at before jobs are planned; common.smk adds what needs the configuration


def know_rules():
    """When all rules are read."""
    OURS.update({proxy.rule: name for name, proxy in rules._rules.items()})


def is_ours(job):
    return workflow.is_main_process and job.rule in OURS


def in_place_of(owner, name):
    """Put a function in the place of `owner.name`; its first argument is what stood there."""

    def put(hook):
        before = getattr(owner, name)
        after = lambda *args, **more: hook(before, *args, **more)
        if not READ_BEFORE:
            setattr(owner, name, property(after) if isinstance(before, property) else after)

    return put


def user_errors_as_sentences(function):
    """Turn a UserError into Snakemake's own error, which it prints without a traceback."""

    @wraps(function)  # Snakemake reads the signature
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise WorkflowError(redact(str(error)))

    return wrapped


# Snakemake takes options under which it does not look at what an output was made from (Workflow._prepare_dag in workflow.py
# and DAG.update_needrun in dag.py, 9.27.1).
@CHECKS.append
def check_options():
    triggers = {trigger.name.lower() for trigger in workflow.rerun_triggers}
    cached = {rule.name: name for rule, name in OURS.items() if rule.name in CACHED}
    options.check(workflow.dag_settings.allowed_rules, cached, triggers)


# Snakemake trusts an output of which it has no record, and compares no output of a job where one lacks a record
# (PersistenceBase.params_changed and has_metadata in persistence/__init__.py, 9.27.1).
@in_place_of(PersistenceBase, "params_changed")
def distrusting(params_changed, persistence, job, file=None):
    files = (job.output if file is None else [file]) if is_ours(job) else ()
    unknown = {str(f) for f in files if os.path.exists(f) and persistence.metadata(f) is None}
    reason = {"no record of what made it"} if unknown else set()
    return params_changed(persistence, job, file=file) | ParamsChange(only_old=reason, files=unknown)


in_place_of(PersistenceBase, "has_metadata")(lambda known, *args: is_ours(args[1]) or known(*args))


# Snakemake tells nobody which rules make a file, and what from, before it plans (OutputIndex.match_producers in
# output_index.py, Rule.expand_input in rules.py, 9.27.1).
@cache
def output_index():
    return OutputIndex(list(workflow.rules))


def makers_of(file):
    return output_index().match_producers(file)


def read_by(maker, file):
    return maker.expand_input(Wildcards(fromdict=maker.get_wildcards(file)))[0] if maker in OURS else []


def outputs_of(rules):
    """{file as rules name it, with {wildcards}: whether it is a folder}."""
    return {strip_wildcard_constraints(str(f)): f.is_directory for rule in rules for f in rule.output}


def told_of(target):
    """What to write in place of a target that no rule makes."""
    forms = [file for file in outputs_of(workflow.rules) if not file.endswith(BLOCKS_ENDING)]
    names = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    return figures.not_drawn(config, target) or suggestions.nearest_target(target, forms, names, makers_of)


def asked_for():
    """The files that the targets are or, where a target is a rule, that the rule reads."""
    targets = workflow.dag_settings.targets or [workflow.default_target]
    rules = [workflow.get_rule(one) for one in targets if workflow.is_rule(one)]
    read = (file for rule in rules for file in rule.expand_input(Wildcards(fromdict={}))[0])
    return [*(one for one in targets if not workflow.is_rule(one)), *read]


# Snakemake names nothing near a target that no rule makes, of all that is missing only the first, and takes what exists for the
# user's own where its rule cannot make it (DAG.init and DAG.update in dag.py, called by Workflow._build_dag in workflow.py, 9.27.1).
@in_place_of(workflow, "_build_dag")
@user_errors_as_sentences
def explaining(build_dag):
    try:
        build_dag()
    except MissingRuleException:
        known = workflow.is_rule, os.path.exists, makers_of
        targets = [one for one in workflow.dag_settings.targets if not any(knows(one) for knows in known)]
        if targets and workflow.is_main_process:
            raise UserError("\n".join(map(told_of, targets)))
        raise
    except WorkflowError:
        if workflow.is_main_process:
            makers.check_all(asked_for(), makers_of, read_by)
        raise
    for job in workflow.dag.jobs if workflow.is_main_process else ():
        made = workflow.dag.dependencies[job].values()
        makers.check_leftovers(set(job.input).difference(*made), makers_of, read_by)


# Snakemake counts a job's disk_mb until the job ends. Its temporary files lie there until those who read them have ended,
# and would fill the disk (JobScheduler.open_jobs in scheduling/job_scheduler.py, 9.27.1).
@in_place_of(JobScheduler, "open_jobs")
def within_disk(open_jobs, scheduler):
    sizes = lambda jobs: {job: job.scheduler_resources.get("disk_mb", 0) for job in jobs}
    # Groups of jobs have none.
    temporary = lambda jobs: {job for job in jobs if getattr(job, "temp_output", None) and is_ours(job)}
    ready, dag = open_jobs.fget(scheduler), scheduler.workflow.dag
    if scheduler.dryrun or "disk_mb" not in scheduler.global_resources:
        return ready
    running = temporary(scheduler.running)
    writers = {job for job in temporary(ready) if any(map(dag.needrun, dag.depending[job]))}
    there = {job for job in temporary(dag.jobs) - running if any(map(os.path.exists, job.temp_output))}
    readers = []
    for reader in filter(dag.needrun, {reader for writer in writers for reader in dag.depending[writer]}):
        before = dag.dependencies[reader]
        left = {job for job in before if not dag.noneedrun_finished(job)}
        # No file is made while its reader still waits for anything else, such as a training, or a job that failed.
        if left <= writers | running:
            readers.append(Reader(sizes(left & writers), begun=not (running | there).isdisjoint(before)))
    room = scheduler.resources["disk_mb"] - sum(sizes(there).values())
    now = next_files(readers, room, alone=not scheduler.running and writers.issuperset(ready))
    return [job for job in ready if job not in writers or job in now]


# What a cluster job makes is recorded by its driver alone, which may have died meanwhile; and the driver records what it
# planned, though a node may have seen other code, settings or own files (PersistenceBase.finished and _params in
# persistence/__init__.py, 9.27.1).
@in_place_of(PersistenceBase, "finished")
async def recording(finished, persistence, job):
    asked, mode = workflow.workflow_settings, workflow.exec_mode
    for file in job.output if is_ours(job) and not job.is_local and not workflow.local_exec else ():
        record = persistence.metadata(file)
        of_this_run = record and record.endtime and record.endtime > BEGUN
        if of_this_run and record.params != persistence._params(job):
            persistence.cleanup(job)  # Snakemake calls this once more, for a job that failed
            raise WorkflowError(
                f"{file} was made from other code, settings or files of your own than this run had been planned "
                "with; call the same command again."
            )
    try:
        asked.exec_mode = ExecMode.DEFAULT if job.rule in OURS else mode
        await finished(persistence, job)
    finally:
        asked.exec_mode = mode


# A new process for each job imports torch and transformers: four seconds of CPU time, more than most of the demo's jobs
# compute. Jobs of one thread on this machine are forks instead, and say themselves what they took: to look twice a second
# takes a twentieth of a core (PythonScript.execute_script in script/__init__.py, BenchmarkTimer in benchmark.py, 9.27.1).
@in_place_of(PythonScript, "execute_script")
def forking(execute_script, script, fname, edit=False):
    here = sys.platform == "linux" and workflow.is_main_process and workflow.local_exec and not gpus.given()
    elsewhere = script.conda_env or script.container_img or script.env_modules
    # The hub's libraries look once, when they are imported, whether they may download.
    alone = OURS.get(workflow.get_rule(script.rulename)) in (None, *FETCHING)
    many = script.threads == THREADS and len(workflow.dag) >= ENOUGH_TO_FORK
    forks = here and many and not (elsewhere or alone or edit)
    if not (ended := forks and FORKER.run(os.path.abspath(fname), script.resources.get("tmpdir"))):
        execute_script(script, fname, edit)
    elif ended.status:
        raise CalledProcessError(ended.status, f"python {fname}")
    elif script.bench_record:
        vars(script.bench_record).update(ended.record)


# Of a driver that died, Snakemake leaves the lock, the processes and the jobs in the queue, and does not tell whether who
# locked a folder lives (PersistenceBase.lock in persistence/__init__.py, Workflow.unlock in workflow.py, 9.27.1).
@cache  # a report after the run plans its jobs again
def take_over():
    driver.take_over(Path.cwd(), workflow.executor_settings, logger.warning)


@in_place_of(workflow, "unlock")
@user_errors_as_sentences
def unlocking(unlock):
    driver.dead_drivers(Path.cwd())  # or an error that names the one that is alive
    unlock()


# Snakemake asks nobody before it plans, and a locked folder refuses all (Workflow._prepare_dag in workflow.py, 9.27.1).
@in_place_of(workflow, "_prepare_dag")
@user_errors_as_sentences
def preparing(prepare_dag, *args, lock_warn_only, nolock=False, **more):
    # Snakemake shares no output whose rule has a record of costs (RuleCache.check in caching/rule.py, 9.27.1).
    for one in (one for one in OURS if one.name in CACHED):
        one._benchmark = None
    # Each pass of the scheduler would start a timer for another one, and none ever ends: after some hundred jobs they take
    # half a core. No option says "no limit" (JobScheduler._schedule_reevalutation in scheduling/job_scheduler.py, 9.27.1).
    limit = workflow.scheduling_settings and workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):  # nobody asked for one; the class is frozen
        object.__setattr__(workflow.scheduling_settings, "max_jobs_per_timespan", None)
    # What makes no files may look on beside a driver at work, without a lock.
    looks_on = lock_warn_only or set(workflow.dag_settings.targets) == {MODIFIER.modify_rulename("plan")}
    if workflow.is_main_process:
        for check in CHECKS:
            check()
        codegraph.keep()
        for other in driver.at_work(Path.cwd()) if looks_on else ():
            logger.info(f"{other} is at work in this folder: what it is making now counts as not made.")
        if workflow.executor_plugin and not nolock and not looks_on:
            take_over()
    prepare_dag(*args, lock_warn_only=lock_warn_only, nolock=nolock or looks_on, **more)
