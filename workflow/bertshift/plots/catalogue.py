"""Which figures there are, which tables each one needs, and the module that draws it. Imports no plotting library."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from bertshift.errors import UserError


@dataclass(frozen=True)
class Entry:
    """One figure: `tables` names the TSVs that it reads, given its entry in the configuration; `title` is for a reader."""

    paper: str
    item: str
    tables: Callable[[Mapping], list[str]]
    title: str

    @property
    def module(self) -> str:
        return f"bertshift.plots.{self.paper}_{self.item}"


def _compared(metric: str) -> Callable[[Mapping], list[str]]:
    """Each model against the reference."""
    return lambda wanted: [
        f"results/{metric}/{model}_vs_{wanted['reference']}.tsv" for model in wanted["models"]
    ]


def _cropped_and_padded(wanted: Mapping) -> list[str]:
    return _compared("cosine")(wanted) + _compared("cosine_padded")(wanted)


def _alone(metric: str) -> Callable[[Mapping], list[str]]:
    """Each model by itself."""
    return lambda wanted: [f"results/{metric}/{model}.tsv" for model in wanted["models"]]


def _between_seeds(metric: str) -> Callable[[Mapping], list[str]]:
    """Each model's replicates among themselves."""
    return lambda wanted: [f"results/{metric}/{model}_vs_{model}.tsv" for model in wanted["models"]]


def _between_tasks(metric: str) -> Callable[[Mapping], list[str]]:
    """Each pair of models, and the models' own seeds beside them."""
    return lambda wanted: [
        *(f"results/{metric}/{model}_vs_{other}.tsv" for model, other in wanted["pairs"]),
        *_between_seeds(metric)(wanted),
    ]


def _each(metric: str, *variants: str) -> Callable[[Mapping], list[str]]:
    """The reference, these variants of it, and each model by itself."""
    return lambda wanted: [
        f"results/{metric}/{model}.tsv"
        for model in [wanted["reference"], *(wanted["reference"] + v for v in variants), *wanted["models"]]
    ]


def _edge_probes(wanted: Mapping) -> list[str]:
    return _each("edge_probes", ".random")(wanted) + _compared("edge_probes")(wanted)


def _steps(wanted: Mapping) -> list[str]:
    return _alone("steps")(wanted) + _compared("cosine")(wanted)


def _sweeps(*kinds: str) -> Callable[[Mapping], list[str]]:
    """Rows of each model's variants: layers frozen or removed, layers re-initialised."""
    return lambda wanted: [
        f"results/sweeps/{model}.{kind}.tsv" for model in wanted["models"] for kind in kinds
    ]


def _plain(wanted: Mapping) -> list[tuple[str, str, str]]:
    """(tasks, "@" or nothing, checkpoint) of each model, of whose name others are built; UserError for one with variants."""
    names = [model.partition("@") for model in wanted["models"]]
    for (stem, at, base), model in zip(names, wanted["models"]):
        plain, dot, variants = stem.partition(".")
        if dot:
            raise UserError(
                f"'{model}' has .{variants}, and this figure derives other models from each; name a plain task's "
                f"model, such as '{plain}{at}{base}'."
            )
    return names


def _by_start(wanted: Mapping) -> list[str]:
    """Scores of each model and of the same from random weights, and what its start gives as it is."""
    return [
        path
        for task, at, base in _plain(wanted)
        for path in (
            f"results/scores/{task}{at}{base}.tsv",
            f"results/scores/{task}.random{at}{base}.tsv",
            f"results/frozen/{task}{at}{base}.tsv",
        )
    ]


def _chains(wanted: Mapping) -> dict[str, str]:
    """Each model after fine-tuning on the task of each other, with each kind of head: {chain: the model alone}."""
    alone = list(zip(_plain(wanted), wanted["models"]))
    chains = {
        f"{first}+{final}{'.carry' * (head == 'carry')}{at}{base}": name
        for head in wanted.get("heads", ["fresh"])
        for (final, at, base), name in alone
        for (first, *_), other in alone
        if other != name
    }
    if not chains:
        raise UserError("an intermediate task is one of several; list at least two models.")
    return chains


def _transfer(wanted: Mapping) -> list[str]:
    """Scores of each model alone, and what each chain gains over it."""
    return _alone("scores")(wanted) + [
        f"results/gains/{chain}_vs_{alone}.tsv" for chain, alone in _chains(wanted).items()
    ]


def _losses(wanted: Mapping) -> list[str]:
    return [f"results/losses/{model}.tsv" for model in [*wanted["models"], *_chains(wanted)]]


