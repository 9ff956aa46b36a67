"""Which measure finds which change, and where? Changes of known place and size are planted in a
checkpoint (`models.plant`), and each measure looks for them. No published measure: ours.

For each pretraining run and draw there are backgrounds, the checkpoint with noise as large as the
change by fine-tuning (`models.noise`), and models that have one change on such noise of their own.
Each is compared with the checkpoint, on the same texts:

    rsa, cka          1 - RSA, 1 - debiased CKA    layers 0 to the last
    svcca, procrustes                              layers 0 to the last
    pwcca             mean of both sides' weights  layers 0 to the last
    made              1 - RSA of what each layer makes of the checkpoint's input (`metrics.made`)
    made_norm         the norm of its difference, relative to what the layer adds
    js, cosine        JS in nats, 1 - cosine, means over heads       layers from 1
    js_head, cosine_head        the same of each head
    js_matched, cosine_matched  of heads and their partners (`metrics.matching`)
    norm              |W - W0| / |W0| of a layer's weights           layers 0 to the last
    edge              the largest singular value of a matrix's change, relative to the edge of
                      noise of its norm, |W - W0| (1 / sqrt(m) + 1 / sqrt(n)) for m x n (Marchenko
                      and Pastur 1967); the largest of a layer's matrices

Hidden states are those of all content tokens. Layer 0 is the embeddings: what it makes is their
output.
"""

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from bertshift.activations.extract import extract
from bertshift.activations.rerun import Rerun
from bertshift.activations.sampling import is_special_or_first
from bertshift.activations.store import Activations, Maps
from bertshift.edits import Edit
from bertshift.errors import UserError
from bertshift.files import sha256
from bertshift.metrics import cosine, jensen_shannon, made, similarity
from bertshift.metrics.hidden_states import CenteredStates, Comparison, Representation
from bertshift.metrics.pairs import token_blocks
from bertshift.metrics.svcca import SHARE
from bertshift.models.family import family_of
from bertshift.models.loading import WEIGHTS as WEIGHTS_FILE
from bertshift.models.loading import load_encoder
from bertshift.models.noise import add_noise
from bertshift.models.plant import plant
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows import blocks
from bertshift.rows.planted import Profile, rows
from bertshift.rows.table import Table
from bertshift.running.parts import LastCallCache, Part, PartCache
from bertshift.running.parts import made as made_parts
from bertshift.seeds import seed_from

STATES = ("rsa", "svcca", "pwcca", "cka", "procrustes")
MADE = ("made", "made_norm")
ATTENTION = ("js", "js_head", "js_matched", "cosine", "cosine_head", "cosine_matched")
WEIGHTS = ("norm", "edge")
MEASURES = (*STATES, *MADE, *ATTENTION, *WEIGHTS)
BLOCKS = 5  # of inputs: each measure is taken once more without each, of every model
SIZED = ("head", "attention", "feed_forward", "rank_one")
REORDERED = ("heads_reordered", "units_reordered")
BACKGROUND, PLANTED = "background", "planted"


def edits_of(
    layers: int, heads: int, sizes: Sequence[float], words: Sequence[str], seed: int
) -> Iterator[Edit]:
    """List the changes of one draw: each kind in every layer and size. The head is drawn."""
    generator = np.random.default_rng(seed)
    for kind, layer, size in product(SIZED, range(1, layers + 1), sizes):
        head = int(generator.integers(1, heads + 1)) if kind == "head" else 0
        yield Edit(kind, layer, head, size)
    for size in sizes:
        yield Edit("words", size=size, words=tuple(words))
        yield Edit("all_layers", size=size)
    for kind, layer in product(REORDERED, range(1, layers + 1)):
        yield Edit(kind, layer)
    yield Edit("nothing")


