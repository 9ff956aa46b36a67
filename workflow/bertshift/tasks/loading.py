"""Make a task from the configuration."""

from collections.abc import Mapping, Sequence

from bertshift.errors import UserError
from bertshift.tasks.dependency_parsing import DependencyParsing
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.tagging import Tagging
from bertshift.tasks.text_classification import TextClassification

Task = TextClassification | AnswerSpans | Tagging | DependencyParsing


def load_task(settings: Mapping, sidecar: Mapping, train: Sequence[dict] = ()) -> Task:
    """Make a task from `settings` (an entry of the configuration's tasks, with its name) and a
    data set's sidecar.

    A tagger or parser takes its labels from `train`, all training rows of the data set. UserError
    for metrics, lengths or labels that do not fit the task's kind.
    """
    common = {
        "name": settings["name"],
        "dataset": settings["dataset"],
        "metrics": tuple(settings["metrics"]),
        "max_length": settings.get("max_length", 128),
    }
    match settings["kind"]:
        case "classification":
            if not sidecar.get("labels"):
                raise UserError(
                    f"datasets.{settings['dataset']} lists no labels; add them, or make the task a"
                    " regression."
                )
            return TextClassification(**common, labels=tuple(sidecar["labels"]))
        case "regression":
            return TextClassification(**common, labels=None)
        case "spans":
            keys = ("doc_stride", "max_query_length")
            windows = {key: settings[key] for key in keys if key in settings}
            return AnswerSpans(**common, **windows)
        case "tags" | "dependencies":
            if sidecar.get("kind") != "treebank":
                raise UserError(
                    f"datasets.{settings['dataset']} is not a treebank; write one with kind"
                    " treebank for this task."
                )
            if settings["kind"] == "tags":
                task, column = Tagging, "upos"
            else:
                task, column = DependencyParsing, "deprels"
            labels = sorted({label for row in train for label in row[column]})
            return task(**common, labels=tuple(labels))
    raise UserError(
        f"tasks.{settings['name']}.kind: {settings['kind']!r} is not possible; "
        "write classification, regression, spans, tags or dependencies."
    )