FIGURES = {
    f"{entry.paper}/{entry.item}": entry
    for entry in (
        Entry("kovaleva2019", "table1", _by_start, "Scores by initialisation"),
        Entry("kovaleva2019", "figure1", _alone("patterns/maps"), "Typical attention maps"),
        Entry("kovaleva2019", "figure2", _alone("patterns"), "Shares of five classes of attention maps"),
        Entry("kovaleva2019", "figure3", _alone("relation_heads"), "Heads for predicates and arguments"),
        Entry("kovaleva2019", "figure5", _cropped_and_padded, "How much each head's attention changes"),
        Entry("kovaleva2019", "figure8", _alone("ablation"), "Scores with one head disabled"),
        Entry("kovaleva2019", "figure9", _alone("ablation"), "Scores with one layer disabled"),
        Entry("kovaleva2019", "figure6", _compared("attention_to"), "Attention to [SEP] and [CLS]"),
        Entry(
            "kovaleva2019", "figure7", _compared("attention_to"), "What [CLS] attends to in the last layer"
        ),
        Entry(
            "kovaleva2019",
            "linguistic",
            _compared("attention_to"),
            "Attention to kinds of words, and its weight",
        ),
        Entry("kovaleva2019", "figure10", _alone("patterns/maps"), "All attention maps of one input"),
        Entry("kovaleva2019", "steps", _steps, "Step sizes by layer beside the change of attention"),
        Entry(
            "kovaleva2019",
            "own_or_inherited",
            _compared("own_or_inherited"),
            "Change of attention by a layer's own weights and by its input",
        ),
        Entry("college2020", "figure1", _losses, "Training loss after an intermediate task"),
        Entry("college2020", "figure2", _transfer, "Scores after an intermediate task"),
        Entry("college2020", "figure3", _sweeps("reinit"), "Scores with the upper layers re-initialised"),
        Entry("college2020", "table_mrpc", _sweeps("reinit"), "MRPC with the upper layers re-initialised"),
        Entry(
            "college2020", "schemes", _sweeps("reinit", "reinitb", "reinitd"), "Ways to re-initialise layers"
        ),
        Entry("college2020", "figure4", _sweeps("reinit.losses"), "Training loss with layers re-initialised"),
        Entry("college2020", "figure5", _alone("reinit_heads"), "CoLA with one head re-initialised"),
        Entry("college2020", "figure6", _alone("reinit_heads"), "STS-B with one head re-initialised"),
        Entry(
            "college2020", "figure7", _alone("reinit_heads"), "CoLA with one head re-initialised, by layer"
        ),
        Entry(
            "college2020", "figure8", _alone("reinit_heads"), "STS-B with one head re-initialised, by layer"
        ),
        Entry("college2020", "figure9", _alone("reinit_heads"), "CoLA with one head re-initialised, by head"),
        Entry(
            "college2020", "figure10", _alone("reinit_heads"), "STS-B with one head re-initialised, by head"
        ),
        Entry("hao2020", "figure1", _compared("js"), "Change of attention by layer"),
        Entry("hao2020", "figure2", _compared("svcca"), "Change of hidden states by layer"),
        Entry("hao2020", "similarity", _compared("similarity"), "Change of hidden states by other measures"),
        Entry("hao2020", "figure3", _alone("restored"), "Output and score with one layer restored"),
        Entry("hao2020", "figure4", _between_seeds("js"), "Attention of two seeds"),
        Entry("hao2020", "figure5", _between_seeds("svcca"), "Hidden states of two seeds"),
        Entry("hao2020", "figure6", _between_tasks("js"), "Attention of models of two tasks"),
        Entry("hao2020", "figure7", _between_tasks("svcca"), "Hidden states of models of two tasks"),
        Entry("merchant2020", "table1", _edge_probes, "Edge probes before and after fine-tuning"),
        Entry("merchant2020", "figure1", _each("structural_probes"), "Structural probes by layer"),
        Entry("merchant2020", "figure2", _compared("rsa"), "Similarity to the pretrained model on Wikipedia"),
        Entry("merchant2020", "figure3", _sweeps("freeze"), "Scores with the lower layers frozen"),
        Entry("merchant2020", "figure4", _sweeps("keep"), "Scores with the upper layers removed"),
        Entry(
            "merchant2020", "figure5", _compared("rsa"), "Similarity inside and outside the training domain"
        ),
        Entry("merchant2020", "appendix_a", _edge_probes, "Edge probes on the top layer"),
        Entry("merchant2020", "appendix_b", _each("mdl"), "Description length of edge probes"),
    )
}


def figure(name: str) -> Entry:
    """The entry of `<paper>/<item>`; UserError with the known names otherwise."""
    if name not in FIGURES:
        raise UserError(f"no figure '{name}'; there are {', '.join(FIGURES)}.")
    return FIGURES[name]


def needs(name: str, config: Mapping) -> list[str]:
    """The tables that figure `name` reads, in the order of `config['figures'][paper][item]`.

    UserError, with the key's path, for an entry that lacks what the figure needs or has models that it cannot show.
    """
    entry = figure(name)
    key = f"figures.{entry.paper}.{entry.item}"
    try:
        return entry.tables(config["figures"][entry.paper][entry.item])
    except KeyError as error:
        more = "pairs: [[mnli, squad]]" if error.args == ("pairs",) else "reference: base"
        raise UserError(f"{key} lacks {error}; write e.g. '{{models: [mnli, squad], {more}}}'.") from None
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def draw(name: str, tables: Mapping, published: Mapping):
    """(figure, table of every number drawn) of figure `name`; `published` is its paper's file in config/published."""
    return import_module(figure(name).module).draw(tables, published)
