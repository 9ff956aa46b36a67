import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from bertshift.errors import UserError

DEFAULT_BASE = "base"
# Characters of a model's name: a file system takes 255 for a file, which may be named by two models.
LONGEST = 100

Range = Callable[[Mapping], tuple[int, int]]


@dataclass(frozen=True)
class Kind:
    """One way in which a model can differ from plain fine-tuning.

    pattern: how a name spells it; forms: examples of that; does: what it does, in words; ranges: the lowest and the
    highest value of a number in its spelling, given a checkpoint's `layers` and `heads`; anew: whether it draws weights
    anew, which are kept nowhere.
    """

    pattern: str
    forms: tuple[str, ...]
    does: str
    ranges: Mapping[str, Range] = field(default_factory=dict)
    anew: bool = False


def _layers(shape: Mapping) -> tuple[int, int]:
    return 1, shape["layers"]


def _heads(shape: Mapping) -> tuple[int, int]:
    return 1, shape["heads"]


_NUMBER = r"0|[1-9]\d*"
# In the order in which a name must give them.
VARIANTS = {
    "random": Kind("random", ("random",), "starts from random weights", anew=True),
    "reinit": Kind(
        rf"reinit(?P<layer>{_NUMBER})(?P<scheme>[bcd]?)(?P<pooler>p?)",
        ("reinit8",),
        "draws layers 8 and up anew; a letter names the scheme, p adds the pooler",
        {"layer": _layers},
        anew=True,
    ),
    "reinit_head": Kind(
        rf"reinitL(?P<layer>{_NUMBER})H(?P<head>{_NUMBER})(?P<scheme>[bcd]?)(?P<output>o?)",
        ("reinitL11H3",),
        "draws head 3 of layer 11 anew; a letter names the scheme, o adds the head's part of the output projection",
        {"layer": _layers, "head": _heads},
        anew=True,
    ),
    "freeze": Kind(
        rf"freeze(?P<through>{_NUMBER}|E)",
        ("freeze8", "freezeE"),
        "trains neither the embeddings nor layers 0 to 8, as Merchant et al. 2020 count; E: the embeddings alone are frozen",
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
        # Of published checkpoints the configuration may not know the width: then the job says what is too much.
        {"rank": lambda shape: (1, shape.get("width", sys.maxsize))},
    ),
    "carry": Kind("carry", ("carry",), "begins with the head of the task before"),
    "bertadam": Kind("bertadam", ("bertadam",), "trains with the optimiser of the original BERT"),
    "plateau": Kind("plateau", ("plateau",), "trains on at a constant rate until the loss does not fall"),
    "at": Kind(rf"at(?P<share>{_NUMBER})", ("at10",), "is the model after 10 % of its training steps"),
}


@dataclass(frozen=True)
class Variant:
    """One `.variant` of a name: its kind, its spelling, and the numbers in it as strings."""

    kind: str
    text: str
    values: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, key: str) -> str:
        return dict(self.values)[key]


@dataclass(frozen=True)
class Model:
    """What a model is: tasks it was fine-tuned on, in order; how the last stage departs from plain; its checkpoint.

    The one grammar is `[task(+task)* | base](.variant)*[@base]`, and a model has exactly one name.
    """

    tasks: tuple[str, ...]
    variants: tuple[Variant, ...]
    base: str

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
        """Whether its last stage started from nothing that an earlier one had learned."""
        return bool(self.tasks and self.variant("random") and not self.variant("carry"))

    @property
    def trained(self) -> "Model":
        """The model after all of its training steps: itself, unless it is a snapshot (`.at10`)."""
        return replace(self, variants=tuple(v for v in self.variants if v.kind != "at"))

    def variant(self, kind: str) -> Variant | None:
        return next((variant for variant in self.variants if variant.kind == kind), None)

    def __str__(self) -> str:
        name = "+".join(self.tasks) or self.base
        name += "".join("." + variant.text for variant in self.variants)
        return name if not self.tasks or self.base == DEFAULT_BASE else f"{name}@{self.base}"


@dataclass(frozen=True)
class Run:
    """One replicate of a model: a pretraining run and, unless nothing was fine-tuned (0), a fine-tuning seed."""

    model: Model
    init: int
    seed: int

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
        return Run(parent, self.init, self.seed if parent.tasks else 0)

    @property
    def ancestors(self) -> list["Run"]:
        """Parent, its parent and so on, down to the pretraining run; empty for that run itself."""
        return [] if self.model.is_checkpoint else [self.parent, *self.parent.ancestors]

    @property
    def checkpoint(self) -> "Run":
        """The pretraining run that this run descends from."""
        return Run(replace(self.model, tasks=(), variants=()), self.init, 0)


