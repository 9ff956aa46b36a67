"""Figures, the verdicts on their claims, and the gallery."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import blocks_beside
from bertshift.measures import MEASURES
from bertshift.papers.catalogue import FIGURES, PAPERS, nearest_figures, needs
from bertshift.requests.activations import after_and_before
from bertshift.requests.runs import unique
from bertshift.suggestions import nearest

# Relative to the working folder, so that a clone that is moved with its results stays finished.
LIBRARY = Path(os.path.relpath(Path(__file__).parents[1]))
PUBLISHED = str(LIBRARY / "papers/{paper}/published.yaml")
ASSETS = sorted(map(str, (LIBRARY / "page/assets").iterdir()))


def measure_of(table: str) -> str:
    """Name the measure of a table. Raise UserError where there is no such measure."""
    name = table.split("/")[1]
    if name not in MEASURES:
        raise UserError(
            f"{table}: no record in measures/ is of '{name}'; {nearest(name, sorted(MEASURES))}."
        )
    return name


def figures_of(papers: Iterable[str], config: Mapping) -> list[str]:
    """List, as `<paper>/<item>`, the figures that the configuration has models for; null leaves a
    figure out."""
    papers = list(papers)
    names = []
    for name in FIGURES:
        paper, item = name.split("/")
        if paper in papers and config["figures"].get(paper, {}).get(item):
            names.append(name)
    return names


def measures_of(figures: Iterable[str], config: Mapping) -> set[str]:
    """Collect the measures whose tables these figures read."""
    return {measure_of(table) for name in figures for table in needs(name, config)}


def _check_drawn(config: Mapping, paper: str, item: str) -> None:
    """Raise UserError for a figure that the configuration leaves out, or that no paper has."""
    figures = config["figures"].get(paper, {})
    if figures.get(item):
        return
    if item not in PAPERS[paper].FIGURES:
        near = ", ".join(nearest_figures(paper, item))
        raise UserError(f"results/figures/{paper}: there is no {item}; write {near} instead.")
    state = "null" if item in figures else "missing"
    raise UserError(
        f"figures.{paper}.{item} is {state}; write there which models it shows, e.g. '{{models:"
        " [mnli, squad], reference: base}'."
    )


def blocks(config: Mapping, tables: list[str]) -> list[str]:
    """Name the files of leave-one-block-out values of the tables that have them: those of
    measures, without losses beside them and maps below them."""
    return [
        blocks_beside(table)
        for table in tables
        if MEASURES[measure_of(table)].has_blocks
        and not table.endswith(".losses.tsv")
        and "/maps/" not in table
    ]


def figure_files(names: Iterable[str], ending: str) -> list[str]:
    return [f"results/figures/{name}.{ending}" for name in names]


def tables_of_figure(config: Mapping, paper: str, item: str) -> list[str]:
    _check_drawn(config, paper, item)
    return needs(f"{paper}/{item}", config)


def tables_of_claims(config: Mapping, paper: str) -> list[str]:
    return unique(chain.from_iterable(tables_by_figure(config, paper).values()))


def tables_by_figure(config: Mapping, paper: str) -> dict[str, list[str]]:
    return {name: needs(name, config) for name in figures_of([paper], config)}


# A page shows all papers, or one paper, whose page needs no other paper's runs.
def papers_of_page(config: Mapping, paper: str = "") -> list[str]:
    return [paper] if paper else list(PAPERS)


def figures_of_page(config: Mapping, paper: str = "") -> list[str]:
    return figures_of(papers_of_page(config, paper), config)


def entries_of_page(config: Mapping, paper: str = "") -> list[dict]:
    """Describe each figure of a page, in the page's order."""
    return [
        {"name": name, "models": models_of(config, name), "tables": needs(name, config)}
        for name in figures_of_page(config, paper)
    ]


def tables_of_page(config: Mapping, paper: str = "") -> list[str]:
    """Name the tables that a page's view of two models reads."""
    entries = entries_of_page(config, paper)
    tables = unique(table for entry in entries for table in entry["tables"])
    return [table for table in tables if MEASURES[measure_of(table)].is_on_page]


def models_with_examples(config: Mapping, paper: str = "") -> list[str]:
    return examples_of(config, figures_of_page(config, paper))


def models_of(config: Mapping, name: str) -> list[str]:
    """List the models that figure `<paper>/<item>` names, and those that they are compared
    with."""
    paper, item = name.split("/")
    settings = config["figures"][paper][item]
    models = [*settings["models"]]
    models += chain.from_iterable(settings.get("pairs", []))
    models += settings.get("probed", [])
    if "reference" in settings:
        models.append(settings["reference"])
    return unique(models)


def examples_of(config: Mapping, names: Iterable[str]) -> list[str]:
    """List the models of those figures (`names`, `<paper>/<item>`, all in the configuration) that
    show heads, each once. Models that `examples` refuses are left out. The list is empty where
    samples.examples is 0."""
    if not config["samples"]["examples"]:
        return []
    candidates = []
    for name in names:
        if any(MEASURES[measure].by_heads for measure in measures_of([name], config)):
            paper, item = name.split("/")
            candidates += config["figures"][paper][item]["models"]
    models = []
    for model in unique(candidates):
        with suppress(UserError):
            after_and_before(config, model)
            models.append(model)
    return models
