"""Pretraining by a family's own objective.

BERT learns masked words and next sentences together (Devlin et al. 2019, section 3.1, appendix A).
Other encoders learn masked words alone, drawn anew every epoch (Liu et al. 2019, section 4);
decoders learn the next words (Radford et al. 2019).
"""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertForPreTraining,
    PreTrainedModel,
)

from bertshift.errors import UserError
from bertshift.files import write_json
from bertshift.models.families import FAMILIES
from bertshift.models.family import removing, run
from bertshift.models.loading import WEIGHTS, read_weights, save_weights
from bertshift.models.tokenizer import join, layout_of, load_tokenizer
from bertshift.models.tokenizer import pieces as pieces_of
from bertshift.running.memory import in_parts
from bertshift.seeds import seed_from
from bertshift.tasks.batching import Encoded, cross_entropy, pad
from bertshift.training.architectures import config_of
from bertshift.training.forward import to_device
from bertshift.training.loop import autocast_dtype, remove_checkpoint, train
from bertshift.training.settings import TrainSettings

MASKED = 0.15  # of the words of a sequence
HELD_OUT_SHARE = 0.02
SPECIAL_IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")

Document = list[list[int]]  # word pieces of each sentence


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """The lengths of training sequences in word pieces, special ones included.

    A share `short` of the sequences has `short_length`, or any smaller length where that is None
    (the original recipe, with short=0.1); the others have `longest`. A small model learns to
    predict a word from its neighbours many times sooner on short sequences; BERT too was trained
    on 128 of 512 positions for most of its steps.
    """

    longest: int
    short: float = 0.1
    short_length: int | None = None

    def draw(self, generator: np.random.Generator, special: int = 3) -> int:
        """Draw the number of word pieces that fit beside `special` special ones: BERT's are [CLS]
        and two [SEP]."""
        if generator.random() >= self.short:
            return self.longest - special
        short = self.short_length or int(generator.integers(5, self.longest + 1))
        return max(2, short - special)


def pretrain(
    documents: Sequence[Sequence[str]],
    tokenizer_dir: Path,
    architecture: dict,
    settings: TrainSettings,
    seed: int,
    run_dir: Path,
    lengths: Lengths,
    family: str = "bert",
    masked: float = MASKED,
) -> dict:
    """Train a model from scratch on `documents` and save it with its tokenizer as a Hugging Face
    folder.

    Sequences and masks are drawn anew every epoch. Different seeds give independent runs on the
    same held-out documents.

    architecture: keys of BertConfig (hidden_size, num_hidden_layers, ...), which become the
        family's own; the vocabulary's size and special ids come from the tokenizer
    family: the architecture, which decides what is learnt
    masked: share of the words that are masked

    Writes run_dir/{config.json, model.safetensors, tokenizer files, steps.tsv, layers.tsv,
    pretraining.json} and returns what pretraining.json holds: `held_out` has the loss (nats) and
    accuracy of masked or next words, and for BERT the next-sentence accuracy, on 2% of the
    documents. UserError for fewer than three documents (the next sentence needs another document
    to be wrong), a longest sequence beyond the positions, an unknown key, and a vocabulary that
    does not fit the family.
    """
    run_dir, tokenizer_dir = Path(run_dir), Path(tokenizer_dir)
    if len(documents) < 3:
        raise UserError(
            f"pretraining needs three documents or more, and the corpus for {run_dir} has"
            f" {len(documents)}; separate its documents by blank lines."
        )
    objective = choose_objective(family, tokenizer_dir, lengths, masked)
    config = config_of(
        family, architecture, objective.vocabulary, objective.special, lengths.longest
    )
    training, held_out = split_held_out(objective.encode(documents))
    collate = objective.ids.collate

    def draw_epoch(epoch: int) -> list[Encoded]:
        generator = np.random.default_rng(seed_from(seed, "examples", epoch))
        return objective.draw(training, generator=generator)

    torch.manual_seed(seed_from(seed, "weights"))
    model = objective.model(config)
    examples = draw_epoch(0)
    train(model, examples, collate, loss, settings, seed, run_dir, new_epoch=draw_epoch)

    generator = np.random.default_rng(seed_from("held-out examples"))
    held_out_examples = objective.draw(held_out, generator=generator, other_documents=training)
    summary = {
        "architecture": architecture,
        "documents": {"training": len(training), "held_out": len(held_out)},
        "examples_per_epoch": len(examples),
        "held_out": evaluate(model, held_out_examples, collate, settings, objective.predicted),
        "lengths": asdict(lengths),
        "masked": masked,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seed": seed,
        "settings": asdict(settings),
        "tokens_per_epoch": sum(map(len, examples)),
        "vocabulary": config.vocab_size,
    }
    save(model, tokenizer_dir, run_dir)
    write_json(run_dir / "pretraining.json", summary)
    remove_checkpoint(run_dir)
    return summary


