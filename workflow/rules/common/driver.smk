from functools import wraps
from pathlib import Path

from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from bertshift import driver


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
