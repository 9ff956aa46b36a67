from functools import wraps
from pathlib import Path

from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from bertshift import driver


def taking_over(prepare_dag):
    """Before a real run plans its jobs: end and clear away what a driver that died left in this folder.

    While one is alive, a second real run is refused. What makes no files may look on, without a lock.
    """

    @wraps(prepare_dag)
    @user_errors_as_sentences
    def wrapped(*args, lock_warn_only, nolock=False, **more):
        looks_on = lock_warn_only or set(workflow.dag_settings.targets) == {"plan"}
        if workflow.executor_plugin and not looks_on and not nolock:
            slurm = workflow.executor_settings
            submits = hasattr(slurm, "jobname_prefix")
            name = driver.begin(Path.cwd(), submits, logger.warning)
            if submits:
                slurm.jobname_prefix = "_".join(filter(None, [slurm.jobname_prefix, name]))
        if looks_on:
            for other in driver.at_work(Path.cwd()):
                logger.info(f"{other} is at work in this folder: what it is making now counts as not made.")
        return prepare_dag(*args, lock_warn_only=lock_warn_only, nolock=nolock or looks_on, **more)

    return wrapped


def unlocking(unlock):
    """Lift no lock of a run that is alive."""

    @wraps(unlock)
    @user_errors_as_sentences
    def wrapped():
        driver.dead_drivers(Path.cwd())  # or an error that names the one that is alive
        unlock()

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


# What Snakemake limits its jobs to where nobody asks for a limit: jobs, and seconds.
DEFAULT_RATE = (100, 1)


def without_default_rate(prepare_dag):
    """Take the default job rate limit away, which costs more than it saves, before the scheduler is made.

    With a limit, each pass of the scheduler starts a timer for another pass, which starts the next, and none ever ends:
    after some hundred jobs they take half a core, and the end of a run waits for them. No option says "no limit".
    """

    @wraps(prepare_dag)
    def wrapped(*args, **kwargs):
        scheduling = workflow.scheduling_settings
        limit = scheduling and scheduling.max_jobs_per_timespan
        if limit and (limit.max_jobs, limit.timespan) == DEFAULT_RATE:
            object.__setattr__(scheduling, "max_jobs_per_timespan", None)  # the class is frozen
        return prepare_dag(*args, **kwargs)

    return wrapped


workflow.unlock = unlocking(workflow.unlock)
logger.addFilter(driver.keep_telling_logs)
workflow._prepare_dag = without_default_rate(
    (taking_over if workflow.is_main_process else keeping_records)(workflow._prepare_dag)
)