@dataclass(frozen=True)
class Objective:
    """A family's pretraining task.

    `encode` cuts documents into word pieces, `draw(documents, generator=, other_documents=)` makes
    one epoch's examples, and `ids` makes batches of these; `predicted` names the predictions that
    are counted on held-out documents.
    """

    predicted: str
    model: Callable[..., PreTrainedModel]
    encode: Callable
    draw: Callable
    ids: "PieceIds"
    vocabulary: int
    special: dict[str, int | None]


def choose_objective(
    family: str, tokenizer_dir: Path, lengths: Lengths, masked: float
) -> Objective:
    """Choose the objective of a family. UserError where the vocabulary in `tokenizer_dir` does not
    fit it."""
    if family == "bert":
        tokenizer = Tokenizer.from_file(str(tokenizer_dir / "tokenizer.json"))
        ids = PieceIds.of(tokenizer)
        return Objective(
            predicted="masked_word",
            model=BertForPreTraining,
            encode=partial(encode_documents, tokenizer=tokenizer),
            draw=partial(draw_examples, ids=ids, lengths=lengths, masked=masked),
            ids=ids,
            vocabulary=tokenizer.get_vocab_size(with_added_tokens=True),
            special={"pad_token_id": ids.pad},
        )
    causal = FAMILIES[family].causal
    words = Words(tokenizer_dir, lengths, causal, masked)
    if family == "mpnet" and words.ids.pad != 1:
        raise UserError(
            f"mpnet takes number 1 for padding, and the vocabulary in {tokenizer_dir} has it as"
            f" number {words.ids.pad}; train one of kind byte_bpe."
        )
    auto_model = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    return Objective(
        predicted="next_word" if causal else "masked_word",
        model=auto_model.from_config,
        encode=words.encode,
        draw=words.draw,
        ids=words.ids,
        vocabulary=len(words.tokenizer),
        special={name: getattr(words.tokenizer, name) for name in SPECIAL_IDS},
    )


def loss(model: nn.Module, batch: dict, full_batch: dict | None = None) -> Tensor:
    """Calculate the mean cross-entropy over the words to be predicted, plus BERT's over the
    next-sentence decisions, in nats. Where `batch` is a part of `full_batch`, calculate what it
    adds to the mean of that."""
    full_batch = full_batch or {}
    words, next_sentence = logits(model, batch)
    word_loss = cross_entropy(words.float(), batch["words"], full_batch.get("words"))
    if next_sentence is None:
        return word_loss
    return word_loss + cross_entropy(
        next_sentence.float(), batch["is_random"], full_batch.get("is_random")
    )


def logits(model: nn.Module, batch: dict) -> tuple[Tensor, Tensor | None]:
    """Predict ([words of the batch to be predicted, vocabulary], BERT's [batch, 2]). To save most
    of the work, no other word is decoded."""
    if "is_random" not in batch:
        return _word_logits(model, batch), None
    output = model.bert(
        input_ids=batch["input_ids"],
        token_type_ids=batch["token_type_ids"],
        attention_mask=batch["attention_mask"],
    )
    masked = output.last_hidden_state.flatten(0, 1)[batch["masked"]]
    return model.cls.predictions(masked), model.cls.seq_relationship(output.pooler_output)


