"""Tokenizers of checkpoints: reading, writing, and the inputs that they make of texts."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from weakref import WeakKeyDictionary

from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from bertshift.errors import UserError
from bertshift.files import read_object, read_text, write_json, write_text

SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
BERTS = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}


@dataclass(frozen=True)
class Layout:
    """The special tokens before one text and after it; before, between and after two; and all that a text must not have.

    `space` is what stands before a word that is cut on its own, so that it is cut as behind another one: nothing where
    the tokenizer puts a space of its own before every text.
    """

    one: tuple[tuple[int, ...], tuple[int, ...]]
    two: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    special: frozenset[int]
    space: str


_LAYOUTS: WeakKeyDictionary = WeakKeyDictionary()


def layout_of(tokenizer: PreTrainedTokenizerBase) -> Layout:
    """Find what the tokenizer puts around the text "a", and around a pair of them."""
    tokenizer = getattr(tokenizer, "wrapped", tokenizer)
    if tokenizer not in _LAYOUTS:
        marked = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        word, after, both = _cut(tokenizer, ["a", " a", "a a"])["input_ids"]
        _LAYOUTS[tokenizer] = Layout(
            _around(tokenizer, "a"),
            _around(tokenizer, "a", "a"),
            frozenset({*tokenizer.all_special_ids, *marked} - {tokenizer.unk_token_id}),
            "" if word + after != both == word + word else " ",
        )
    return _LAYOUTS[tokenizer]


def _around(tokenizer: PreTrainedTokenizerBase, *texts: str) -> tuple[tuple[int, ...], ...]:
    encoded = tokenizer(*texts)
    found, read = [[]], None
    for text, number in zip(encoded.sequence_ids(), encoded["input_ids"], strict=True):
        if text is None:
            found[-1].append(number)
        elif text != read:
            found.append([])
            read = text
    return tuple(map(tuple, found))


def special_tokens(tokenizer: PreTrainedTokenizerBase, pair: bool = False) -> int:
    """Count the special tokens in an input of one text, or of two."""
    layout = layout_of(tokenizer)
    return sum(map(len, layout.two if pair else layout.one))


def join(
    tokenizer: PreTrainedTokenizerBase, first: Sequence[int], second: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    """Make the input of one text or of two, given their pieces: (ids, which text each is of), special tokens
    included. Those between two texts are of the first. No input is empty: an unknown token stands where
    nothing is left."""
    layout = layout_of(tokenizer)
    if second is None:
        before, after = layout.one
        ids = [*before, *first, *after] or [unknown_token(tokenizer)]
        return ids, [0] * len(ids)
    before, between, after = layout.two
    left, right = [*before, *first, *between], [*second, *after]
    return left + right, [0] * len(left) + [1] * len(right)


def pieces(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Cut each text into the ids of its pieces, without special tokens: one that is written out in a text is
    cut like any other word."""
    if not texts:
        return []
    cut = _cut(tokenizer, texts)
    return [_ordinary(tokenizer, ids) for ids in cut["input_ids"]]


def _cut(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], **more):
    return tokenizer(
        list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False, split_special_tokens=True, **more
    )  # fmt: skip


