"""Forgetting in fine-tuning: the loss of the pretrained head on the fine-tuned encoder.

    loss      = mean over hidden words w of -ln p(w)
    forgotten = loss of the model - loss of its checkpoint

where p is the prediction of the checkpoint's head from the last layer of either encoder. 15 % of a
sentence's content tokens are hidden (Devlin et al. 2019, section 3.1), all of them by the mask. A
decoder predicts as many words from those before them. The same words are hidden from all models
that cut a text alike. The head also reads lower layers' output (nostalgebraist 2020, "logit
lens"), through the norms that lie between the last layer and the head.

A second metric is the distance that the encoder's weights moved, |W - W0|_F / |W0|_F.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.activations.extract import encode, equal_lengths, model_inputs, token_positions
from bertshift.activations.sampling import is_special_or_first
from bertshift.data.documents import read_documents
from bertshift.errors import UserError
from bertshift.models.family import family_of, longest_input
from bertshift.models.language_head import LanguageHead, load_language_model
from bertshift.models.layers import norms_of, read
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer, pieces
from bertshift.rows.blocks import block_of, left_out
from bertshift.rows.table import Table, concat
from bertshift.running.memory import in_parts
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

SHARE = 0.15
DECODED = 512  # positions that are decoded at a time: their logits take 100 MB at 50,000 words
DOCUMENTS = 20_000  # of a corpus whose words are counted


def hidden_words(index: Mapping[str, np.ndarray], causal: bool, stimuli: str) -> np.ndarray:
    """Draw the tokens to be predicted, 15 % of each input's content tokens, at least one if there
    are any: their positions [m], rising.

    index: the result of `extract.encode`
    causal: whether the model is a decoder: it does not predict the first token, as no token
        precedes it
    stimuli: a name; the draw depends on it and on the inputs' lengths alone

    UserError where nothing can be hidden.
    """
    generator = np.random.default_rng(seed_from("forgetting", stimuli))
    offsets = index["example_offsets"]
    special = index["special"]
    excluded = is_special_or_first(special, offsets) if causal else special
    hidden = []
    for start, end in pairwise(offsets):
        candidates = start + np.flatnonzero(~excluded[start:end])
        count = max(1, round(SHARE * len(candidates)))
        hidden.append(np.sort(generator.permutation(candidates)[:count]))
    positions = np.concatenate(hidden)
    if not len(positions):
        raise UserError(
            f"stimuli '{stimuli}': no input has a word to be hidden; check their source."
        )
    return positions


@torch.inference_mode()
def losses(
    encoder: PreTrainedModel,
    head: LanguageHead,
    index: Mapping[str, np.ndarray],
    positions: np.ndarray,
    mask: int | None,
) -> np.ndarray:
    """Compute -ln p [layers + 1, m] of some tokens by the head on each layer's output; the
    embeddings come first.

    positions: [m], the tokens
    mask: the token that hides them; None for a decoder, which predicts each token from those
        before it
    """
    offsets = index["example_offsets"]
    words = index["token_ids"].astype(np.int64)
    shown = words.copy()
    if mask is not None:
        shown[positions] = mask
    # The number of each hidden word among all hidden words, -1 for the others.
    hidden_number = np.full(len(words), -1)
    hidden_number[positions] = np.arange(len(positions))
    norms = norms_of(encoder)

    def batch_losses(batch: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
        tokens = token_positions(offsets, batch)
        numbers = hidden_number[tokens]
        is_hidden = numbers >= 0
        # A word is predicted from its own position, or from the one before.
        is_read = is_hidden if mask is not None else np.roll(is_hidden, -1, axis=1)
        inputs = model_inputs(
            encoder.device, input_ids=shown[tokens], token_type_ids=index["segment"][tokens]
        )
        is_read = torch.from_numpy(is_read).to(encoder.device)
        targets = torch.from_numpy(words[tokens][is_hidden]).to(encoder.device)
        layers = []
        for states in read(encoder, **inputs)[0]:
            states = states[is_read]
            for norm in norms:
                states = norm(states)
            layers.append(_head_losses(head, states, targets))
        return numbers[is_hidden], layers

    values = np.empty((encoder.config.num_hidden_layers + 1, len(positions)))
    batches = equal_lengths(np.diff(offsets))
    for _, (numbers, layers) in in_parts(batches, batch_losses, "forgetting"):
        values[:, numbers] = layers
    return values


def _head_losses(head: LanguageHead, states: Tensor, targets: Tensor) -> np.ndarray:
    """Compute -ln p [m] of the `targets` [m] by the head on `states` [m, d]."""
    parts = [
        F.cross_entropy(head(part).float(), words, reduction="none")
        for part, words in zip(states.split(DECODED), targets.split(DECODED), strict=True)
    ]
    return torch.cat(parts).cpu().numpy()


def unigram_losses(
    index: Mapping[str, np.ndarray],
    positions: np.ndarray,
    vocabulary: int,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Compute -ln p(w) [m] of a model that knows only the frequencies of words:

    p(w) = (c(w) + T / V) / (N + T)

    where c counts N tokens of T kinds, in a vocabulary of V kinds (Witten and Bell 1991).

    index: the result of `extract.encode`
    positions: [m], of the words w
    vocabulary: V
    counts: c [V] of another corpus; without it, c counts the content tokens of all inputs except
        the one that the word is in
    """
    words = index["token_ids"]
    content = ~index["special"]
    if counts is not None:
        kinds = np.count_nonzero(counts)
        c = counts[words[positions]]
        p = (c + kinds / vocabulary) / (counts.sum() + kinds)
        return -np.log(p)
    counts = np.bincount(words[content], minlength=vocabulary)
    total = counts.sum()
    kinds = np.count_nonzero(counts)
    losses_of_inputs = []
    for start, end in pairwise(index["example_offsets"]):
        content_words = words[start:end][content[start:end]]
        input_words, input_counts = np.unique(content_words, return_counts=True)
        rest_counts = counts[input_words] - input_counts
        rest_kinds = kinds - np.count_nonzero(rest_counts == 0)
        rest_total = total - input_counts.sum()
        first, last = np.searchsorted(positions, [start, end])
        hidden = words[positions[first:last]]
        c = rest_counts[np.searchsorted(input_words, hidden)]
        p = (c + rest_kinds / vocabulary) / (rest_total + rest_kinds)
        losses_of_inputs.append(-np.log(p))
    return np.concatenate(losses_of_inputs)


