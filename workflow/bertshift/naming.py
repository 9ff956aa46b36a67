"""The grammar of models' names, and the check of a name against a configuration."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePath

from bertshift.edits import check_place
from bertshift.errors import UserError
from bertshift.suggestions import nearest

DEFAULT_BASE = "base"
# Characters of a model's name: a file system takes 255 for a file, which may be named by two
# models.
LONGEST = 100

Range = Callable[[Mapping], tuple[int, int]]


@dataclass(frozen=True)
class Kind:
    """One way in which a model can differ from plain fine-tuning: a variant of names.

    pattern: how a name spells it
    forms: example spellings
    does: what it does, in words
    ranges: the lowest and the highest value of a number in its spelling, given a checkpoint's
        `layers` and `heads`
    reinitialised: whether it draws weights anew, which no file keeps
    """

    pattern: str
    forms: tuple[str, ...]
    does: str
    ranges: Mapping[str, Range] = field(default_factory=dict)
    reinitialised: bool = False


def _layers(shape: Mapping) -> tuple[int, int]:
    return 1, shape["layers"]


def _heads(shape: Mapping) -> tuple[int, int]:
    return 1, shape["heads"]


_NUMBER = r"0|[1-9]\d*"
# In the order in which a name must give them.
VARIANTS = {
    "random": Kind("random", ("random",), "starts from random weights", reinitialised=True),
    "reinit": Kind(
        rf"reinit(?P<layer>{_NUMBER})(?P<scheme>[bcd]?)(?P<pooler>p?)",
        ("reinit8",),
        "draws layers 8 and up, counted from 1, anew; a letter names the scheme, p adds the"
        " pooler",
        {"layer": _layers},
        reinitialised=True,
    ),
    "reinit_head": Kind(
        rf"reinitL(?P<layer>{_NUMBER})H(?P<head>{_NUMBER})(?P<scheme>[bcd]?)(?P<output>o?)",
        ("reinitL11H3",),
        "draws head 3 of layer 11 anew; a letter names the scheme, o adds the head's part of the"
        " output projection",
        {"layer": _layers, "head": _heads},
        reinitialised=True,
    ),
    "freeze": Kind(
        rf"freeze(?P<through>{_NUMBER}|E)",
        ("freeze8", "freezeE"),
        "freezes the embeddings and layers 0 to 8, counted from 0 as in Merchant et al. 2020; E"
        " freezes the embeddings alone",
        {"through": lambda shape: (0, shape["layers"] - 1)},
    ),
    "keep": Kind(
        rf"keep(?P<layers>{_NUMBER})",
        ("keep5",),
        "keeps the five lowest layers",
        {"layers": lambda shape: (0, shape["layers"])},
    ),
    "lora": Kind(
        r"lora(?P<rank>[1-9]\d*)",
        ("lora8",),
        "trains low-rank adapters of rank 8 beside frozen weights, and adds them to these",
        # The configuration may not know the width of a published checkpoint: then the job says
        # what is too much.
        {"rank": lambda shape: (1, shape.get("width", sys.maxsize))},
    ),
    "carry": Kind(
        "carry", ("carry",), "begins with the head of the task before it, instead of a new one"
    ),
    "bertadam": Kind("bertadam", ("bertadam",), "trains with the optimiser of the original BERT"),
    "plateau": Kind(
        "plateau", ("plateau",), "trains on at a constant rate until the loss does not fall"
    ),
    "shuffled": Kind(
        "shuffled", ("shuffled",), "trains on labels dealt anew to the training examples"
    ),
    "at": Kind(
        rf"at(?P<share>{_NUMBER})", ("at10",), "is the model after 10 % of its training steps"
    ),
    "noise": Kind(
        "noise", ("noise",), "is what it was trained from, with noise as large as its change"
    ),
    "edit": Kind(
        r"edit_(?P<edit>[a-z][a-z0-9]*)",
        ("edit_ff2",),
        "is a checkpoint with the change that `edits` in the configuration calls ff2",
    ),
}


# Variants that have nothing of the task, which models are compared with (`rows.nulls`).
NULLS = ("noise", "shuffled")

# Rows of runs that differ in one thing, as a path spells them after the model's name.
SWEEPS = ("freeze", "keep", "reinit[bcd]?p?", r"reinitL[1-9]\d*[bcd]?o?", "seeds")
_BETWEEN = "_vs_"


def null_of(name: str) -> str:
    """Name the null of this name, one of NULLS; empty for a model."""
    model = Model.of(name)
    return next((null for null in NULLS if model.variant(null)), "")


def is_of_null(path: str) -> bool:
    """Test whether a table's path, or the name of a pair, names a null."""
    return any(map(null_of, named_in(PurePath(path).name.removesuffix(".tsv"))))


