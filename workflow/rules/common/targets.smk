from functools import wraps

from snakemake.exceptions import MissingRuleException
from snakemake.io import strip_wildcard_constraints


def check_analyses():
    """WorkflowError for inputs of a metric that no rule has; called when all rules are known."""
    for metric in config["analyses"]:
        if metric not in METRICS:
            raise WorkflowError(
                f"analyses.{metric}: no metric of this name looks at inputs; {naming.nearest(metric, sorted(METRICS))}."
            )


def made(file):
    return any(rule.is_producer(file) for rule in workflow.rules)


def unknown_targets():
    """The files asked for that no rule makes and that do not exist."""
    return [
        target
        for target in workflow.dag_settings.targets
        if not workflow.is_rule(target) and not Path(target).exists() and not made(target)
    ]


def told_of(target):
    """What to write in place of a target that no rule makes."""
    files = [file for rule in workflow.rules for file in map(str, rule.output)]
    names = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    return naming.nearest_target(target, map(strip_wildcard_constraints, files), names, made)


def explaining(build_dag):
    """Mistakes that only show when all rules are known get a sentence."""

    @wraps(build_dag)
    def wrapped():
        check_analyses()
        try:
            build_dag()
        except MissingRuleException:
            if targets := unknown_targets():
                raise WorkflowError("\n".join(map(told_of, targets)))
            raise

    return wrapped


if workflow.is_main_process:
    workflow._build_dag = explaining(workflow._build_dag)
