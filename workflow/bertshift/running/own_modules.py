"""Modules that only some models need: an edit of such a module does not make other models run
again."""

from collections.abc import Mapping

from bertshift.naming import parse_model

# By kind of task: the modules that only it needs, below the library's folder.
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
# By kind of variant in a model's name.
OF_VARIANTS = {"lora": {"models/lora.py"}}


def modules_of_others(model: str, config: Mapping) -> frozenset[str]:
    """Name the modules that only models of other tasks or variants run."""
    parsed = parse_model(model, config)
    modules = set().union(*OF_TASKS.values(), *OF_VARIANTS.values())
    for task in parsed.tasks:
        modules -= OF_TASKS[config["tasks"][task]["kind"]]
    for variant in parsed.variants:
        modules -= OF_VARIANTS.get(variant.kind, set())
    return frozenset(modules)
