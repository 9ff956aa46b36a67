"""Modules that only some models need: an edit of one makes the others again no more."""

from collections.abc import Mapping

from bertshift.naming import parse_model

# By the kind of a task: its own modules, below the library's folder.
OF_TASKS = {
    "classification": {"tasks/text_classification.py"},
    "regression": {"tasks/text_classification.py"},
    "spans": {"tasks/question_answering.py"},
    "tags": {"tasks/tagging.py"},
    "dependencies": {
        "tasks/dependency_parsing.py",
        "tasks/spanning_tree.py",
        "models/biaffine.py",
    },
}
# By the kind of a variant in a model's name.
OF_VARIANTS = {"lora": {"models/lora.py"}}


def modules_of_others(model: str, config: Mapping) -> frozenset[str]:
    """Name the modules that only models of other tasks or variants run."""
    one = parse_model(model, config)
    own_kinds = {config["tasks"][task]["kind"] for task in one.tasks}
    own = set().union(*(OF_TASKS[kind] for kind in own_kinds))
    own |= set().union(*(OF_VARIANTS.get(variant.kind, set()) for variant in one.variants))
    every = set().union(*OF_TASKS.values(), *OF_VARIANTS.values())
    return frozenset(every - own)
