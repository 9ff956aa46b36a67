"""Which figures there are, which tables each one needs, and the module that draws it. Imports no plotting library."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from bertshift.errors import UserError


@dataclass(frozen=True)
class Entry:
    """One figure: `metric` names the tables it reads, `title` is for a reader."""

    paper: str
    item: str
    metric: str
    title: str

    @property
    def module(self) -> str:
        return f"bertshift.plots.{self.paper}_{self.item}"


FIGURES = {
    f"{entry.paper}/{entry.item}": entry
    for entry in (
        Entry("kovaleva2019", "figure5", "cosine", "How much each head's attention changes"),
        Entry("hao2020", "figure1", "js", "Change of attention by layer"),
        Entry("hao2020", "figure2", "svcca", "Change of hidden states by layer"),
        Entry("merchant2020", "figure2", "rsa", "Similarity to the pretrained model on Wikipedia"),
        Entry("merchant2020", "figure5", "rsa", "Similarity inside and outside the training domain"),
    )
}


def figure(name: str) -> Entry:
    """The entry of `<paper>/<item>`; UserError with the known names otherwise."""
    if name not in FIGURES:
        raise UserError(f"no figure '{name}'; there are {', '.join(FIGURES)}.")
    return FIGURES[name]


def needs(name: str, config: Mapping) -> list[str]:
    """The metric tables that figure `name` reads, in the order of `config['figures'][paper][item]['models']`."""
    entry = figure(name)
    try:
        wanted = config["figures"][entry.paper][entry.item]
        models, reference = wanted["models"], wanted["reference"]
    except KeyError as error:
        raise UserError(f"figures: {entry.paper}: {entry.item} lacks {error}; write e.g. "
                        "'{models: [mnli, squad], reference: base}'.") from None  # fmt: skip
    return [f"results/{entry.metric}/{model}_vs_{reference}.tsv" for model in models]


def draw(name: str, tables: Mapping, published: Mapping):
    """(figure, table of every number drawn) of figure `name`; `published` is its paper's file in config/published."""
    return import_module(figure(name).module).draw(tables, published)
