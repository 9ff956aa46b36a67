from functools import wraps
from itertools import chain

from snakemake.iocontainers import Wildcards
from snakemake.output_index import OutputIndex
from snakemake.persistence import ParamsChange
from snakemake.settings.enums import RerunTrigger

NEEDED_TRIGGERS = {RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT}


def distrusting(prepare_dag):
    """Snakemake trusts outputs of which it has no record, and outputs whose rule cannot make them any more.

    Both may be of another configuration. The first are made again; at the second, the command stops.
    """

    @wraps(prepare_dag)
    def wrapped(*args, **kwargs):
        if workflow.dag_settings.allowed_rules:
            raise WorkflowError(
                "--allowed-rules cannot tell what an input was made from; name files as targets instead."
            )
        if missing := sorted(trigger.name.lower() for trigger in NEEDED_TRIGGERS - workflow.rerun_triggers):
            raise WorkflowError(
                f"--rerun-triggers leaves out {' and '.join(missing)}: results of another configuration would pass for "
                "this one's. Leave the option away, or accept what is there with --touch."
            )
        prepare_dag(*args, **kwargs)
        persistence, dag = workflow.persistence, workflow.dag
        # Or Snakemake compares no output of a job where one lacks a record.
        persistence.has_metadata = lambda job: True
        persistence.params_changed = counting_unrecorded(persistence)
        dag.init = refusing_leftovers(dag)

    return wrapped


def counting_unrecorded(persistence):
    params_changed = persistence.params_changed

    @wraps(params_changed)
    def wrapped(job, file=None):
        files = job.output if file is None else [file]
        unknown = {str(f) for f in files if os.path.exists(f) and persistence.metadata(f) is None}
        changes = params_changed(job, file=file)
        return changes | ParamsChange({"no record of what made it"}, set(), unknown) if unknown else changes

    return wrapped


def refusing_leftovers(dag):
    init = dag.init

    @wraps(init)
    async def wrapped(*args, **kwargs):
        await init(*args, **kwargs)
        makers_of = OutputIndex(list(workflow.rules)).match_producers
        for job in dag.jobs:
            made = set(chain.from_iterable(dag.dependencies[job].values()))
            for file in (f for f in job.input if f not in made):
                if found := leftover(file, makers_of):
                    raise WorkflowError(
                        f"{found[0]} was made under another configuration, and cannot be made under this one: {found[1]}"
                    )

    return wrapped


def leftover(file, makers_of):
    """(file, reason) of the first one, on the way to `file`, that a rule should make and cannot."""
    for maker in makers_of(file):
        try:
            wanted, *_ = maker.expand_input(Wildcards(fromdict=dict(maker.get_wildcards(file))))
        except Exception as error:  # noqa: BLE001 - Snakemake wraps what an input function raises
            return file, error.__context__ or error
        for below in wanted:
            if found := leftover(below, makers_of):
                return found
            if not os.path.exists(below) and not list(makers_of(below)):
                return file, f"{below} is missing."
    return None


if workflow.is_main_process:
    workflow._prepare_dag = distrusting(workflow._prepare_dag)
