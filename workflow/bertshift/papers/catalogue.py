"""Every figure of every paper, in the order of the gallery. Imports no plotting library."""

import re
from collections.abc import Iterator, Mapping

from bertshift.config import refuse, undefined, unusable
from bertshift.errors import UserError
from bertshift.naming import Name, parse_comparison, parse_model
from bertshift.papers import beyond, college2020, hao2020, kovaleva2019, merchant2020
from bertshift.suggestions import similar_names

_PACKAGES = (kovaleva2019, college2020, hao2020, merchant2020, beyond)
PAPERS = {package.__name__.rpartition(".")[2]: package for package in _PACKAGES}
FIGURES = {
    f"{paper}/{item}": figure
    for paper, package in PAPERS.items()
    for item, figure in package.FIGURES.items()
}


NO_NOISE = {"of": [], "times": []}


def needs(name: str, config: Mapping) -> list[str]:
    """Name the tables that figure `<paper>/<item>` reads, in the order of
    `config['figures'][paper][item]`.

    Raises UserError for a figure that does not exist. It also raises one, with the key's path, for
    an entry that lacks what the figure needs or has models that the figure cannot show.
    """
    if name not in FIGURES:
        raise UserError(f"no figure '{name}'; there are {', '.join(FIGURES)}.")
    paper, item = name.split("/")
    key = f"figures.{paper}.{item}"
    try:
        shared = {"snapshots": config.get("snapshots", []), "noise": config.get("noise", NO_NOISE)}
        wanted = shared | config["figures"][paper][item]
        return FIGURES[name].tables(wanted)
    except KeyError as error:
        more = "pairs: [[mnli, squad]]" if error.args == ("pairs",) else "reference: base"
        raise UserError(
            f"{key} lacks {error}; write e.g. '{{models: [mnli, squad], {more}}}'."
        ) from None
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def drawable(config: Mapping) -> tuple[Mapping, list[str]]:
    """Restrict the configuration's figures to models that they can draw; a figure without any
    becomes null. Return the new configuration, and a sentence for each thing that models lack."""
    figures, said = {paper: dict(items) for paper, items in config["figures"].items()}, []
    for name, figure in FIGURES.items():
        paper, item = name.split("/")
        if not (figure.lacking and (wanted := figures.get(paper, {}).get(item))):
            continue
        why = {model: figure.lacking(model, config) for model in wanted["models"]}
        kept = [model for model, phrase in why.items() if not phrase]
        if len(kept) == len(why):
            continue
        figures[paper][item] = wanted | {"models": kept} if kept else None
        for phrase in filter(None, dict.fromkeys(why.values())):
            without = ", ".join(model for model in why if why[model] == phrase)
            said.append(
                f"{phrase}, so the figure {name} is"
                f" {f'drawn without {without}' if kept else 'left out'}."
            )
    return {**config, "figures": figures}, said


def nearest_figures(paper: str, item: str) -> list[str]:
    """List the paper's figures that are like `item` and have its number, or all: `figure9` never
    means Figure 5."""
    number = re.compile(r"\d+").findall
    items = list(PAPERS[paper].FIGURES)
    return [
        name for name in similar_names(item, items, 3, 0.6) if number(name) == number(item)
    ] or items


def check(config: Mapping) -> None:
    """Raise UserError where `config['figures']` names a paper, a figure or a model that does not
    exist."""
    refuse(_problems(config))


def _problems(config: Mapping) -> Iterator[str]:
    for model in config["noise"]["of"]:
        yield from unusable("noise.of", parse_model, str(Name.of(model).plus("noise")), config)
    for paper, items in config["figures"].items():
        yield from undefined("figures", paper, PAPERS, "paper")
        for item, wanted in items.items():
            if paper in PAPERS and item not in PAPERS[paper].FIGURES:
                near = ", ".join(nearest_figures(paper, item))
                yield f"figures.{paper}: no figure '{item}' is defined; write one of {near}."
            wanted = wanted or {"models": []}
            named = [*wanted["models"], *wanted.get("probed", [])]
            alone = [(model, wanted.get("reference", model)) for model in named]
            for pair in [*alone, *wanted.get("pairs", [])]:
                yield from unusable(f"figures.{paper}.{item}", parse_comparison, *pair, config)
