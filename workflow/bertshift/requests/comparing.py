"""Metrics of two models: `results/<metric>/<model>_vs_<reference>.tsv`."""

from collections.abc import Iterable, Mapping

from bertshift.errors import UserError
from bertshift.measures import OF_DUMPS
from bertshift.naming import Run, parse_comparison
from bertshift.requests.data import stimuli_of
from bertshift.requests.runs import (
    Pair,
    both_sides,
    compared,
    folders,
    replicate_and_reference,
    scored,
)
from bertshift.suggestions import nearest

PADDED = "cosine"  # cosine_padded looks at the inputs of this metric


def stimuli(config: Mapping, model: str, reference: str, metric: str) -> list[str]:
    return stimuli_of(metric, *parse_comparison(model, reference, config), config)


def joined_stimuli(config: Mapping, model: str, reference: str, metric: str) -> str:
    """Name the inputs of a metric as the path of their activations does."""
    return "-".join(stimuli(config, model, reference, metric))


def runs_of_reference(config: Mapping, model: str, reference: str) -> list[Run]:
    return _runs_of_side(config, reference, compared(config, model, reference))


def _runs_of_side(config: Mapping, name: str, pairs: Iterable[Pair]) -> list[Run]:
    return [run for run in both_sides(config, pairs) if str(run.model) == name]


def names_and_numbers(config: Mapping, pairs: Iterable[Pair]) -> list[list[list]]:
    return [[[run.name, run.init, run.seed] for run in pair] for pair in pairs]


def folders_by_side(config: Mapping, model: str, reference: str) -> dict[str, dict[str, str]]:
    """Return the folders of the runs' weights, by side and run."""
    pairs = compared(config, model, reference)
    sides = {"model": model, "reference": reference}
    return {
        side: folders(config, _runs_of_side(config, name, pairs)) for side, name in sides.items()
    }


def folders_of_spectra(config: Mapping, model: str, reference: str) -> list[list]:
    """List both folders of each pair, and the labels of its rows."""
    labels = {"metric": "spectra", "model": model, "reference": reference}
    return [
        [run.folder, other.folder, labels | replicate_and_reference(run, other)]
        for run, other in compared(config, model, reference)
    ]


def annotators(config: Mapping, stimulus: str) -> list[Run]:
    """List the runs that annotate words: of each annotator the first replicate."""
    return [scored(config, config["annotators"][kind])[0] for kind in ("tags", "trees")]


def check_analyses(config: Mapping) -> None:
    """Raise UserError for `analyses` of a metric that does not exist or reads no dumps."""
    for metric in config["analyses"]:
        if metric not in OF_DUMPS:
            raise UserError(
                f"analyses.{metric}: no metric of this name looks at inputs;"
                f" {nearest(metric, sorted(OF_DUMPS))}."
            )