def pair_name(*models: str) -> str:
    """Name one model, or two that are compared, as a path spells them."""
    return _BETWEEN.join(models)


def is_pair(text: str) -> bool:
    """Test whether a path names two models that are compared."""
    return _BETWEEN in text


def named_in(text: str) -> list[str]:
    """List the models that a path names: one, or the two that it compares."""
    return text.split(_BETWEEN)


def noise_of(name: str) -> str:
    """Name the models made by noise as large as the change of this one."""
    return str(Model.of(name).plus("noise"))


@dataclass(frozen=True)
class Variant:
    """One `.variant` of a name: its kind, empty for a spelling that is none; its spelling; and the
    numbers in it as strings."""

    kind: str
    text: str
    values: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, key: str) -> str:
        return dict(self.values)[key]


@dataclass(frozen=True)
class Model:
    """A model: the tasks it was fine-tuned on, in order; how its last stage differs from plain
    fine-tuning; its checkpoint.

    The grammar is `[task(+task)* | base](.variant)*[@base]`, and a model has exactly one name.
    """

    tasks: tuple[str, ...]
    variants: tuple[Variant, ...] = ()
    base: str = DEFAULT_BASE

    @classmethod
    @cache
    def of(cls, name: str) -> "Model":
        """Read a name by its spelling alone, as tables and figures do. A checkpoint other than
        the default one is taken for a task: only the configuration tells them apart
        (`parse_model`)."""
        stem, _, base = name.partition("@")
        stages, *variants = stem.split(".")
        tasks = () if stages == DEFAULT_BASE else tuple(stages.split("+"))
        return cls(tasks, tuple(map(_read_variant, variants)), base or DEFAULT_BASE)

    @classmethod
    def of_row(cls, path: str) -> tuple["Model", str]:
        """Read the path of a row of runs, such as `results/sweeps/rte@cased.reinit.tsv`, as the
        plain model and what the row does to it."""
        name = PurePath(path).name.removesuffix(".tsv").removesuffix(".losses")
        model, _, kind = name.rpartition(".")
        return cls.of(model), kind

    @property
    def stages(self) -> tuple[str, ...]:
        """The tasks, or the checkpoint of a pretrained model."""
        return self.tasks or (self.base,)

    @property
    def task(self) -> str | None:
        """The task of the last stage; None for a pretrained model."""
        return self.tasks[-1] if self.tasks else None

    @property
    def is_checkpoint(self) -> bool:
        return not self.tasks and not self.variants

    @property
    def parent(self) -> "Model":
        """The model whose weights the last stage starts from."""
        return Model(self.tasks[:-1], (), self.base)

    @property
    def starts_anew(self) -> bool:
        """Whether its last stage started without anything that an earlier stage had learned."""
        return bool(self.tasks and self.variant("random") and not self.variant("carry"))

    @property
    def trained(self) -> "Model":
        """The model after all of its training steps: itself, unless it is a snapshot (`.at10`)."""
        return self.without("at")

    @property
    def imitated(self) -> "Model":
        """The model whose change has the size of the noise (`.noise`); any other model is
        itself."""
        return self.without("noise")

    @property
    def plain(self) -> "Model":
        return replace(self, variants=())

    def without(self, kind: str) -> "Model":
        """Name the model without its variant of this kind, if it has one."""
        return replace(self, variants=tuple(v for v in self.variants if v.kind != kind))

    def plus(self, variant: str) -> "Model":
        """Add a variant, at its place in the order of names."""
        return replace(self, variants=in_order([*self.variants, parse_variant(variant)]))

    def variant(self, kind: str) -> Variant | None:
        return next((variant for variant in self.variants if variant.kind == kind), None)

    def __str__(self) -> str:
        name = ".".join(["+".join(self.stages), *(variant.text for variant in self.variants)])
        return name if not self.tasks or self.base == DEFAULT_BASE else f"{name}@{self.base}"