class Checkpoint:
    """A pretrained model with its activations for some inputs, and what serves all models that are
    compared with it."""

    def __init__(
        self, folder: Path, changed: Path, inputs: Sequence[dict], max_length: int, dumps: Path
    ):
        self.model = load_encoder(folder)
        self.changed = load_encoder(changed)
        self.tokenizer = load_tokenizer(folder)
        self._inputs, self._max_length, self._dumps = inputs, max_length, dumps
        self.activations = self._extract(self.model, "checkpoint")
        self.model.cpu()
        special, offsets = self.activations.special, self.activations.offsets
        content = np.flatnonzero(~is_special_or_first(special, offsets))
        self.blocks = token_blocks(offsets, content, BLOCKS)
        every = np.arange(len(content))
        self.tokens = made.Tokens(content, every, every, self.blocks, self.blocks)
        self.block_of_example = blocks.block_of(self.activations.examples, BLOCKS)

    def variant(self, edit: Edit, seed: int) -> PreTrainedModel:
        """Make the model with noise as large as the change, and with the edit."""
        model = copy.deepcopy(self.model)
        add_noise(model, self.changed, seed_from(seed, "background"))
        plant(model, edit, seed_from(seed, "edit"), self.tokenizer)
        return model

    def profiles(self, model: PreTrainedModel) -> dict[str, np.ndarray]:
        """Measure a model by each of MEASURES: [1 + blocks, layers], or [1 + blocks, layers,
        heads] by head."""
        weights = weight_changes(model.cpu(), self.model)
        activations = self._extract(model, "model")
        columns: dict[str, list[np.ndarray]] = {measure: [] for measure in MEASURES}
        rerun = Rerun(model, activations)
        for layer in range(activations.layers + 1):
            states = activations.hidden(layer)
            made_states = self.tokens.of(states)
            if layer:
                below = self.activations.hidden(layer - 1)
                made_states = made.collect(self.tokens, rerun, layer, below)
                maps = activations.attention(layer), self.activations.attention(layer)
                self._append(columns, self._attention_changes(*maps))
            self._append(columns, self._made(layer, made_states))
            self._append(columns, self._state_changes(layer, states))
        count = len(self.blocks)
        for measure, values in weights.items():
            columns[measure] = [np.full(1 + count, value) for value in values]
        return {measure: np.stack(values, axis=1) for measure, values in columns.items()}

    def _extract(self, model: PreTrainedModel, name: str) -> Activations:
        path = self._dumps / f"{name}.npz"
        path.unlink(missing_ok=True)
        extract(model, self.tokenizer, self._inputs, path, self._max_length, attention=True)
        return Activations(path)

    @staticmethod
    def _append(columns: Mapping[str, list], values: Mapping[str, np.ndarray]) -> None:
        for measure, value in values.items():
            columns[measure].append(value)

    @cached_property
    def _compared(self) -> list[made.ReferenceLayer]:
        """The layers' outputs, and what each adds: the embeddings add all of theirs."""
        layers = []
        before = np.zeros((len(self.tokens.positions), self.activations.width), np.float32)
        for layer in range(self.activations.layers + 1):
            after = self.tokens.of(self.activations.hidden(layer))
            layers.append(made.ReferenceLayer(self.tokens, before, after))
            before = after
        return layers

    @cached_property
    def _representations(self) -> list[Representation]:
        return [self._represent(layer.after) for layer in self._compared]

    def _represent(self, states: np.ndarray) -> Representation:
        return Representation(CenteredStates(states, self.tokens.rsa, self.blocks))

    def _made(self, layer: int, states: np.ndarray) -> dict[str, np.ndarray]:
        distances = self._distances(layer, states, made.RSA, made.NORM)
        return dict(zip(MADE, distances, strict=True))

    def _distances(self, layer: int, states: np.ndarray, *measures: str) -> list[np.ndarray]:
        """Measure states [K, d] by measures of `made`, NaN where one is undefined."""
        rows_by_measure = {
            row["measure"]: np.array([row["value"], *row["jackknife"]])
            for row in self._compared[layer].rows("", states, measures)
        }
        undefined = np.full(1 + len(self.blocks), np.nan)
        return [rows_by_measure.get(measure, undefined) for measure in measures]

    def _state_changes(self, layer: int, states: np.ndarray) -> dict[str, np.ndarray]:
        states = self.tokens.of(states)
        undefined = np.full(1 + len(self.blocks), np.nan)
        values = dict.fromkeys(STATES, undefined)
        [values["rsa"]] = self._distances(layer, states, made.RSA)
        x, y = self._represent(states), self._representations[layer]
        if not (x.states.varies and y.states.varies):
            return values
        k_x, k_y = x.principal().count_for(SHARE), y.principal().count_for(SHARE)
        measure = partial(similarity.distances, k_x=k_x, k_y=k_y)
        measured = {
            variant: np.array([value, *without])
            for variant, value, without in Comparison(x, y).measure(measure)
        }
        if "svcca99" not in measured:
            raise UserError(
                f"{len(states)} tokens cannot tell {k_x} directions from {k_y}: raise"
                " planted.inputs."
            )
        sides = measured["pwcca_model"], measured["pwcca_reference"]
        return values | {
            "svcca": measured["svcca99"],
            "pwcca": np.mean(sides, axis=0),
            "cka": measured["cka_debiased"],
            "procrustes": measured["procrustes"],
        }

    def _attention_changes(self, maps: Maps, others: Maps) -> dict[str, np.ndarray]:
        nats = jensen_shannon.per_map(maps, others)
        cosines = cosine.per_map(maps, others)
        changes = {
            "js": nats,
            "js_matched": jensen_shannon.matched(maps, others, nats),
            "cosine": 1 - cosines,
            "cosine_matched": 1 - cosine.matched(maps, others, cosines),
        }
        by_head = {measure: self._over_examples(values) for measure, values in changes.items()}
        means = {measure: values.mean(axis=1) for measure, values in by_head.items()}
        return means | {"js_head": by_head["js"], "cosine_head": by_head["cosine"]}

    def _over_examples(self, values: np.ndarray) -> np.ndarray:
        """Average values [n, heads] over all examples, then over those outside each block."""
        numbers = np.unique(self.block_of_example)
        rests = [values[self.block_of_example != number].mean(axis=0) for number in numbers]
        return np.stack([values.mean(axis=0), *rests])


