"""Every figure of every paper, in the order of the gallery. Imports no plotting library."""

import re
from collections.abc import Iterator, Mapping

from bertshift.config import refuse, undefined, unusable
from bertshift.errors import UserError
from bertshift.naming import NULLS, Model, parse_comparison, parse_model
from bertshift.papers import beyond, college2020, hao2020, kovaleva2019, merchant2020
from bertshift.suggestions import similar_names

_PACKAGES = (kovaleva2019, college2020, hao2020, merchant2020, beyond)
PAPERS = {package.__name__.rpartition(".")[2]: package for package in _PACKAGES}
FIGURES = {
    f"{paper}/{item}": figure
    for paper, package in PAPERS.items()
    for item, figure in package.FIGURES.items()
}


NO_NULL = {"of": []}


def needs(name: str, config: Mapping) -> list[str]:
    """Name the tables that figure `<paper>/<item>` reads, in the order of
    `config['figures'][paper][item]`.

    UserError for a figure that does not exist. It also raises one, with the key's path, for an
    entry that lacks what the figure needs or has models that the figure cannot show.
    """
    if name not in FIGURES:
        raise UserError(f"no figure '{name}'; there are {', '.join(FIGURES)}.")
    paper, item = name.split("/")
    key = f"figures.{paper}.{item}"
    try:
        nulls = {null: config.get(null, NO_NULL) for null in NULLS}
        shared = {"snapshots": config.get("snapshots", [])} | nulls
        entry = shared | config["figures"][paper][item]
        return FIGURES[name].tables(entry)
    except KeyError as error:
        example = "pairs: [[mnli, squad]]" if error.args == ("pairs",) else "reference: base"
        raise UserError(
            f"{key} lacks {error}; write e.g. '{{models: [mnli, squad], {example}}}'."
        ) from None
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def drawable(config: Mapping) -> tuple[Mapping, list[str]]:
    """Restrict the configuration's figures to models that they can draw; a figure without any
    becomes null. Return the new configuration, and a sentence for each thing that models lack."""
    figures = {paper: dict(items) for paper, items in config["figures"].items()}
    sentences = []
    for name, figure in FIGURES.items():
        paper, item = name.split("/")
        entry = figures.get(paper, {}).get(item)
        if not (figure.lacking and entry):
            continue
        reasons = {model: figure.lacking(model, config) for model in entry["models"]}
        drawn = [model for model, reason in reasons.items() if not reason]
        if len(drawn) == len(reasons):
            continue
        figures[paper][item] = entry | {"models": drawn} if drawn else None
        for reason in filter(None, dict.fromkeys(reasons.values())):
            models = ", ".join(model for model in reasons if reasons[model] == reason)
            outcome = f"drawn without {models}" if drawn else "left out"
            sentences.append(f"{reason}, so the figure {name} is {outcome}.")
    return {**config, "figures": figures}, sentences


def nearest_figures(paper: str, item: str) -> list[str]:
    """List the paper's figures that are like `item` and have its number, or all: `figure9` never
    means Figure 5."""
    items = list(PAPERS[paper].FIGURES)
    number = re.findall(r"\d+", item)
    near = similar_names(item, items, 3, 0.6)
    return [name for name in near if re.findall(r"\d+", name) == number] or items


def check(config: Mapping) -> None:
    """Raise UserError where `config['figures']` names a paper, a figure or a model that does not
    exist."""
    refuse(_problems(config))


def _problems(config: Mapping) -> Iterator[str]:
    for null in NULLS:
        for model in config[null]["of"]:
            yield from unusable(f"{null}.of", parse_model, str(Model.of(model).plus(null)), config)
    for paper, items in config["figures"].items():
        yield from undefined("figures", paper, PAPERS, "paper")
        for item, entry in items.items():
            if paper in PAPERS and item not in PAPERS[paper].FIGURES:
                near = ", ".join(nearest_figures(paper, item))
                yield f"figures.{paper}: no figure '{item}' is defined; write one of {near}."
            entry = entry or {"models": []}
            models = [*entry["models"], *entry.get("probed", [])]
            pairs = [(model, entry.get("reference", model)) for model in models]
            for pair in [*pairs, *entry.get("pairs", [])]:
                yield from unusable(f"figures.{paper}.{item}", parse_comparison, *pair, config)
