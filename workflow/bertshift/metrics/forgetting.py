"""What fine-tuning made a model forget: the loss of the pretrained head on the fine-tuned
encoder.

    loss      = mean over hidden words w of -ln p(w)
    forgotten = loss of the model - loss of its checkpoint

where p is what the checkpoint's own head makes of the last layer, of either encoder. 15 % of a
sentence's content tokens are hidden (Devlin et al. 2019, section 3.1), all of them by the mask. A
decoder predicts as many words from those before them. The same words are hidden from all models
that cut a text alike. The head on lower layers' output is a curve beside that (nostalgebraist
2020, "logit lens"): what stands between the last layer and the head stands there too.

Beside it: how far the encoder's weights moved, |W - W0|_F / |W0|_F.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bertshift.activations.extract import encode, equal_lengths, model_inputs, places
from bertshift.data.documents import read_documents
from bertshift.errors import UserError
from bertshift.models.family import family_of, longest_input
from bertshift.models.language_head import LanguageHead, load_language_model
from bertshift.models.layers import norms_of, read
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer, pieces
from bertshift.rows.blocks import JACKKNIFE_COLUMNS, block_of, left_out
from bertshift.running.memory import in_parts
from bertshift.seeds import seed_from
from bertshift.tasks.inference import best_device

SHARE = 0.15
DECODED = 512  # places that are decoded at a time: their logits take 100 MB at 50,000 words
DOCUMENTS = 20_000  # of a corpus, that are counted


def hidden_words(index: Mapping[str, np.ndarray], causal: bool, stimuli: str) -> np.ndarray:
    """Draw the tokens to be predicted, 15 % of each input's content tokens, at least one if there
    are any.

    Returns their positions [m], rising. index: as of `extract.encode`. The draw depends on the
    inputs' lengths and on the name `stimuli` alone. In a decoder (`causal`) the first token is not
    predicted, as nothing stands before it. Raises UserError where nothing can be hidden.
    """
    generator = np.random.default_rng(seed_from("forgetting", stimuli))
    apart = index["special"].copy()
    offsets = index["example_offsets"]
    if causal:
        apart[offsets[:-1]] = True
    found = []
    for first, end in pairwise(offsets):
        candidates = first + np.flatnonzero(~apart[first:end])
        order = generator.permutation(candidates)
        found.append(np.sort(order[: max(1, round(SHARE * len(candidates)))]))
    positions = np.concatenate(found)
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
    """Compute -ln p [layers + 1, m] of the tokens at `positions` [m] by the head on each layer's
    output.

    The embeddings come first. mask: the token that hides them; None for a decoder, which predicts
    each token from those before it.
    """
    offsets, words = index["example_offsets"], index["token_ids"].astype(np.int64)
    shown = words.copy()
    if mask is not None:
        shown[positions] = mask
    number = np.full(len(words), -1)
    number[positions] = np.arange(len(positions))
    found = np.empty((encoder.config.num_hidden_layers + 1, len(positions)))
    norms = norms_of(encoder)

    def computed(batch: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
        at = places(offsets, batch)
        chosen = number[at]
        # A word is predicted from its own place, or from the one before.
        reads = chosen >= 0 if mask is not None else np.roll(chosen, -1, axis=1) >= 0
        inputs = model_inputs(
            encoder.device, input_ids=shown[at], token_type_ids=index["segment"][at]
        )
        reads = torch.from_numpy(reads).to(encoder.device)
        targets = torch.from_numpy(words[at][chosen >= 0]).to(encoder.device)
        layers = []
        for states in read(encoder, **inputs)[0]:
            states = states[reads]
            for norm in norms:
                states = norm(states)
            parts = zip(states.split(DECODED), targets.split(DECODED), strict=True)
            each = [
                F.cross_entropy(head(part).float(), word, reduction="none") for part, word in parts
            ]
            layers.append(torch.cat(each).cpu().numpy())
        return chosen[chosen >= 0], layers

    for _, (numbers, layers) in in_parts(equal_lengths(np.diff(offsets)), computed, "forgetting"):
        found[:, numbers] = layers
    return found


def unigram_losses(
    index: Mapping[str, np.ndarray],
    positions: np.ndarray,
    vocabulary: int,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Compute -ln p(w) [m] of a model that knows how frequent words are, and nothing else.

    p(w) = (c(w) + T / V) / (N + T), where c counts N tokens of T kinds, of V that there are
    (Witten and Bell 1991). counts: c [V] of another corpus. Without it, c counts the content
    tokens of all inputs except the one that the word is in.
    """
    words, content = index["token_ids"], ~index["special"]
    if counts is not None:
        kinds = np.count_nonzero(counts)
        return -np.log((counts[words[positions]] + kinds / vocabulary) / (counts.sum() + kinds))
    counts = np.bincount(words[content], minlength=vocabulary)
    total, kinds = counts.sum(), np.count_nonzero(counts)
    found = []
    offsets = index["example_offsets"]
    for first, end in pairwise(offsets):
        inside = slice(first, end)
        own, times = np.unique(words[inside][content[inside]], return_counts=True)
        left = dict(zip(own.tolist(), (counts[own] - times).tolist(), strict=True))
        others = kinds - np.count_nonzero(counts[own] == times)
        here = words[
            positions[np.searchsorted(positions, first) : np.searchsorted(positions, end)]
        ]
        c = np.array([left[word] for word in here.tolist()])
        found.append(-np.log((c + others / vocabulary) / (total - times.sum() + others)))
    return np.concatenate(found)