@torch.no_grad()
def weight_changes(model: PreTrainedModel, before: PreTrainedModel) -> dict[str, np.ndarray]:
    """Measure the change of each layer's weights, [layers + 1], by norm and edge; layer 0 is the
    embeddings."""
    layers = before.config.num_hidden_layers
    squares, sizes, edges = (np.zeros(layers + 1) for _ in range(3))
    family, old = family_of(before), dict(before.named_parameters())
    for name, weight in model.named_parameters():
        group = family.group(name)
        if group != "embeddings" and not group.isdecimal():
            continue
        layer = 0 if group == "embeddings" else int(group)
        change = weight.double() - old[name].double()
        squares[layer] += float(change.square().sum())
        sizes[layer] += float(old[name].double().square().sum())
        if change.dim() == 2:
            edges[layer] = max(edges[layer], edge(change.numpy()))
    return {"norm": np.sqrt(squares / np.maximum(sizes, np.finfo(float).tiny)), "edge": edges}


def edge(change: np.ndarray) -> float:
    """Divide the largest singular value of a change [m, n] by the edge of noise of its norm; 0
    where nothing changed."""
    narrow = change if change.shape[0] >= change.shape[1] else change.T
    norm = np.linalg.norm(narrow)
    if not norm:
        return 0.0
    largest = np.sqrt(max(np.linalg.eigvalsh(narrow.T @ narrow)[-1], 0.0))
    edge_of_noise = norm * sum(1 / np.sqrt(count) for count in narrow.shape)
    return float(largest / edge_of_noise)