@dataclass(frozen=True)
class Run:
    """One replicate of a model.

    init: the pretraining run
    seed: the fine-tuning seed, 0 if nothing was fine-tuned. The seed of a model with noise counts
        draws: first those of the imitated model's seed 1, then those of its seed 2
    draws: of each seed of the imitated model
    """

    model: Model
    init: int
    seed: int
    draws: int = 1

    @property
    def name(self) -> str:
        return f"init{self.init}_seed{self.seed}" if self.seed else f"init{self.init}"

    @property
    def folder(self) -> str:
        kind = "pretrained" if self.model.is_checkpoint else "models"
        return f"results/{kind}/{self.model}/{self.name}"

    @property
    def parent(self) -> "Run":
        parent = self.model.parent
        return Run(parent, self.init, self.imitated.seed if parent.tasks else 0)

    @property
    def imitated(self) -> "Run":
        """The run whose change has the size of this run's noise; a run without noise is itself."""
        if not self.model.variant("noise"):
            return self
        return Run(self.model.imitated, self.init, seed_and_draw(self.seed, self.draws)[0])

    @property
    def draw(self) -> int:
        """The number of this run's draw, from 1, among those that imitate the same run."""
        return seed_and_draw(self.seed, self.draws)[1]

    @property
    def ancestors(self) -> list["Run"]:
        """Parent, its parent and so on, down to the pretraining run; empty for that run itself."""
        return [] if self.model.is_checkpoint else [self.parent, *self.parent.ancestors]

    @property
    def checkpoint(self) -> "Run":
        """The pretraining run that this run descends from."""
        return Run(replace(self.model, tasks=(), variants=()), self.init, 0)


def draw_number(seed: int, draw: int, draws: int) -> int:
    """Give a draw of noise its number: first come those of the imitated run's seed 1, then those
    of seed 2.

    All count from 1.
    """
    return (seed - 1) * draws + draw


def seed_and_draw(number: int, draws: int) -> tuple[int, int]:
    """Return the imitated run's seed and the draw that `draw_number` gave this number."""
    seed, draw = divmod(number - 1, draws)
    return seed + 1, draw + 1


def parse_variant(text: str) -> Variant:
    """Parse one variant from its spelling without the dot; raise UserError with the possible
    forms."""
    variant = _read_variant(text)
    if not variant.kind:
        forms = [form for kind in VARIANTS.values() for form in kind.forms]
        raise UserError(f"'.{text}' is not a variant of a model; write one of {', '.join(forms)}.")
    return variant


def _read_variant(text: str) -> Variant:
    for name, kind in VARIANTS.items():
        if match := re.fullmatch(kind.pattern, text):
            return Variant(name, text, tuple(match.groupdict().items()))
    return Variant("", text)


def in_order(variants: Iterable[Variant]) -> tuple[Variant, ...]:
    """Sort variants into the order in which a name must give them."""
    order = ["", *VARIANTS]
    return tuple(sorted(variants, key=lambda variant: order.index(variant.kind)))


def parse_model(name: str, config: Mapping) -> Model:
    """Parse `name` into a model, with the `tasks` and `bases` of `config`.

    UserError with the nearest valid names for an unknown task or checkpoint, with the canonical
    spelling for a second spelling of a known model, and with the valid range for a layer or head
    that the checkpoint lacks.
    """
    if len(name) > LONGEST:
        raise UserError(
            f"model '{name[:20]}...' has {len(name)} characters; write a name of {LONGEST} or"
            " fewer, as files are named by it."
        )
    tasks, bases = list(config["tasks"]), list(config["bases"])
    model = Model.of(name)
    for variant in model.variants:
        parse_variant(variant.text)
    stem, _, base = name.partition("@")
    stages = stem.partition(".")[0]
    if stages in bases:
        if base:
            raise UserError(
                f"model '{name}': '{stages}' is a checkpoint already; write '{stages}' without"
                f" '@{base}'."
            )
        model = Model((), model.variants, stages)
        kinds = [variant.kind for variant in model.variants]
        if kinds not in ([], ["random"], ["keep"], ["edit"]):
            raise UserError(
                f"model '{name}': a checkpoint that is not fine-tuned can only be .random, .keep5"
                " or .edit_ff2."
            )
    else:
        for task in stages.split("+"):
            if task not in tasks:
                raise UserError(
                    f"model '{name}': no task or checkpoint '{task}';"
                    f" {nearest(task, tasks + bases)}."
                )
        if base and base not in bases:
            raise UserError(
                f"model '{name}': no checkpoint '{base}' at this scale; {nearest(base, bases)}."
            )
    _check_variants(model, name, config["bases"])
    if model.variant("carry"):
        _check_carried_head(model, name, config)
    if model.variant("at"):
        _check_share(model, name, config)
    if model.variant("noise") and model.variant("random"):
        raise UserError(
            f"model '{name}': .random starts from random weights, so there is no change from the"
            f" parent that noise could imitate; write '{model.without('random')}'."
        )
    if model.variant("edit"):
        _check_edit(model, name, config)
    if str(model) != name:
        raise UserError(f"model '{name}' has one name; write '{model}'.")
    return model


def _check_adapters(model: Model, name: str) -> None:
    """Raise UserError where LoRA, which trains adapters and the head alone, contradicts another
    variant."""
    if not (lora := model.variant("lora")):
        return
    for variant in model.variants:
        if variant.kind == "freeze":
            reason = (
                f"LoRA on a frozen layer: .{lora.text} freezes all weights and trains adapters in"
                " every layer"
            )
        elif VARIANTS[variant.kind].reinitialised:
            reason = f".{lora.text} would never train the weights that .{variant.text} draws"
        elif variant.text == "keep0":
            reason = f".keep0 leaves no layer for the adapters of .{lora.text}"
        else:
            continue
        raise UserError(f"model '{name}': {reason}; leave out one of the two.")