def spans(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
    """Cut each text into pieces, as `pieces` does, with the characters [first, end) that each stands for,
    spaces around them left out. A piece of spaces alone stands for nothing, at the beginning of what
    follows."""
    if not texts:
        return []
    cut = _cut(tokenizer, texts, return_offsets_mapping=True)
    return [
        [
            (number, *_without_spaces(text, *span))
            for number, span in zip(_ordinary(tokenizer, ids), offsets, strict=True)
        ]
        for text, ids, offsets in zip(texts, cut["input_ids"], cut["offset_mapping"], strict=True)
    ]


def _without_spaces(text: str, first: int, end: int) -> tuple[int, int]:
    while first < len(text) and text[first].isspace():
        first += 1
    while end > first and text[end - 1].isspace():
        end -= 1
    return first, max(first, end)


def _ordinary(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> list[int]:
    """Put the unknown token in the place of special ones, which some vocabularies have among their pieces."""
    special, unknown = layout_of(tokenizer).special, unknown_token(tokenizer)
    return ids if special.isdisjoint(ids) else [unknown if one in special else one for one in ids]


def unknown_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token for a word that cannot be cut: padding's in a vocabulary of bytes, which knows every word."""
    return tokenizer.pad_token_id if tokenizer.unk_token_id is None else tokenizer.unk_token_id


def word_pieces(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]
) -> list[list[list[int]]]:
    """Cut each word of each sentence into the ids of its pieces, never none. A word on its own is cut as in a
    text, with the space before it.

    A word of which the tokenizer leaves nothing (control and zero-width characters) is one unknown token. Occurrences of a
    word share one list, so change none of them.
    """
    space = layout_of(tokenizer).space
    spelled = [
        [space * (number > 0) + word for number, word in enumerate(sentence)] for sentence in sentences
    ]
    words = list(dict.fromkeys(chain.from_iterable(spelled)))
    cut = {
        word: ids or [unknown_token(tokenizer)]
        for word, ids in zip(words, pieces(tokenizer, words), strict=True)
    }
    return [[cut[word] for word in sentence] for sentence in spelled]


def load_tokenizer(folder: Path, lowercase: bool | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of `folder`, without truncation or padding.

    A special token that is written out in a text is cut like any other word. `lowercase` is for a folder of BERT's
    that does not say whether its vocabulary is lowercased. UserError if nothing says so or the folder says the
    opposite, and if the vocabulary is missing or needs a package that is not installed.
    """
    folder = Path(folder)
    fast = _read_fast(folder / "tokenizer.json")
    if fast is None and (folder / "vocab.txt").is_file() or fast and _berts(fast):
        return _wordpiece(folder, fast, lowercase)
    try:
        named = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # each class of tokenizers has its own
        if fast is None:
            raise UserError(f"{folder}: {_missing(folder)}") from error
        named = None
    if fast is None and not (named.is_fast and named.get_vocab().keys() - set(named.all_special_tokens)):
        raise UserError(f"{folder}: {_missing(folder)}")
    if fast is None:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=named.backend_tokenizer, split_special_tokens=True
        )
    else:
        # Named classes build their own pipeline, whatever tokenizer.json says.
        try:
            tokenizer = PreTrainedTokenizerFast(
                tokenizer_file=str(folder / "tokenizer.json"), split_special_tokens=True
            )
        except Exception as error:  # the one class of errors that tokenizers has
            raise UserError(
                f"{folder}/tokenizer.json is no tokenizer ({error}); fetch or make it again."
            ) from error
    known = tokenizer.get_vocab()
    model = (fast or json.loads(tokenizer.backend_tokenizer.to_str()))["model"]
    number = model.get("unk_id")
    own = {"unk_token": model.get("unk_token") if number is None else model["vocab"][number][0]}
    for source in (
        _read(folder / "tokenizer_config.json") or {},
        {key: getattr(named, key, None) for key in SPECIAL},
        own,
    ):
        for key in SPECIAL:
            token = source.get(key)
            token = token["content"] if isinstance(token, Mapping) else token
            if getattr(tokenizer, key) is None and token in known:
                setattr(tokenizer, key, token)
    if tokenizer.pad_token is None:  # which no mask shows
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or min(known, key=known.get)
    return tokenizer


def _missing(folder: Path) -> str:
    if list(folder.glob("*.model")):
        return "a SentencePiece model alone needs the packages sentencepiece and protobuf; install them, or add tokenizer.json."
    return "there is neither tokenizer.json nor a vocabulary that can be read; add the model's own."


def _read(path: Path) -> dict | None:
    return read_object(path) if path.exists() else None


def _read_fast(path: Path) -> dict | None:
    """Read a fast tokenizer's file. UserError also for a token that the vocabulary has twice, of which a
    reader would take the last."""

    def once(pairs: list[tuple]) -> dict:
        if len(found := dict(pairs)) < len(pairs):
            raise _twice(path, (token for token, _ in pairs))
        return found

    return read_object(path, object_pairs_hook=once) if path.exists() else None


def _twice(path: Path, tokens: Iterable[str]) -> UserError:
    [(token, _)] = Counter(tokens).most_common(1)
    return UserError(f"{path} has {token!r} twice; take the vocabulary that was published with the weights.")


def _berts(fast: Mapping) -> bool:
    model = fast.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    wordpiece = isinstance(vocabulary, dict) and model.get("type", "WordPiece") == "WordPiece"
    return wordpiece and vocabulary.keys() >= BERTS


def _wordpiece(folder: Path, fast: Mapping | None, lowercase: bool | None) -> BertTokenizer:
    slow = _read(folder / "tokenizer_config.json") or {}
    normalizer = (fast or {}).get("normalizer") or {}
    tokenizer = BertTokenizer(
        vocab=fast["model"]["vocab"] if fast is not None else _read_vocabulary(folder / "vocab.txt"),
        do_lower_case=_lowercase(folder, normalizer, slow, lowercase),
        strip_accents=normalizer.get("strip_accents", slow.get("strip_accents")),
        tokenize_chinese_chars=normalizer.get(
            "handle_chinese_chars", slow.get("tokenize_chinese_chars", True)
        ),
        split_special_tokens=True,
    )
    if missing := BERTS - tokenizer.get_vocab().keys():
        raise UserError(
            f"The vocabulary in {folder} lacks {', '.join(sorted(missing))}; BERT needs all five."
        )
    return tokenizer


def _read_vocabulary(path: Path) -> dict[str, int]:
    tokens = re.split("\r\n|\r|\n", read_text(path).rstrip("\r\n"))
    if len(set(tokens)) < len(tokens):
        raise _twice(path, tokens)
    return {token: i for i, token in enumerate(tokens)}


def _lowercase(folder: Path, normalizer: Mapping, config: Mapping, asked: bool | None) -> bool:
    found = {
        "tokenizer.json": normalizer.get("lowercase"),
        "tokenizer_config.json": config.get("do_lower_case"),
    }
    said = {name: value for name, value in found.items() if value is not None}
    for name, value in said.items():
        if asked in (None, value):
            return value
        kind = "lowercased" if value else "cased"
        raise UserError(
            f"{folder}/{name} says that the vocabulary is {kind}, the checkpoint's entry under 'bases' says lowercase: "
            f"{str(asked).lower()}; write lowercase: {str(value).lower()}, or leave it out."
        )
    if asked is None:
        raise UserError(
            f"Nothing in {folder} says whether its vocabulary is lowercased; write 'lowercase: true' (uncased) or "
            "'lowercase: false' (cased) into the checkpoint's entry under 'bases'."
        )
    return asked


def save_tokenizer(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write tokenizer.json, and tokenizer_config.json with the special tokens."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n")
    names = {key: getattr(tokenizer, key) for key in SPECIAL if getattr(tokenizer, key) is not None}
    if isinstance(tokenizer, BertTokenizer):
        cases = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
        said = {"tokenizer_class": "BertTokenizer"} | {key: getattr(tokenizer, key) for key in cases}
    else:
        said = {"tokenizer_class": "PreTrainedTokenizerFast"}
    write_json(folder / "tokenizer_config.json", said | names)
