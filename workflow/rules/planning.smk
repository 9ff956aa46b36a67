import json
import logging
import math
import os
import shlex
import sys
from dataclasses import asdict

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from bertshift.planning import costs
from bertshift.running import gpus

COSTS = sentences(settings.read_yaml)(ROOT / "config/costs.yaml")
SIZES = costs.sizes_of(config, COSTS)


def work_of(maker, wildcards):
    """What a rule's job computes, as its request says."""
    request = getattr(maker.params.get("settings"), "request", None)
    return answer_to(request)(wildcards).work(SIZES) if request else costs.Work()


def jobs_of(dag):
    """Jobs as the library knows them, without those that only name targets."""
    jobs = [job for job in dag.jobs if not job.is_norun]
    return [
        costs.Job(
            dag.jobid(job),
            OURS.get(job.rule, "other"),
            work_of(job.rule, job.wildcards),
            job.threads,
            gpu=bool(job.resources.get("gpu")),
            output=tuple(map(str, job.output)),
            temporary=bool(job.temp_output),
            record=re.sub(r"\.log$", ".cost.tsv", str(job.log)),
            needed=dag.needrun(job),
            after=tuple(dag.jobid(other) for other in dag.dependencies[job] if not other.is_norun),
        )
        for job in jobs
    ]


def limits():
    """What this run may use at a time; of a cluster's GPUs only the limit on jobs is known."""
    allowed = {name: one.value for name, one in workflow.global_resources.items() if one.value is not None}
    if not workflow.local_exec:
        return costs.Resources(jobs=workflow.nodes, has_gpu=True)
    gpu = int(allowed["gpu"]) if "gpu" in allowed else None
    return costs.Resources(workflow.cores, gpu, has_gpu=bool(gpus.given()))


PLAN = "BERTSHIFT_PLAN"


def plan_command(wildcards):
    """This very command for all figures, as a dry run that knows what the real one may use."""
    plan, figures = map(workflow.modifier.modify_rulename, ("plan", "figures/all"))
    rest = [figures if argument == plan else argument for argument in sys.argv[1:]]
    told = f"{PLAN}={json.dumps(asdict(limits()))}"
    quietly = ["--quiet", "rules", "progress", "--dry-run"]
    command = ["env", told, sys.executable, "-m", "snakemake", *quietly, *rest]
    if workflow.overwrite_workdir is None:
        return shlex.join(command)
    # With --directory, jobs run in another folder than the command: its paths are told anew, and profiles are where rules are.
    command += ["--snakefile", workflow.main_snakefile, "--directory", os.getcwd()]
    if workflow.overwrite_configfiles:
        command += ["--configfile", *map(str, workflow.overwrite_configfiles)]
    return f"cd {shlex.quote(os.path.dirname(workflow.main_snakefile))} && {shlex.join(command)}"


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
