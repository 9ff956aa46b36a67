"""The data sets, corpora and checkpoints that figures and tables need, and those that are
missing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from bertshift.data.sources import edge_corpus, mirror_files, relation_source
from bertshift.errors import UserError
from bertshift.measures import MEASURES
from bertshift.naming import Model, Run, named_in, parse_model
from bertshift.papers.catalogue import PAPERS, needs
from bertshift.replicates import runs_of
from bertshift.requests import edits
from bertshift.requests.comparing import PADDED
from bertshift.requests.data import sources_of, stimuli_of
from bertshift.requests.figures import figure_files, figures_of
from bertshift.requests.forgetting import STIMULI
from bertshift.requests.pretraining import contents_of_checkpoint, pretrained_elsewhere
from bertshift.requests.runs import MODEL_FILES, unique


def downloads(config: Mapping) -> list[str]:
    """Name the files that figures need and that may have to be downloaded.

    Raise UserError with one sentence for each data set, corpus or checkpoint that is missing.
    """
    tables = tables_of("figures/all", config)
    if sentences := missing(tables, config):
        raise UserError("\n".join(sentences))
    return [path for list_files in _list_sources(tables, config) for path in list_files()]


def missing(tables: Iterable[str], config: Mapping) -> list[str]:
    """Write a sentence for each data set, corpus and checkpoint that these tables need and that
    is missing."""
    sentences = []
    for list_files in _list_sources(tables, config):
        try:
            list_files()
        except UserError as error:
            sentences.append(str(error))
    return unique(sentences)


def with_all_missing(error: UserError, targets: Iterable[str], config: Mapping) -> UserError:
    """Add to an error about missing data the sentences about all else that these targets miss.
    Return any other error unchanged."""
    targets = list(targets)
    tables = unique(table for target in targets for table in tables_of(target, config))
    sentences = missing(tables, config)
    if str(error) not in sentences:
        return error
    lines = unique([str(error), *sentences])
    figures = unique(figure for target in targets for figure in figures_behind(target, config))
    if len(figures) > 1:
        lines.append("`make plan` says which figures need this, and plans the others.")
    return UserError("\n".join(lines))


def obtainable(targets: Iterable[str], config: Mapping) -> tuple[list[str], dict[str, list[str]]]:
    """Return the targets whose data are there or can be downloaded, with the pictures of its
    figures in the place of a target of which only some are; and by each sentence about what is
    missing, the figures or targets that need it."""
    kept: list[str] = []
    lacking: dict[str, list[str]] = {}
    for target in targets:
        figures = figures_behind(target, config)
        tables = {figure: needs(figure, config) for figure in figures}
        sentences = {
            part: missing(part_tables, config)
            for part, part_tables in (tables or {target: tables_of(target, config)}).items()
        }
        for part, found in sentences.items():
            for sentence in found:
                lacking.setdefault(sentence, []).append(part)
        if not any(sentences.values()):
            kept.append(target)
        elif figures:
            whole = [figure for figure in figures if not sentences[figure]]
            kept += figure_files(whole, "png")
    return kept, lacking


def figures_behind(target: str, config: Mapping) -> list[str]:
    """List, as `<paper>/<item>`, the figures that a target of Snakemake draws or reads."""
    match target.removeprefix("results/").split("/"):
        case ["figures", "all" | "index.html"] | ["data", "all"] | ["claims.tsv"]:
            return figures_of(PAPERS, config)
        case ["figures" | "claims", paper]:
            return figures_of([paper.partition(".")[0]], config)
        case ["figures", paper, file]:
            name = f"{paper}/{Path(file).stem}"
            return [figure for figure in figures_of([paper], config) if figure == name]
    return []


def tables_of(target: str, config: Mapping) -> list[str]:
    """List the tables that a target needs: those of its figures, or itself. None for a target
    that is neither, or whose models cannot be named."""
    if figures := figures_behind(target, config):
        return unique(table for figure in figures for table in needs(figure, config))
    try:
        is_table = target.endswith(".tsv") and bool(_parse_models(target, config))
    except (UserError, IndexError):
        is_table = False
    return [target] if is_table else []


def _list_sources(tables: Iterable[str], config: Mapping) -> Iterator[Callable[[], list[str]]]:
    """Yield for each data set, corpus and checkpoint that tables need a function that names its
    files."""
    tables = list(tables)
    models, input_datasets = [], []
    for table in tables:
        table_models = _parse_models(table, config)
        models += table_models + _list_imitated(table, table_models, config)
        input_datasets += _list_input_datasets(table, table_models, config)
    models = unique(models)
    kinds = {table.split("/")[1] for table in tables}
    measures = [MEASURES[kind] for kind in kinds & MEASURES.keys()]
    read = {measure.reads for measure in measures}
    if any(measure.annotations for measure in measures):
        models += [parse_model(name, config) for name in config["annotators"].values()]
    task_datasets = [config["tasks"][task]["dataset"] for model in models for task in model.tasks]
    for name in unique(task_datasets + input_datasets):
        yield partial(_list_dataset_files, name, config)
    if "edges" in read:
        for task in config["edge_tasks"]:
            yield partial(_list_edge_files, task, config)
    if "relations" in read:
        yield partial(_list_relation_files, config)
    elsewhere = [model for model in models if model.base in pretrained_elsewhere(config)]
    for run in unique(run.checkpoint for model in elsewhere for run in runs_of(model, config)):
        yield partial(_list_checkpoint_files, run, config)


def _parse_models(table: str, config: Mapping) -> list[Model]:
    """Parse the models in a table's name: `results/rsa/mnli_vs_base.tsv`,
    `results/sweeps/mnli.freeze.tsv`."""
    if table.split("/")[1] == "sweeps":
        model, _ = Model.of_row(table)
        names = [str(model)]
    else:
        names = named_in(Path(table).stem)
    return [parse_model(name, config) for name in names]


def _list_imitated(table: str, models: list[Model], config: Mapping) -> list[Model]:
    """List the models whose change has the size of the noise beside a planted change."""
    if table.split("/")[1] == "planted":
        runs = [run for model in models for run in edits.backgrounds(config, str(model))]
    else:
        edited = [model for model in models if model.variant("edit")]
        runs = [
            changed
            for model in edited
            for run in runs_of(model, config)
            for changed in edits.background(config, run)
        ]
    return unique(run.model for run in runs)


def _list_input_datasets(table: str, models: list[Model], config: Mapping) -> list[str]:
    """List the data sets of a table's inputs, besides those of its models' tasks."""
    kind = table.split("/")[1]
    stimuli = []
    match MEASURES[kind].reads if kind in MEASURES else "":
        case "weights" if kind == "planted":
            stimuli = [edits.stimuli(config, str(model)) for model in models]
        case "trees":
            return [config["treebank"]]
        case "sentences":
            stimuli = [STIMULI]
        case "padded":
            stimuli = stimuli_of(PADDED, *models, config)
        case "attention" | "sampled":
            stimuli = stimuli_of(kind, *models, config)
    return [name for stimulus in stimuli for name, _ in sources_of(config, stimulus)]


def _list_dataset_files(name: str, config: Mapping) -> list[str]:
    mirror_files(config, name)  # raises UserError if one is missing
    return [f"results/data/{name}/{file}" for file in ("examples.jsonl", "dataset.json")]


def _list_edge_files(task: str, config: Mapping) -> list[str]:
    origin, folder, parts = edge_corpus(task, config)
    return [f"{folder}/{file}" for file in parts.values()] if origin == "hub" else []


def _list_relation_files(config: Mapping) -> list[str]:
    file, origin = relation_source(config)
    return [file] if origin == "hub" else []


def _list_checkpoint_files(run: Run, config: Mapping) -> list[str]:
    contents_of_checkpoint(config, run.model.base, str(run.init))  # UserError if it is missing
    return [f"{run.folder}/{file}" for file in MODEL_FILES]
