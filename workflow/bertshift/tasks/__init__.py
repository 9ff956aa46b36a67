from collections.abc import Mapping

from bertshift.errors import UserError
from bertshift.tasks.question_answering import AnswerSpans
from bertshift.tasks.text_classification import TextClassification

Task = TextClassification | AnswerSpans


def load_task(settings: Mapping, sidecar: Mapping) -> Task:
    """The task that `settings` (an entry of the configuration's tasks, with its name) and a data set make.

    UserError for metrics, lengths or labels that do not fit its kind.
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
                    f"datasets.{settings['dataset']} lists no labels; add them, or make the task a regression."
                )
            return TextClassification(**common, labels=tuple(sidecar["labels"]))
        case "regression":
            return TextClassification(**common, labels=None)
        case "spans":
            windows = {key: settings[key] for key in ("doc_stride", "max_query_length") if key in settings}
            return AnswerSpans(**common, **windows)
    raise UserError(
        f"tasks.{settings['name']}.kind: {settings['kind']!r} is not possible; write classification, regression or spans."
    )