def _word_logits(model: PreTrainedModel, batch: dict) -> Tensor:
    """Decode the base model's output only at the words to be predicted: the language models of
    transformers decode each position separately."""

    def select_masked(_, __, output) -> None:
        states = output.last_hidden_state.flatten(0, 1)
        output["last_hidden_state"] = states[batch["masked"]][None]

    hook = model.base_model.register_forward_hook(select_masked)
    with removing([hook]):
        output = run(model, batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    return output.logits[0]


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    examples: Sequence[Encoded],
    collate: Callable,
    settings: TrainSettings,
    predicted: str = "masked_word",
) -> dict:
    """Measure loss and accuracy per predicted word and BERT's next-sentence accuracy, by `model`
    in evaluation mode."""
    device = next(model.parameters()).device
    autocast_to = autocast_dtype(settings.precision, device)
    model.eval()
    examples = sorted(examples, key=len)

    def count(members: Sequence[Encoded]) -> tuple[float, int, int, int]:
        batch = to_device(collate(members), device)
        with torch.autocast(device.type, dtype=autocast_to, enabled=autocast_to is not None):
            word_logits, next_sentence = logits(model, batch)
        words = batch["words"]
        word_loss = F.cross_entropy(word_logits.float(), words, reduction="sum").item()
        right_words = (word_logits.argmax(-1) == words).sum().item()
        right_pairs = 0
        if next_sentence is not None:
            right_pairs = (next_sentence.argmax(-1) == batch["is_random"]).sum().item()
        return word_loss, right_words, right_pairs, len(words)

    starts = range(0, len(examples), settings.batch_size)
    batches = [examples[start : start + settings.batch_size] for start in starts]
    # The longest batch is the first, so that a lack of memory shows at once.
    counts = [result for _, result in in_parts(reversed(batches), count, "evaluation")]
    loss_sum = right_words = right_pairs = words = 0
    for batch_loss, batch_right_words, batch_right_pairs, batch_words in reversed(counts):
        loss_sum += batch_loss
        right_words += batch_right_words
        right_pairs += batch_right_pairs
        words += batch_words
    summary = {
        "examples": len(examples),
        f"{predicted}s": words,
        f"{predicted}_loss": loss_sum / words,
        f"{predicted}_accuracy": right_words / words,
    }
    if len(examples[0].target) == 3:
        summary["next_sentence_accuracy"] = right_pairs / len(examples)
    return summary


@dataclass(frozen=True)
class PieceIds:
    """The ids of special tokens that examples need, and of all ordinary pieces."""

    pad: int
    cls: int | None
    sep: int | None
    mask: int | None
    ordinary: np.ndarray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "PieceIds":
        names = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
        special = [tokenizer.token_to_id(name) for name in names]
        if None in special:
            raise UserError(
                "the vocabulary lacks one of [PAD], [CLS], [SEP], [MASK] and [UNK]; use a BERT"
                " tokenizer instead."
            )
        size = tokenizer.get_vocab_size(with_added_tokens=True)
        ordinary = np.setdiff1d(np.arange(size), special)
        return cls(*special[:4], ordinary)

    def collate(self, examples: Sequence[Encoded]) -> dict[str, Tensor | None]:
        """Make a batch: `pad`'s tensors, and `masked` (positions in the flattened batch), `words`
        (to be predicted there), and BERT's `is_random`."""
        batch = pad(examples, self.pad)
        width = batch["input_ids"].shape[1]
        masked, words, is_random = [], [], []
        for row, example in enumerate(examples):
            positions, row_words, *rest = example.target
            masked += [row * width + position for position in positions]
            words += row_words
            is_random += rest
        batch["masked"] = torch.tensor(masked)
        batch["words"] = torch.tensor(words)
        if is_random:
            batch["is_random"] = torch.tensor(is_random)
        return batch