def count_words(corpus: Path, tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Count how often each token [vocabulary] occurs in the first DOCUMENTS documents of a corpus
    file."""
    documents = read_documents(corpus)[:DOCUMENTS]
    counts = np.zeros(len(tokenizer), np.int64)
    for first in range(0, len(documents), 1000):
        texts = [" ".join(document) for document in documents[first : first + 1000]]
        for ids in pieces(tokenizer, texts):
            np.add.at(counts, ids, 1)
    return counts


def moved(model: PreTrainedModel, parent: PreTrainedModel) -> Iterator[tuple[str, int, float]]:
    """Yield (variant, layer, |W - W0|_F / |W0|_F): `part` for the embeddings, which are layer 0,
    and each layer; `whole`, at the last layer's number, for all weights that both encoders have
    but a pooler's."""
    family = family_of(model)
    parent_weights = dict(parent.named_parameters())
    squares: dict[str, np.ndarray] = {}
    for name, weight in model.named_parameters():
        group = family.group(name)
        if group != "pooler" and name in parent_weights:
            before = parent_weights[name].detach().double()
            change = weight.detach().double() - before
            sums = [(change**2).sum().item(), (before**2).sum().item()]
            squares[group] = squares.get(group, np.zeros(2)) + sums
    for group, (change, size) in squares.items():
        moved_by = float(np.sqrt(change / size))
        if group == "embeddings":
            yield "part", 0, moved_by
        elif group.isdecimal():
            yield "part", int(group), moved_by
    change, size = sum(squares.values())
    yield "whole", model.config.num_hidden_layers, float(np.sqrt(change / size))


def forgetting(
    runs: Sequence[Mapping],
    rows: Sequence[dict],
    max_length: int,
    stimuli: str,
    corpus: Path | None = None,
) -> Table:
    """Tabulate `forgetting` and `weights_moved` for every run.

    Metric forgetting, in nats: variants `model` and `parent` have a row for each layer. `unigram`
    and `forgotten`, which is model minus parent, have one at the last layer of the model. sd is
    the standard deviation between the n hidden words. Metric weights_moved has the rows of
    `moved`, which have no values without a block of inputs.

    runs: {folder, parent, init, seed, ref_init, ref_seed}; `parent` is the folder of the
        checkpoint
    rows: the inputs, cut to `max_length` pieces
    stimuli: their name, by which words are hidden
    corpus: the checkpoint's training data, where it is at hand

    UserError for a checkpoint without a head or, unless it is a decoder, without a mask.
    """
    tables = []
    folder, parent = None, None
    for number, run in enumerate(runs, 1):
        print(
            f"forgetting: run {number}/{len(runs)}: {run['folder']}", file=sys.stderr, flush=True
        )
        if run["parent"] != folder:
            folder = run["parent"]
            parent = None  # frees the memory of the parent before
            parent = _Parent(Path(folder), rows, max_length, stimuli, corpus)
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        table = Table.of_records(parent.compare(load_encoder(Path(run["folder"]))))
        tables.append(table.assign(**keys))
    return concat(tables)


class _Parent:
    """A checkpoint with its head, the hidden words, and its losses."""

    def __init__(
        self,
        folder: Path,
        rows: Sequence[dict],
        max_length: int,
        stimuli: str,
        corpus: Path | None,
    ):
        self.encoder = load_encoder(folder).to(best_device())
        tokenizer = load_tokenizer(folder)
        head = LanguageHead(load_language_model(folder, self.encoder).to(best_device()))
        causal = family_of(self.encoder).causal
        if not causal and tokenizer.mask_token_id is None:
            raise UserError(
                f"{folder}: the vocabulary has no mask; leave its models out of"
                " figures.beyond.forgetting."
            )
        index = encode(tokenizer, rows, min(max_length, longest_input(self.encoder)))
        positions = hidden_words(index, causal, stimuli)
        mask = None if causal else tokenizer.mask_token_id
        self.losses = partial(losses, head=head, index=index, positions=positions, mask=mask)
        self.parent_losses = self.losses(self.encoder)
        offsets = index["example_offsets"]
        example = np.searchsorted(offsets, positions, side="right") - 1
        self.block = block_of(len(offsets) - 1)[example]
        counts = None if corpus is None else count_words(corpus, tokenizer)
        self.unigram = unigram_losses(index, positions, len(tokenizer), counts)

    def compare(self, model: PreTrainedModel) -> Iterator[dict]:
        """Yield the rows of one fine-tuned model."""
        model = model.to(best_device())
        model_losses = self.losses(model)
        last = len(model_losses) - 1
        for variant, layers in (("model", model_losses), ("parent", self.parent_losses)):
            for layer, values in enumerate(layers):
                yield self._summarise_words(variant, layer, values)
        yield _summarise("unigram", last, self.unigram)
        forgotten = model_losses[-1] - self.parent_losses[-1]
        yield self._summarise_words("forgotten", last, forgotten)
        for variant, layer, value in moved(model, self.encoder):
            yield {
                "metric": "weights_moved",
                "variant": variant,
                "layer": layer,
                "value": value,
                "sd": np.nan,
                "n": 1,
            }

    def _summarise_words(self, variant: str, layer: int, values: np.ndarray) -> dict:
        """Summarise losses of the words, also without those of each block of inputs."""
        means = left_out(np.bincount(self.block, values), np.bincount(self.block))
        return _summarise(variant, layer, values) | {"jackknife": means}


def _summarise(variant: str, layer: int, values: np.ndarray) -> dict:
    return {
        "metric": "forgetting",
        "variant": variant,
        "layer": layer,
        "value": values.mean(),
        "sd": values.std(ddof=1) if len(values) > 1 else np.nan,
        "n": len(values),
    }