def _check_variants(model: Model, name: str, bases: Mapping) -> None:
    """Raise UserError for variants that contradict each other, are out of order, or name a layer
    or head that the checkpoint lacks."""
    _check_adapters(model, name)
    kinds = [variant.kind for variant in model.variants]
    if kinds != [kind for kind in VARIANTS if kind in kinds]:
        texts = [variant.text for variant in in_order(model.variants)]
        order = ".".join(dict.fromkeys(texts))
        raise UserError(
            f"model '{name}': give each kind of variant once, in the order '.{order}'."
        )
    if model.base not in bases:
        raise UserError(
            f"model '{name}': this scale has no checkpoint '{model.base}'; add it under 'bases'."
        )
    if model.variant("carry") and len(model.tasks) < 2:
        raise UserError(
            f"model '{name}': .carry keeps the head of an earlier task; name one, as in"
            " 'wnli+cola.carry'."
        )
    shape = shape_of(bases[model.base])
    for variant in model.variants:
        for key, limits in VARIANTS[variant.kind].ranges.items():
            low, high = limits(shape)
            value = variant[key]
            if value != "E" and not low <= int(value) <= high:
                raise UserError(
                    f"model '{name}': '.{variant.text}' is out of range for '{model.base}', whose"
                    f" {key} here goes from {low} to {high}."
                )


def _check_share(model: Model, name: str, config: Mapping) -> None:
    """Raise UserError where training leaves no snapshot after this share of its steps."""
    share = int(model.variant("at")["share"])
    if share >= 100:
        raise UserError(
            f"model '{name}': shares go from 0 to 99 %; for the model after all steps write"
            f" '{model.trained}'."
        )
    if model.variant("plateau"):
        raise UserError(
            f"model '{name}': .plateau does not know its number of steps beforehand; write"
            f" '{model.trained}'."
        )
    if share not in config["snapshots"]:
        snapshots = [f".at{snapshot}" for snapshot in config["snapshots"]]
        raise UserError(
            f"model '{name}': training leaves no snapshot after {share} % of its steps; add"
            f" {share} to 'snapshots', or name one of {', '.join(snapshots)}."
        )


def _check_edit(model: Model, name: str, config: Mapping) -> None:
    """Raise UserError for an edit that the configuration does not have, of a fine-tuned model, or
    of a layer or head that the checkpoint lacks."""
    variant, entries = model.variant("edit"), config.get("edits", {})
    if model.tasks:
        raise UserError(
            f"model '{name}': a change is made in a checkpoint; write"
            f" '{model.base}.{variant.text}'."
        )
    if variant["edit"] not in entries:
        raise UserError(
            f"model '{name}': no edit '{variant['edit']}'; {nearest(variant['edit'], entries)}."
        )
    shape = shape_of(config["bases"][model.base])
    check_place(name, model.base, entries[variant["edit"]], shape)


def _check_carried_head(model: Model, name: str, config: Mapping) -> None:
    """Raise UserError where the last task cannot use the head of the task before it. The labels
    decide, as far as the configuration knows them before training (it does not know those of tags
    or trees)."""

    def describe_head(task: str) -> str:
        entry = config["tasks"][task]
        labels = config["datasets"][entry["dataset"]].get("labels", {})
        return f"({entry['kind']}, {len(set(labels.values()))} labels)"

    earlier, last = model.tasks[-2:]
    earlier_head, last_head = describe_head(earlier), describe_head(last)
    if earlier_head != last_head:
        raise UserError(
            f"model '{name}': the head of '{earlier}' {earlier_head} cannot serve '{last}'"
            f" {last_head}; write '{model.without('carry')}'."
        )


def shape_of(base: Mapping) -> Mapping:
    """Return the part of a `bases` entry with layers, heads and vocabulary, pretrained here or
    elsewhere."""
    return base.get("pretrain") or base


def parse_comparison(name: str, reference: str, config: Mapping) -> tuple[Model, Model]:
    """Parse both models of a `<model>_vs_<reference>` path; raise UserError if their vocabularies
    differ."""
    models = parse_model(name, config), parse_model(reference, config)
    first, second = [shape_of(config["bases"][model.base])["vocabulary"] for model in models]
    if first != second:
        raise UserError(
            f"'{name}' and '{reference}' split words differently (vocabularies "
            f"{first} and {second}); compare models of one vocabulary."
        )
    return models