def parse_variant(text: str) -> Variant:
    """One variant from its spelling without the dot; raises UserError with the possible forms."""
    for kind, how in VARIANTS.items():
        if match := re.fullmatch(how.pattern, text):
            return Variant(kind, text, tuple(match.groupdict().items()))
    raise UserError(
        f"'.{text}' is not a variant of a model; write one of {', '.join(form for how in VARIANTS.values() for form in how.forms)}."
    )


def _place(variant: Variant) -> int:
    """Where in a name it stands among others."""
    return list(VARIANTS).index(variant.kind)


def alike(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """The known names that are most like `word`, in capital or small letters, nearest first."""
    names = {name.lower(): name for name in known}
    return [names[near] for near in get_close_matches(word.lower(), names, most, cutoff)]


def nearest(word: str, known: Iterable[str]) -> str:
    """The known names that are like `word`, or all of them, for the end of a sentence."""
    known = list(known)
    near = alike(word, known, 3, 0.4)
    return "nearest: " + ", ".join(near) if near else "known: " + ", ".join(known)


def parse_model(name: str, config: Mapping) -> Model:
    """The model that `name` means under `config` (its `tasks` and `bases`).

    Raises UserError with the nearest valid names for an unknown task or checkpoint, with the canonical
    spelling for a second spelling of a known model, and with the valid range for a layer or head that
    the checkpoint lacks.
    """
    if len(name) > LONGEST:
        raise UserError(
            f"model '{name[:20]}...' has {len(name)} characters; write a name of {LONGEST} or fewer, as files are named by it."
        )
    tasks, bases = list(config["tasks"]), list(config["bases"])
    stem, at, base = name.partition("@")
    head, *variants = stem.split(".")
    variants = tuple(map(parse_variant, variants))
    if head in bases:
        if at:
            raise UserError(
                f"model '{name}': '{head}' is a checkpoint already; write '{head}' without '@{base}'."
            )
        model = Model((), variants, head)
        if variants and [variant.kind for variant in variants] not in (["random"], ["keep"]):
            raise UserError(
                f"model '{name}': a checkpoint that is not fine-tuned can only be .random or .keep5."
            )
    else:
        chain = tuple(head.split("+"))
        for task in chain:
            if task not in tasks:
                raise UserError(
                    f"model '{name}': no task or checkpoint '{task}'; {nearest(task, tasks + bases)}."
                )
        if at and base not in bases:
            raise UserError(f"model '{name}': no checkpoint '{base}' at this scale; {nearest(base, bases)}.")
        model = Model(chain, variants, base or DEFAULT_BASE)
    _check_variants(model, name, config["bases"])
    if model.variant("carry"):
        _check_carried_head(model, name, config)
    if model.variant("at"):
        _check_share(model, name, config)
    if str(model) != name:
        raise UserError(f"model '{name}' has one name; write '{model}'.")
    return model


def _check_adapters(model: Model, name: str) -> None:
    """UserError where LoRA, which trains adapters and the head alone, contradicts another variant."""
    if not (lora := model.variant("lora")):
        return
    for other in model.variants:
        if other.kind == "freeze":
            why = (
                f"LoRA on a frozen layer: .{lora.text} freezes all weights and trains adapters in every layer"
            )
        elif VARIANTS[other.kind].anew:
            why = f".{lora.text} would never train the weights that .{other.text} draws"
        elif other.text == "keep0":
            why = f".keep0 leaves no layer for the adapters of .{lora.text}"
        else:
            continue
        raise UserError(f"model '{name}': {why}; leave out one of the two.")


def _check_variants(model: Model, name: str, bases: Mapping) -> None:
    _check_adapters(model, name)
    kinds = [variant.kind for variant in model.variants]
    order = [kind for kind in VARIANTS if kind in kinds]
    if kinds != order:
        ordered = sorted(model.variants, key=_place)
        once = dict.fromkeys(variant.text for variant in ordered)
        raise UserError(f"model '{name}': give each kind of variant once, in the order '.{'.'.join(once)}'.")
    if model.base not in bases:
        raise UserError(f"model '{name}': this scale has no checkpoint '{model.base}'; add it under 'bases'.")
    if model.variant("carry") and len(model.tasks) < 2:
        raise UserError(
            f"model '{name}': .carry keeps the head of an earlier task; name one, as in 'wnli+cola.carry'."
        )
    shape = shape_of(bases[model.base])
    for variant in model.variants:
        for key, limits in VARIANTS[variant.kind].ranges.items():
            low, high = limits(shape)
            if variant[key] != "E" and not low <= int(variant[key]) <= high:
                raise UserError(
                    f"model '{name}': '.{variant.text}' is out of range for '{model.base}', whose {key} here goes from "
                    f"{low} to {high}."
                )


def _check_share(model: Model, name: str, config: Mapping) -> None:
    share, whole, shares = int(model.variant("at")["share"]), model.trained, config["snapshots"]
    if share >= 100:
        raise UserError(
            f"model '{name}': shares go from 0 to 99 %; for the model after all steps write '{whole}'."
        )
    if model.variant("plateau"):
        raise UserError(
            f"model '{name}': .plateau does not know its number of steps beforehand; write '{whole}'."
        )
    if share not in shares:
        raise UserError(
            f"model '{name}': training leaves no snapshot after {share} % of its steps; add {share} to 'snapshots', or name "
            f"one of {', '.join(f'.at{each}' for each in shares)}."
        )


def _check_carried_head(model: Model, name: str, config: Mapping) -> None:
    """Before anything is trained, as far as the configuration knows the labels (not those of tags or trees)."""
    heads = []
    for task in model.tasks[-2:]:
        entry = config["tasks"][task]
        labels = config["datasets"][entry["dataset"]].get("labels", {})
        heads.append((entry["kind"], len(set(labels.values()))))
    if heads[0] != heads[1]:
        words = [f"'{task}' ({kind}, {n} labels)" for task, (kind, n) in zip(model.tasks[-2:], heads)]
        fresh = replace(model, variants=tuple(v for v in model.variants if v.kind != "carry"))
        raise UserError(f"model '{name}': the head of {words[0]} cannot serve {words[1]}; write '{fresh}'.")


def shape_of(base: Mapping) -> Mapping:
    """The part of a `bases` entry that tells layers, heads and vocabulary, pretrained here or elsewhere."""
    return base.get("pretrain") or base


def lineage(base: str, bases: Mapping) -> list[str]:
    """A checkpoint, its `parent`, the parent of that and so on; where these never end, the last name stands there twice."""
    names = [base]
    while (parent := bases.get(names[-1], {}).get("parent")) and names.count(names[-1]) == 1:
        names.append(parent)
    return names


def runs_of(model: Model, config: Mapping) -> list[Run]:
    """Every replicate of a model: pretraining runs x fine-tuning seeds, counted from 1.

    A model fine-tuned from random weights is the same in every pretraining run: its replicates are the seeds, in run 1.
    """
    inits = 1 if model.starts_anew else inits_of(config["bases"][model.base])
    seeds = range(1, seeds_of(model, config) + 1) if model.tasks else [0]
    return [Run(model, init, seed) for init in range(1, inits + 1) for seed in seeds]


def sweep_runs_of(model: Model, config: Mapping) -> list[Run]:
    """The replicates of a row of runs that differ in one thing: those of the model, as far as `sweeps` allows."""
    limits = config["sweeps"] | config["sweeps"].get("per_base", {}).get(model.base, {})
    inits, seeds = limits.get("pretraining_runs"), limits.get("seeds")
    return [
        run
        for run in runs_of(model, config)
        if run.init <= (inits or run.init) and run.seed <= (seeds or run.seed)
    ]


def inits_of(base: Mapping) -> int:
    return base["pretrain"]["runs"] if "pretrain" in base else len(base["checkpoints"])


def seeds_of(model: Model, config: Mapping) -> int:
    return config["tasks"][model.task].get("seeds") or config["bases"][model.base]["seeds"]


# What to write where a pretraining run, or any run, is missing.
MORE_CHECKPOINTS = "list more 'checkpoints' (or raise 'pretrain.runs')"
MORE_RUNS = f"{MORE_CHECKPOINTS}, or raise 'seeds'"


def pair_runs(model: Model, reference: Model, config: Mapping) -> list[tuple[Run, Run]]:
    """Which replicate is compared with which.

    A model is compared with its own parent, or with the replicate of the same pretraining run and seed;
    a fine-tuned model against itself is every pair of its seeds within one pretraining run (Hao et al. 2020,
    Figures 4 and 5), any other every pair of pretraining runs. Models of different checkpoints pair by number, and so do
    checkpoints with the `parent` that they were trained from.
    UserError for a model against itself that has no such pair.
    """
    runs, others = runs_of(model, config), runs_of(reference, config)
    if model == reference:
        if model.tasks:
            pairs = [(a, b) for a in runs for b in runs if a.init == b.init and a.seed < b.seed]
            short = f"one seed only; raise 'bases.{model.base}.seeds', or 'seeds' of tasks.{model.task},"
        else:
            pairs = [(a, b) for a in runs for b in runs if a.init < b.init]
            short = f"one pretraining run only; {MORE_CHECKPOINTS} of bases.{model.base}"
        if not pairs:
            raise UserError(f"'{model}' has {short} to compare it with itself.")
        return pairs
    by_key = {(run.init, run.seed): run for run in others}
    pairs = []
    for run in runs:
        twin = by_key.get((run.init, run.seed)) or by_key.get((run.init, 0))
        if twin:
            pairs.append((run, twin))
        elif not run.seed:
            pairs += [(run, other) for other in others if other.init == run.init]
    if not pairs:
        raise UserError(f"'{model}' and '{reference}' share no replicate; {MORE_RUNS}.")
    return pairs


# Rows of runs that differ in one thing, as a path spells them after the model's name.
SWEEPS = ("freeze", "keep", "reinit[bcd]?p?", r"reinitL[1-9]\d*[bcd]?o?", "seeds")
EMBEDDINGS_ONLY, NOTHING_FROZEN = -2, -1


def sweep_of(run: Run, kind: str, config: Mapping) -> list[tuple[int, Run]]:
    """(position on the axis, run) of the row that `run`, the plain one, is part of or compared with.

    `freeze` (Merchant et al. 2020, Figure 3): the embeddings alone (EMBEDDINGS_ONLY), nothing (NOTHING_FROZEN), then
    layers 0 to x, counted from 0 as on the paper's axis; `keep` (Figure 4): the number of layers kept. `reinit` (BERT Goes
    to College, Figure 3): the first re-initialised layer, L + 1 for none; `reinitL11` (Figures 5 and 6): one head of layer
    11. A letter at their end is the scheme, `p` the pooler as well, `o` the head's columns of the output projection as
    well. `seeds`: the plain model with further seeds, as many as `sweeps.baseline_seeds`, shared among the rows of its
    pretraining run. UserError for a layer that is not there.
    """
    model = run.model
    if model.variant("at"):
        raise UserError(
            f"'{model}' is a snapshot, and the runs of a row train to the end; write '{model.trained}'."
        )
    shape = shape_of(config["bases"][model.base])
    layers = shape["layers"]

    def changed(text: str) -> Run:
        variants = sorted((*model.variants, parse_variant(text)), key=_place)
        return replace(run, model=parse_model(str(replace(model, variants=tuple(variants))), config))

    if kind == "keep":
        return [*((k, changed(f"keep{k}")) for k in range(layers)), (layers, run)]
    if kind == "freeze":
        ends = [(EMBEDDINGS_ONLY, changed("freezeE")), (NOTHING_FROZEN, run)]
        return [*ends, *((x, changed(f"freeze{x}")) for x in range(layers))]
    if kind == "seeds":
        rows = max(each.seed for each in sweep_runs_of(model, config))
        seeds = range(run.seed, max(rows, config["sweeps"]["baseline_seeds"]) + 1, rows)
        return [(seed, replace(run, seed=seed)) for seed in seeds]
    layer, how = re.fullmatch(r"reinit(L\d+)?([a-z]*)", kind).groups()
    if layer:
        return [(h, changed(f"reinit{layer}H{h}{how}")) for h in range(1, shape["heads"] + 1)]
    return [*((k, changed(f"reinit{k}{how}")) for k in range(1, layers + 1)), (layers + 1, run)]


def parse_comparison(name: str, reference: str, config: Mapping) -> tuple[Model, Model]:
    """Both models of a `<model>_vs_<reference>` path; UserError if no token of one matches the other's."""
    model, other = parse_model(name, config), parse_model(reference, config)
    vocabularies = [shape_of(config["bases"][each.base])["vocabulary"] for each in (model, other)]
    if vocabularies[0] != vocabularies[1]:
        raise UserError(f"'{name}' and '{reference}' split words differently (vocabularies "
                        f"{vocabularies[0]} and {vocabularies[1]}); compare models of one vocabulary.")  # fmt: skip
    return model, other


def nearest_target(
    target: str, patterns: Iterable[str], names: Iterable[str], makes: Callable[[str], bool]
) -> str:
    """The sentence for a file that no rule makes: the nearest that one does make, or else the nearest forms of files.

    `patterns` are the files that rules make, with `{wildcards}`; `names` are other things to ask for; `makes` says
    whether a rule makes a file.
    """
    patterns = sorted(set(patterns))
    folders = {form: form.partition("{")[0].rpartition("/")[0] for form in patterns if "{" in form}
    beside = [form for form, folder in folders.items() if target.startswith(f"{folder}/")]
    here = [form for form in beside if target.count("/") == form.count("/")]
    if not here:
        # The same file in each folder that rules write to, files that have one name, and what is no file.
        depths = {folder: folder.count("/") + 1 for folder in folders.values()}
        moved = {"/".join([folder, *target.split("/")[depth:]]) for folder, depth in depths.items()}
        possible = {*names, *patterns} - {*folders} | {file for file in moved if makes(file)}
        # A file of a folder that there is was not meant to be in another.
        within = tuple(f"{folders[form]}/" for form in beside) or ""
        if near := alike(target, sorted(file for file in possible if file.startswith(within)), 1, 0.7):
            return f"no rule makes '{target}'; write {near[0]}."
    forms = get_close_matches(target, here or beside or patterns, n=3, cutoff=0)
    return f"no rule makes '{target}'; the nearest forms are {', '.join(forms)}."