def counted(corpus: Path, tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
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
    family, before = family_of(model), dict(parent.named_parameters())
    squares: dict[str, np.ndarray] = {}
    for name, weight in model.named_parameters():
        group = family.group(name)
        if group != "pooler" and name in before:
            start = before[name].detach().double()
            sums = [
                ((weight.detach().double() - start) ** 2).sum().item(),
                (start**2).sum().item(),
            ]
            squares[group] = squares.get(group, np.zeros(2)) + sums
    for group, (change, size) in squares.items():
        if group == "embeddings" or group.isdecimal():
            yield "part", int(group) if group.isdecimal() else 0, float(np.sqrt(change / size))
    change, size = sum(squares.values())
    yield "whole", model.config.num_hidden_layers, float(np.sqrt(change / size))


def forgetting(
    runs: Sequence[Mapping],
    rows: Sequence[dict],
    max_length: int,
    stimuli: str,
    corpus: Path | None = None,
) -> pd.DataFrame:
    """Tabulate `forgetting` and `weights_moved` for every run {folder, parent, init, seed,
    ref_init, ref_seed}.

    Metric forgetting, in nats: variants `model` and `parent` have a row for each layer. `unigram`
    and `forgotten`, which is model minus parent, have one at the last layer of the model. sd is
    the standard deviation between the n hidden words; the columns blocks.JACKKNIFE_COLUMNS have
    the value without each block of inputs. Metric weights_moved: as of `moved`. `parent` is the
    folder of the run's checkpoint; corpus: what the checkpoint was trained on, where it is at
    hand. Raises UserError for a checkpoint without a head or, unless it is a decoder, without a
    mask.
    """
    tables, parents = [], {}
    for number, run in enumerate(runs, 1):
        print(
            f"forgetting: run {number}/{len(runs)}: {run['folder']}", file=sys.stderr, flush=True
        )
        if run["parent"] not in parents:
            parents = {
                run["parent"]: _Parent(Path(run["parent"]), rows, max_length, stimuli, corpus)
            }
        found = list(parents[run["parent"]].compared(load_encoder(Path(run["folder"]))))
        keys = {key: run[key] for key in ("init", "seed", "ref_init", "ref_seed")}
        tables.append(pd.DataFrame(found).assign(**keys))
    return pd.concat(tables, ignore_index=True)


class _Parent:
    """A checkpoint: its head, the words that are hidden, and its own losses."""

    def __init__(
        self,
        folder: Path,
        rows: Sequence[dict],
        max_length: int,
        stimuli: str,
        corpus: Path | None,
    ):
        self.encoder, tokenizer = load_encoder(folder).to(best_device()), load_tokenizer(folder)
        self.head = LanguageHead(load_language_model(folder, self.encoder).to(best_device()))
        causal = family_of(self.encoder).causal
        if not causal and tokenizer.mask_token_id is None:
            raise UserError(
                f"{folder}: the vocabulary has no mask; leave its models out of"
                " figures.beyond.forgetting."
            )
        index = encode(tokenizer, rows, min(max_length, longest_input(self.encoder)))
        positions = hidden_words(index, causal, stimuli)
        self.losses = partial(
            losses,
            head=self.head,
            index=index,
            positions=positions,
            mask=None if causal else tokenizer.mask_token_id,
        )
        offsets = index["example_offsets"]
        self.block = block_of(len(offsets) - 1)[
            np.searchsorted(offsets, positions, side="right") - 1
        ]
        self.own = self.losses(self.encoder)
        counts = None if corpus is None else counted(corpus, tokenizer)
        self.unigram = unigram_losses(index, positions, len(tokenizer), counts)

    def compared(self, model: PreTrainedModel) -> Iterator[dict]:
        model = model.to(best_device())
        theirs = self.losses(model)
        last = len(theirs) - 1
        for variant, values in (("model", theirs), ("parent", self.own)):
            for layer, each in enumerate(values):
                yield _row(variant, layer, each) | self.without(each)
        yield _row("unigram", last, self.unigram)
        forgotten = theirs[-1] - self.own[-1]
        yield _row("forgotten", last, forgotten) | self.without(forgotten)
        for variant, layer, value in moved(model, self.encoder):
            yield {
                "metric": "weights_moved",
                "variant": variant,
                "layer": layer,
                "value": value,
                "sd": np.nan,
                "n": 1,
            }

    def without(self, values: np.ndarray) -> dict[str, float]:
        """Average losses without the words of each block of inputs."""
        return dict(
            zip(
                JACKKNIFE_COLUMNS,
                left_out(np.bincount(self.block, values), np.bincount(self.block)),
            )
        )


def _row(variant: str, layer: int, values: np.ndarray) -> dict:
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return {
        "metric": "forgetting",
        "variant": variant,
        "layer": layer,
        "value": values.mean(),
        "sd": spread,
        "n": len(values),
    }
