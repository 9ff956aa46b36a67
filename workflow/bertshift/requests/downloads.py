"""Data sets, corpora and checkpoints: what all figures are made from, and what of it is
missing."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from bertshift.errors import UserError
from bertshift.measures import METRICS
from bertshift.naming import Model, Name, named_in, parse_model
from bertshift.papers.catalogue import PAPERS, needs
from bertshift.replicates import runs_of
from bertshift.requests.comparing import PADDED
from bertshift.requests.data import dataset_files, mirror_files, sources_of, stimuli_of
from bertshift.requests.figures import figures_of
from bertshift.requests.forgetting import STIMULI
from bertshift.requests.pretraining import checkpoint, pretrained_elsewhere
from bertshift.requests.probing import edge_corpus
from bertshift.requests.relations import relation_source
from bertshift.requests.runs import files, unique


def downloads(config: Mapping) -> list[str]:
    """Name the files that figures need and that a network may have to bring.

    Raise UserError with one sentence for each data set, corpus or checkpoint that is missing.
    """
    found, missing = [], []
    for source in _sources(config):
        try:
            found += source()
        except UserError as error:
            missing.append(str(error))
    if missing:
        raise UserError("\n".join(unique(missing)))
    return found


def with_all_missing(error: UserError, config: Mapping) -> UserError:
    """Add to an error about missing data all else that is missing. Return another error as it
    is."""
    try:
        downloads(config)
    except UserError as missing:
        sentences = str(missing).splitlines()
        if str(error) in sentences:
            return UserError("\n".join(unique([str(error), *sentences])))
    return error


def _sources(config: Mapping) -> Iterator[Callable[[], list[str]]]:
    """Yield for each data set, corpus and checkpoint a function that names its files."""
    tables = unique(
        table for figure in figures_of(PAPERS, config) for table in needs(figure, config)
    )
    kinds = {table.split("/")[1] for table in tables}
    models_of = {table: _models(table, config) for table in tables}
    models = unique(model for compared in models_of.values() for model in compared)
    if any(kind in METRICS and METRICS[kind].annotations for kind in kinds):
        models += [parse_model(name, config) for name in config["annotators"].values()]
    names = [config["tasks"][task]["dataset"] for model in models for task in model.tasks]
    names += [name for table in tables for name in _datasets(table, models_of[table], config)]
    yield from (partial(_dataset, name, config) for name in unique(names))
    if kinds & {"edge_probes", "mdl"}:
        yield from (partial(_edge_corpus, task, config) for task in config["edge_tasks"])
    if "relation_heads" in kinds:
        yield partial(_relations, config)
    elsewhere = [model for model in models if model.base in pretrained_elsewhere(config)]
    for run in unique(run.checkpoint for model in elsewhere for run in runs_of(model, config)):
        yield partial(_checkpoint, run, config)


def _models(table: str, config: Mapping) -> list[Model]:
    """Read the models in a table's name: `results/rsa/mnli_vs_base.tsv`,
    `results/sweeps/mnli.freeze.tsv`."""
    if table.split("/")[1] == "sweeps":
        names = [str(Name.of_row(table)[0])]
    else:
        names = named_in(Path(table).stem)
    return [parse_model(name, config) for name in names]


def _datasets(table: str, models: list[Model], config: Mapping) -> list[str]:
    """Name the data sets of a table's inputs, besides those of its models' tasks."""
    kind = table.split("/")[1]
    if kind == "structural_probes":
        return [config["treebank"]]
    if kind == "forgetting":
        stimuli = [STIMULI]
    elif kind in METRICS and METRICS[kind].reads != "weights":
        stimuli = stimuli_of(PADDED if kind == "cosine_padded" else kind, *models, config)
    else:
        stimuli = []
    return [name for stimulus in stimuli for name, _ in sources_of(stimulus, config)]


def _dataset(name: str, config: Mapping) -> list[str]:
    mirror_files(name, config)
    return list(dataset_files(name).values())


def _edge_corpus(task: str, config: Mapping) -> list[str]:
    origin, folder, parts = edge_corpus(task, config)
    return [f"{folder}/{file}" for file in parts.values()] if origin == "hub" else []


def _relations(config: Mapping) -> list[str]:
    file, origin = relation_source(config)
    return [file] if origin == "hub" else []


def _checkpoint(run, config: Mapping) -> list[str]:
    checkpoint(config, run.model.base, str(run.init))
    return files([run])
