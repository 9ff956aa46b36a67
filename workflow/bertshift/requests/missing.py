"""Data and checkpoints that the configuration names and that are not there, all at once."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from bertshift.errors import UserError
from bertshift.naming import parse_model
from bertshift.papers.catalogue import PAPERS
from bertshift.requests.data import mirror_files
from bertshift.requests.figures import figures_of, models_of
from bertshift.requests.pretraining import checkpoint, pretrained_elsewhere
from bertshift.requests.probing import edge_corpus
from bertshift.requests.relations import relation_source
from bertshift.requests.runs import unique


def beside(error: UserError, config: Mapping) -> UserError:
    """Add to what one file is missing all else that figures would miss. Another error is returned as it is."""
    sentences = unique(_sentences(config))
    if str(error) not in sentences:
        return error
    return UserError("\n".join(unique([str(error), *sentences])))


def _sentences(config: Mapping) -> Iterator[str]:
    for ask in _asked(config):
        try:
            ask()
        except UserError as error:
            yield str(error)


def _asked(config: Mapping) -> Iterator[Callable]:
    names = (model for figure in figures_of(PAPERS, config) for model in models_of(config, figure))
    models = [parse_model(name, config) for name in unique(names)]
    tasks = unique(task for model in models for task in model.tasks)
    texts = [entry["dataset"] for entry in config["stimuli"].values()]
    for dataset in unique(
        [*(config["tasks"][task]["dataset"] for task in tasks), *texts, config["treebank"]]
    ):
        yield partial(mirror_files, dataset, config)
    for task in config["edge_tasks"]:
        yield partial(edge_corpus, task, config)
    yield partial(relation_source, config)
    for base in pretrained_elsewhere(config):
        if base in {model.base for model in models}:
            for init, _ in enumerate(config["bases"][base]["checkpoints"], 1):
                yield partial(checkpoint, config, base, str(init))