def compare(
    starts: Sequence[Mapping],
    inputs: Sequence[dict],
    settings: Mapping,
    max_length: int,
    part_cache: PartCache,
) -> Table:
    """Plant changes in each pretraining run, and tabulate `rows.planted.rows` of all measures,
    draw by draw. Further columns are init, seed (the draw) and n (of inputs).

    Each model is a part of the job, made, measured and dropped one after the other. Kinds that a
    family cannot take are left out, with a line on stderr.

    starts: {"init", "start", "changed"}, folders of a checkpoint and of a model fine-tuned from it
    inputs: rows of id and text_a, cut to `max_length` pieces
    settings: layers and heads of the checkpoint; backgrounds, draws, sizes and words

    UserError where tokens are too few.
    """
    dumps = part_cache.folder / "activations"
    dumps.mkdir(parents=True, exist_ok=True)

    def open_checkpoint(start: str, changed: str) -> Checkpoint:
        return Checkpoint(Path(start), Path(changed), inputs, max_length, dumps)

    opened = LastCallCache(open_checkpoint)
    parts = {}
    for start in starts:
        folders = start["start"], start["changed"]
        recipe = {
            "code": part_cache.code,
            "weights": [sha256(Path(folder) / WEIGHTS_FILE) for folder in folders],
            "inputs": [[row["text_a"], row.get("text_b")] for row in inputs],
            "max_length": max_length,
        }
        for draw in range(1, settings["draws"] + 1):
            for number, (role, edit) in enumerate(_models(start["init"], draw, settings), 1):
                seed = seed_from("planted", start["init"], draw, number, edit.kind)
                parts[start["init"], draw, role, edit, number] = Part(
                    f"init{start['init']}_draw{draw}_model{number}",
                    recipe | {"edit": asdict(edit), "seed": seed},
                    partial(_measure, opened, folders, edit, seed),
                )
    return _table(made_parts(parts, part_cache.folder, "planted"), len(inputs))


def _models(init: int, draw: int, settings: Mapping) -> Iterator[tuple[str, Edit]]:
    """List the role and the edit of each model of a draw."""
    for _ in range(settings["backgrounds"]):
        yield BACKGROUND, Edit("nothing")
    keys = ("layers", "heads", "sizes", "words")
    seed = seed_from("planted", init, draw, "heads")
    for edit in edits_of(*(settings[key] for key in keys), seed):
        yield PLANTED, edit


def _measure(opened: Callable, folders: tuple[str, str], edit: Edit, seed: int) -> dict:
    """Make and measure one model; {"refused": why} for a kind that its family cannot take."""
    checkpoint: Checkpoint = opened(*folders)
    try:
        model = checkpoint.variant(edit, seed)
    except UserError as error:
        return {"refused": str(error)}
    profiles = checkpoint.profiles(model)
    return {measure: torch.from_numpy(values) for measure, values in profiles.items()}


def _table(measured: Mapping[tuple, Mapping], inputs: int) -> Table:
    draws: dict[tuple, dict[str, list]] = {}
    refused = {}
    for (init, draw, role, edit, _), result in measured.items():
        if "refused" in result:
            refused[edit.kind] = result["refused"]
            continue
        of_draw = draws.setdefault((init, draw), {BACKGROUND: [], PLANTED: []})
        of_draw[role].append((edit, dict(_profiles(result))))
    for kind, reason in refused.items():
        print(f"planted: without {kind}: {reason}", file=sys.stderr, flush=True)
    table = []
    for (init, draw), models in draws.items():
        backgrounds = [profiles for _, profiles in models[BACKGROUND]]
        for row in rows(models[PLANTED], backgrounds):
            table.append({"init": init, "seed": draw} | row | {"n": inputs})
    return Table.of_records(table)


def _profiles(result: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, Profile]]:
    """Make the profiles of one model from what `_measure` returns."""
    for measure, tensor in result.items():
        values = tensor.numpy()
        heads = values.shape[2] if values.ndim == 3 else 0
        first_layer = 1 if measure in ATTENTION else 0
        layers, head_numbers = np.indices((values.shape[1], max(heads, 1)))
        yield (
            measure,
            Profile(
                layers.ravel() + first_layer,
                head_numbers.ravel() + (1 if heads else 0),
                np.nan_to_num(values.reshape(len(values), -1), nan=-np.inf),
            ),
        )
