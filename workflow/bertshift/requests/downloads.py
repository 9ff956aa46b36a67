"""The data sets, corpora and checkpoints that all figures need, and those that are missing."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from bertshift.errors import UserError
from bertshift.measures import METRICS
from bertshift.naming import Model, Name, Run, named_in, parse_model
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
    """Name the files that figures need and that may have to be downloaded.

    Raise UserError with one sentence for each data set, corpus or checkpoint that is missing.
    """
    paths, problems = [], []
    for list_files in _list_sources(config):
        try:
            paths += list_files()
        except UserError as error:
            problems.append(str(error))
    if problems:
        raise UserError("\n".join(unique(problems)))
    return paths


def with_all_missing(error: UserError, config: Mapping) -> UserError:
    """Add to an error about missing data the sentences about all other missing data. Return any
    other error unchanged."""
    try:
        downloads(config)
    except UserError as missing:
        sentences = str(missing).splitlines()
        if str(error) in sentences:
            return UserError("\n".join(unique([str(error), *sentences])))
    return error


def _list_sources(config: Mapping) -> Iterator[Callable[[], list[str]]]:
    """Yield for each data set, corpus and checkpoint a function that names its files."""
    tables = unique(
        table for figure in figures_of(PAPERS, config) for table in needs(figure, config)
    )
    models, input_datasets = [], []
    for table in tables:
        table_models = _parse_models(table, config)
        models += table_models
        input_datasets += _list_input_datasets(table, table_models, config)
    models = unique(models)
    kinds = {table.split("/")[1] for table in tables}
    if any(METRICS[kind].annotations for kind in kinds & METRICS.keys()):
        models += [parse_model(name, config) for name in config["annotators"].values()]
    task_datasets = [config["tasks"][task]["dataset"] for model in models for task in model.tasks]
    for name in unique(task_datasets + input_datasets):
        yield partial(_list_dataset_files, name, config)
    if "edge_probes" in kinds or "mdl" in kinds:
        for task in config["edge_tasks"]:
            yield partial(_list_edge_files, task, config)
    if "relation_heads" in kinds:
        yield partial(_list_relation_files, config)
    elsewhere = [model for model in models if model.base in pretrained_elsewhere(config)]
    for run in unique(run.checkpoint for model in elsewhere for run in runs_of(model, config)):
        yield partial(_list_checkpoint_files, run, config)


def _parse_models(table: str, config: Mapping) -> list[Model]:
    """Parse the models in a table's name: `results/rsa/mnli_vs_base.tsv`,
    `results/sweeps/mnli.freeze.tsv`."""
    if table.split("/")[1] == "sweeps":
        model, _ = Name.of_row(table)
        names = [str(model)]
    else:
        names = named_in(Path(table).stem)
    return [parse_model(name, config) for name in names]


def _list_input_datasets(table: str, models: list[Model], config: Mapping) -> list[str]:
    """List the data sets of a table's inputs, besides those of its models' tasks."""
    kind = table.split("/")[1]
    if kind == "structural_probes":
        return [config["treebank"]]
    if kind == "forgetting":
        stimuli = [STIMULI]
    elif kind == "cosine_padded":
        stimuli = stimuli_of(PADDED, *models, config)
    elif kind in METRICS and METRICS[kind].reads != "weights":
        stimuli = stimuli_of(kind, *models, config)
    else:
        stimuli = []
    return [name for stimulus in stimuli for name, _ in sources_of(stimulus, config)]


def _list_dataset_files(name: str, config: Mapping) -> list[str]:
    mirror_files(name, config)  # raises UserError if one is missing
    return list(dataset_files(name).values())


def _list_edge_files(task: str, config: Mapping) -> list[str]:
    origin, folder, parts = edge_corpus(task, config)
    return [f"{folder}/{file}" for file in parts.values()] if origin == "hub" else []


def _list_relation_files(config: Mapping) -> list[str]:
    file, origin = relation_source(config)
    return [file] if origin == "hub" else []


def _list_checkpoint_files(run: Run, config: Mapping) -> list[str]:
    checkpoint(config, run.model.base, str(run.init))  # raises UserError if it is missing
    return files([run])