def encode_documents(documents: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[Document]:
    """Cut documents into word pieces without special ones; sentences and documents without any
    piece are dropped."""
    tokenizer.encode_special_tokens = True  # "[MASK]" in a text is three ordinary pieces
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoded = []
    for document in documents:
        sentences = tokenizer.encode_batch(list(document), add_special_tokens=False)
        encoded.append([sentence.ids for sentence in sentences if sentence.ids])
    return [document for document in encoded if document]


def split_held_out(documents: list[Document]) -> tuple[list[Document], list[Document]]:
    """Split documents into (training, held out): 2% of the documents, at least one, the same ones
    for every seed."""
    order = np.random.default_rng(seed_from("held-out documents")).permutation(len(documents))
    size = max(1, round(HELD_OUT_SHARE * len(documents)))
    held_out = sorted(order[:size])
    training = sorted(order[size:])
    return [documents[i] for i in training], [documents[i] for i in held_out]


def draw_examples(
    documents: list[Document],
    ids: PieceIds,
    lengths: Lengths,
    generator: np.random.Generator,
    other_documents: list[Document] | None = None,
    masked: float = MASKED,
) -> list[Encoded]:
    """Draw one epoch: [CLS] A [SEP] B [SEP] with masked words; target is (masked positions, their
    pieces, is_random).

    A wrong next segment comes from `other_documents` if given, else from another of `documents`.
    """
    examples = []
    for number in generator.permutation(len(documents)):
        pairs = segment_pairs(documents, number, lengths, generator, other_documents)
        for first, second, is_random in pairs:
            examples.append(mask(first, second, is_random, ids, masked, generator))
    return examples


def segment_pairs(
    documents: list[Document],
    number: int,
    lengths: Lengths,
    generator: np.random.Generator,
    other_documents: list[Document] | None = None,
) -> list[tuple[list[int], list[int], int]]:
    """Cut document `number` into (first segment, second segment, is_random); both segments
    together fill a length drawn from `lengths`. Half of the second segments follow the first in
    the text; the rest are drawn from another document, and the sentences they displace are used
    again.

    Unlike in the original code a cut takes at least two sentences, so that pairs of long sentences
    are not all random: only a document of one sentence has no true pair.
    """
    document = documents[number]
    pairs = []
    start = 0
    while start < len(document):
        start = max(0, min(start, len(document) - 2))
        target = lengths.draw(generator)
        end, pieces = start, 0
        while end < len(document) and (pieces < target or end < start + 2):
            pieces += len(document[end])
            end += 1
        if end - start == 1:
            is_random = True
            middle = end
        else:
            is_random = generator.random() < 0.5
            middle = int(generator.integers(start + 1, end))
        first = list(chain.from_iterable(document[start:middle]))
        if is_random:
            length = max(1, target - len(first))
            second = _draw_random_text(documents, number, length, generator, other_documents)
        else:
            second = list(chain.from_iterable(document[middle:end]))
        # A displaced last sentence is not used again: the last two would be cut a second time.
        start = middle if is_random and start < len(document) - 2 else end
        first, second = _truncate_pair(first, second, target, generator)
        pairs.append((first, second, int(is_random)))
    return pairs


def _draw_random_text(
    documents: list[Document],
    number: int,
    length: int,
    generator: np.random.Generator,
    other_documents: list[Document] | None,
) -> list[int]:
    """Take at least `length` pieces, where there are as many, from another document, from a random
    sentence on."""
    if other_documents is not None:
        document = other_documents[generator.integers(len(other_documents))]
    else:
        other = int(generator.integers(len(documents) - 1))
        document = documents[other + 1 if other >= number else other]
    text: list[int] = []
    for sentence in document[int(generator.integers(len(document))) :]:
        text += sentence
        if len(text) >= length:
            break
    return text


def _truncate_pair(
    first: list[int], second: list[int], room: int, generator: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Take pieces off the longer segment until both fit, at random from its front and its back."""
    first_size = min(len(first), max(room - len(second), (room + 1) // 2))
    second_size = min(len(second), room - first_size)
    first_start = int(generator.binomial(len(first) - first_size, 0.5))
    second_start = int(generator.binomial(len(second) - second_size, 0.5))
    return (
        first[first_start : first_start + first_size],
        second[second_start : second_start + second_size],
    )


def mask(
    first: list[int],
    second: list[int],
    is_random: int,
    ids: PieceIds,
    masked: float,
    generator: np.random.Generator,
) -> Encoded:
    """Select a share `masked` of the pieces, none of them special, and at least one, for
    prediction; of these 80% become [MASK], 10% a random ordinary piece, and 10% stay."""
    row = np.array([ids.cls, *first, ids.sep, *second, ids.sep])
    first_sep = len(first) + 1
    candidates = np.concatenate([np.arange(1, first_sep), np.arange(first_sep + 1, len(row) - 1)])
    positions, words = _mask_words(row, candidates, ids, masked, generator)
    segments = [0] * (first_sep + 1) + [1] * (len(second) + 1)
    return Encoded(row.tolist(), segments, (positions, words, is_random))


def _mask_words(
    row: np.ndarray,
    candidates: np.ndarray,
    ids: PieceIds,
    masked: float,
    generator: np.random.Generator,
) -> tuple[list[int], list[int]]:
    """Change `row` as `mask` does, and return the positions and the words that were there."""
    count = max(1, round(masked * len(row)))
    positions = np.sort(generator.permutation(candidates)[:count])
    words = row[positions]
    lot = generator.random(len(positions))
    random_words = ids.ordinary[generator.integers(len(ids.ordinary), size=len(positions))]
    row[positions] = np.select([lot < 0.8, lot < 0.9], [ids.mask, random_words], words)
    return positions.tolist(), words.tolist()


class Words:
    """Examples of masked words or, for a decoder (`causal`), of next words: consecutive sentences
    of one document, as many as a drawn length takes, joined as the tokenizer joins a text. The
    target is (positions, the words predicted there).

    A sentence that begins a sequence is encoded as the beginning of a text, any other with a space
    before it: its pieces differ in byte-level vocabularies. UserError for a vocabulary without the
    special tokens that an encoder needs.
    """

    def __init__(
        self, tokenizer_dir: Path, lengths: Lengths, causal: bool, masked: float = MASKED
    ):
        self.tokenizer = load_tokenizer(tokenizer_dir)
        self.lengths = lengths
        self.causal = causal
        self.masked = masked
        self.before, self.after = layout_of(self.tokenizer).one
        if not causal and (self.tokenizer.mask_token_id is None or not self.before):
            raise UserError(
                f"the vocabulary in {tokenizer_dir} has no mask, or nothing that begins a text,"
                " which an encoder needs; train one of kind wordpiece, or of kind byte_bpe with"
                " special: roberta."
            )
        ordinary = np.setdiff1d(np.arange(len(self.tokenizer)), self.tokenizer.all_special_ids)
        self.ids = PieceIds(
            self.tokenizer.pad_token_id, None, None, self.tokenizer.mask_token_id, ordinary
        )

    def encode(
        self, documents: Sequence[Sequence[str]]
    ) -> list[list[tuple[list[int], list[int]]]]:
        """Encode each sentence twice, without special pieces: as the beginning of a sequence, and
        inside one."""
        texts = list(chain.from_iterable(documents))
        at_beginning = pieces_of(self.tokenizer, texts)
        inside = pieces_of(self.tokenizer, [f" {text}" for text in texts])
        sentences = zip(at_beginning, inside, strict=True)
        encoded = []
        for document in documents:
            pairs = [next(sentences) for _ in document]
            encoded.append([pair for pair in pairs if all(pair)])
        return [document for document in encoded if document]

    def draw(
        self, documents: list, generator: np.random.Generator, other_documents: list | None = None
    ) -> list[Encoded]:
        """Draw one epoch's examples; `other_documents` are not needed."""
        examples = []
        for number in generator.permutation(len(documents)):
            for text in self.texts(documents[number], generator):
                examples.append(self._mask_text(text, generator))
        return [example for example in examples if example.target[0]]

    def texts(self, document: list, generator: np.random.Generator) -> list[list[int]]:
        """Draw the pieces of each sequence. A last sentence that is cut off begins the next
        sequence, uncut."""
        texts, start = [], 0
        while start < len(document):
            room = self.lengths.draw(generator, len(self.before) + len(self.after))
            text, end = list(document[start][0]), start + 1
            while end < len(document) and len(text) < room:
                text += document[end][1]
                end += 1
            is_cut_off = len(text) > room and end > start + 1
            start = end - 1 if is_cut_off else end
            texts.append(text[:room])
        return texts

    def _mask_text(self, text: list[int], generator: np.random.Generator) -> Encoded:
        row, segments = join(self.tokenizer, text)
        if self.causal:
            positions, next_words = list(range(len(row) - 1)), row[1:]
            return Encoded(row, segments, (positions, next_words))
        masked_row = np.array(row)
        candidates = np.arange(len(self.before), len(self.before) + len(text))
        target = _mask_words(masked_row, candidates, self.ids, self.masked, generator)
        return Encoded(masked_row.tolist(), segments, target)


def save(model: PreTrainedModel, tokenizer_dir: Path, run_dir: Path) -> None:
    """Write the model's folder by way of a temporary one, the weights last: a folder with weights
    is complete."""
    temporary = run_dir / ".saving"
    shutil.rmtree(temporary, ignore_errors=True)
    model.save_pretrained(temporary)
    save_weights(temporary / WEIGHTS, read_weights(temporary / WEIGHTS))
    for name in TOKENIZER_FILES:
        if (tokenizer_dir / name).exists():
            shutil.copyfile(tokenizer_dir / name, temporary / name)
    for path in sorted(temporary.iterdir(), key=lambda path: path.suffix == ".safetensors"):
        os.replace(path, run_dir / path.name)
    temporary.rmdir()
