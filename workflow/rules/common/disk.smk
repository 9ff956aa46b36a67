from functools import wraps
from pathlib import Path

from snakemake.scheduling.job_scheduler import JobScheduler

from bertshift.disk import Reader, next_files


def within_disk(select):
    """Snakemake counts a job's disk_mb until the job ends. Here that of temporary files counts until they are deleted."""

    @wraps(select)
    def wrapped(scheduler, jobs):
        if "disk_mb" not in scheduler.global_resources:
            return select(scheduler, jobs)
        dag = scheduler.workflow.dag
        running = temporary(scheduler.running)
        writers = {job for job in temporary(jobs) if any(map(dag.needrun, dag.depending[job]))}
        there = {job for job in temporary(dag.jobs) - running if any(Path(f).exists() for f in job.output)}
        readers = []
        for reader in {job for writer in writers for job in dag.depending[writer] if dag.needrun(job)}:
            before = dag.dependencies[reader]
            left = {job for job in before if not dag.noneedrun_finished(job)}
            # A file is not made while its reader waits for anything else, a training perhaps.
            if left <= writers | running:
                readers.append(Reader(sizes(left & writers), begun=not (running | there).isdisjoint(before)))
        room = scheduler.resources["disk_mb"] - sum(sizes(there).values())
        alone = not scheduler.running and writers.issuperset(jobs)
        now = next_files(readers, room, alone)
        return select(scheduler, [job for job in jobs if job not in writers or job in now])

    return wrapped


def temporary(jobs):
    return {job for job in jobs if job.temp_output}


def sizes(jobs):
    return {job: job.scheduler_resources.get("disk_mb", 0) for job in jobs}


if workflow.is_main_process:
    JobScheduler.job_selector = within_disk(JobScheduler.job_selector)
