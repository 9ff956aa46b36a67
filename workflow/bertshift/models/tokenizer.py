"""Tokenizers of checkpoints: reading, writing, and the inputs that they make of texts."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from weakref import WeakKeyDictionary

from tokenizers import Tokenizer
from transformers import (
    AutoTokenizer,
    BertTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from bertshift.errors import UserError
from bertshift.files import read_object, read_text, write_json, write_text

SPECIAL = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
BERTS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


@dataclass(frozen=True)
class Layout:
    """The special tokens before one text and after it; before, between and after two; and all that
    a text must not have.

    `space` is what stands before a word that is cut on its own, so that it is cut as behind
    another one: nothing where the tokenizer puts a space of its own before every text.
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
        marked = {
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        ordinary = {tokenizer.unk_token_id, tokenizer.mask_token_id}
        word, after, both = _cut(tokenizer, ["a", " a", "a a"])["input_ids"]
        adds_its_own = both == word + word and both != word + after
        _LAYOUTS[tokenizer] = Layout(
            _around(tokenizer, "a"),
            _around(tokenizer, "a", "a"),
            frozenset({*tokenizer.all_special_ids, *marked} - ordinary),
            "" if adds_its_own else " ",
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


def longest_first(a: int, b: int, room: int) -> tuple[int, int]:
    """Count the pieces of two texts to keep. The longer loses one at a time, the second if they
    are equally long."""
    if a + b <= room:
        return a, b
    keep_b = min(b, max(room - a, room // 2))
    return min(a, room - keep_b), keep_b


def join(
    tokenizer: PreTrainedTokenizerBase, first: Sequence[int], second: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    """Make the input of one text or of two, given their pieces: (ids, which text each is of),
    special tokens included. Those between two texts are of the first. No input is empty: an
    unknown token stands where nothing is left."""
    layout = layout_of(tokenizer)
    if second is None:
        before, after = layout.one
        ids = [*before, *first, *after] or [unknown_token(tokenizer)]
        return ids, [0] * len(ids)
    before, between, after = layout.two
    left, right = [*before, *first, *between], [*second, *after]
    return left + right, [0] * len(left) + [1] * len(right)


def pieces(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Cut each text into the ids of its pieces, without special tokens: one that is written out in
    a text is cut like any other word."""
    if not texts:
        return []
    cut = _cut(tokenizer, texts)
    return [_ordinary(tokenizer, ids) for ids in cut["input_ids"]]


def written_out(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> dict[str, int]:
    """Count the texts in which a special token is written out that `pieces` cuts like any other
    word."""
    tokens = tokenizer.convert_ids_to_tokens(sorted(layout_of(tokenizer).special))
    counts = {token: sum(token in text for text in texts) for token in tokens}
    return {token: count for token, count in counts.items() if count}


def _cut(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], **more):
    return tokenizer(
        list(texts),
        add_special_tokens=False,
        return_attention_mask=False,
        verbose=False,
        split_special_tokens=True,
        **more,
    )


def spans(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]
) -> list[list[tuple[int, int, int]]]:
    """Cut each text into pieces, as `pieces` does, with the characters [first, end) that each
    stands for, spaces around them left out. A piece of spaces alone stands for nothing, at the
    beginning of what follows."""
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
    """Put the unknown token in the place of special ones, which some vocabularies have among their
    pieces."""
    special, unknown = layout_of(tokenizer).special, unknown_token(tokenizer)
    return ids if special.isdisjoint(ids) else [unknown if one in special else one for one in ids]


def unknown_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token for a word that cannot be cut: padding's in a vocabulary of bytes, which
    knows every word."""
    return tokenizer.pad_token_id if tokenizer.unk_token_id is None else tokenizer.unk_token_id


def word_pieces(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]
) -> list[list[list[int]]]:
    """Cut each word of each sentence into the ids of its pieces, never none. A word on its own is
    cut as in a text, with the space before it.

    A word of which the tokenizer leaves nothing (control and zero-width characters) is one unknown
    token. Occurrences of a word share one list, so change none of them.
    """
    space = layout_of(tokenizer).space
    spelled = [
        [space * (number > 0) + word for number, word in enumerate(sentence)]
        for sentence in sentences
    ]
    words = list(dict.fromkeys(chain.from_iterable(spelled)))
    cut = {
        word: ids or [unknown_token(tokenizer)]
        for word, ids in zip(words, pieces(tokenizer, words), strict=True)
    }
    return [[cut[word] for word in sentence] for sentence in spelled]


def load_tokenizer(folder: Path, lowercase: bool | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of `folder` as its tokenizer.json has it, without truncation or padding.

    Where tokenizer_config.json says `do_lower_case`, that holds, as in transformers. Without
    tokenizer.json it is the class that the folder names, or else BERT's; `lowercase` is for a
    folder of BERT's that does not say whether its vocabulary is lowercased. A token that stands
    around texts is cut like any word where a text has it written out; a mask and other special
    tokens are whole. UserError if nothing says whether words are lowercased or the folder says the
    opposite, and if the vocabulary is missing, cannot be used without its own code or needs a
    package that is not installed.
    """
    folder = Path(folder)
    config = _read(folder / "tokenizer_config.json") or {}
    named = _named(folder)
    fast = _read_fast(folder / "tokenizer.json")
    if fast is None:
        fast = _without_file(folder, named, config, lowercase)
    else:
        fast = _lowercased_as_said(fast, config)
        if fast.get("post_processor") is None and getattr(named, "is_fast", False):
            around = json.loads(named.backend_tokenizer.to_str())["post_processor"]
            fast = fast | {"post_processor": around}
    roles = _roles(fast, config, named)
    try:
        backend = Tokenizer.from_str(json.dumps(_whole_in_texts(fast, roles, config)))
    except Exception as error:  # the one class of errors that tokenizers has
        raise UserError(
            f"{folder}/tokenizer.json is no tokenizer ({error}); fetch or make it again."
        ) from error
    _check_lowercase(folder, backend, config, lowercase)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, split_special_tokens=True)
    if inputs := config.get("model_input_names") or getattr(named, "model_input_names", None):
        tokenizer.model_input_names = list(inputs)
    for role, token in roles.items():
        setattr(tokenizer, role, token)
    if tokenizer.pad_token is None:  # which no mask shows
        known = tokenizer.get_vocab()
        tokenizer.pad_token = (
            tokenizer.eos_token or tokenizer.unk_token or min(known, key=known.get)
        )
    return tokenizer


def _named(folder: Path) -> PreTrainedTokenizerBase | None:
    """Load the class that the folder names, which builds a pipeline of its own, whatever
    tokenizer.json says."""
    try:
        return AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception:  # noqa: BLE001 - each class of tokenizers has its own
        return None


def _without_file(
    folder: Path, named: PreTrainedTokenizerBase | None, config: Mapping, lowercase: bool | None
) -> dict:
    """Make what tokenizer.json would hold."""
    kind = "BertTokenizer" if named is None else type(named).__name__
    if named is None and config.get("tokenizer_class"):
        kind = config["tokenizer_class"].removesuffix("Fast")
    if kind == "BertTokenizer" and (folder / "vocab.txt").is_file():
        return _wordpiece(folder, config, lowercase)
    if named is None and kind == "BertTokenizer":
        raise UserError(f"{folder}: {_missing(folder)}")
    if named is None or not named.is_fast:
        raise UserError(
            f"{folder}: {kind} cuts words by code of its own, which cannot be used here; name a"
            " model that has a tokenizer.json."
        )
    if not named.get_vocab().keys() - set(named.all_special_tokens):
        raise UserError(f"{folder}: {_missing(folder)}")
    return json.loads(named.backend_tokenizer.to_str())


def _missing(folder: Path) -> str:
    if list(folder.glob("*.model")):
        return (
            "a SentencePiece model alone needs the packages sentencepiece and protobuf; install"
            " them, or add tokenizer.json."
        )
    return (
        "there is neither tokenizer.json nor a vocabulary that can be read; add the model's own."
    )


def _read(path: Path) -> dict | None:
    return read_object(path) if path.exists() else None


def _read_fast(path: Path) -> dict | None:
    """Read a fast tokenizer's file. UserError also for a token, or a number, that the vocabulary
    has twice, of which a reader would take the last."""

    def once(pairs: list[tuple]) -> dict:
        if len(found := dict(pairs)) < len(pairs):
            raise _twice(path, (token for token, _ in pairs))
        return found

    if not path.exists():
        return None
    fast = read_object(path, object_pairs_hook=once)
    vocabulary = (fast.get("model") or {}).get("vocab")
    tokens: dict[int, str] = {}
    for token, number in vocabulary.items() if isinstance(vocabulary, dict) else ():
        if (other := tokens.setdefault(number, token)) != token:
            raise UserError(
                f"{path} gives {other!r} and {token!r} one number, {number}; take the vocabulary"
                " that was published with the weights."
            )
    return fast


def _twice(path: Path, tokens: Iterable[str]) -> UserError:
    [(token, _)] = Counter(tokens).most_common(1)
    return UserError(
        f"{path} has {token!r} twice; take the vocabulary that was published with the weights."
    )


def _roles(
    fast: Mapping, config: Mapping, named: PreTrainedTokenizerBase | None
) -> dict[str, str]:
    """Find the token of each role: as tokenizer_config.json says, as the named class has it, or
    else BERT's."""
    model = fast.get("model") or {}
    vocabulary = model.get("vocab") or {}
    known = {token["content"] for token in fast.get("added_tokens") or ()}
    known |= (
        set(vocabulary) if isinstance(vocabulary, Mapping) else {token for token, _ in vocabulary}
    )
    number = model.get("unk_id")
    own = {"unk_token": model.get("unk_token") if number is None else vocabulary[number][0]}
    classes = {role: getattr(named, role, None) for role in SPECIAL}
    berts = BERTS if set(BERTS.values()) <= known else {}
    roles = {}
    for source in (config, classes, own, berts):
        for role in SPECIAL:
            token = source.get(role)
            token = token["content"] if isinstance(token, Mapping) else token
            if role not in roles and token in known:
                roles[role] = token
    return roles


def _whole_in_texts(fast: Mapping, roles: Mapping[str, str], config: Mapping) -> dict:
    """Mark as ordinary each special token that may stand in a text: the mask, and those without a
    role that do not stand around texts either, as a marker of entities that a model has learnt.
    Without tokenizer_config.json, roles are not known, so the mask alone."""
    around = json.dumps(fast.get("post_processor"))
    structural = {token for role, token in roles.items() if role != "mask_token"}

    def cut(token: str) -> bool:
        learnt = config and token not in structural and json.dumps(token) not in around
        return token != roles.get("mask_token") and not learnt

    added = [
        token | {"special": token["special"] and cut(token["content"])}
        for token in fast.get("added_tokens") or ()
    ]
    return dict(fast) | {"added_tokens": added}


def _wordpiece(folder: Path, config: Mapping, lowercase: bool | None) -> dict:
    vocabulary, said = _read_vocabulary(folder / "vocab.txt"), config.get("do_lower_case")
    if said is None and lowercase is None:
        raise UserError(
            f"Nothing in {folder} says whether its vocabulary is lowercased; write 'do_lower_case'"
            " (true or false) into its tokenizer_config.json, or 'lowercase' into the"
            " checkpoint's entry under 'bases'."
        )
    tokenizer = BertTokenizer(
        vocab=vocabulary,
        do_lower_case=lowercase if said is None else said,
        strip_accents=config.get("strip_accents"),
        tokenize_chinese_chars=config.get("tokenize_chinese_chars", True),
    )
    if missing := set(BERTS.values()) - tokenizer.get_vocab().keys():
        raise UserError(
            f"The vocabulary in {folder} lacks {', '.join(sorted(missing))}; BERT needs all five."
        )
    return json.loads(tokenizer.backend_tokenizer.to_str())


def _read_vocabulary(path: Path) -> dict[str, int]:
    tokens = re.split("\r\n|\r|\n", read_text(path).rstrip("\r\n"))
    if len(set(tokens)) < len(tokens):
        raise _twice(path, tokens)
    return {token: i for i, token in enumerate(tokens)}


def _lowercased_as_said(fast: Mapping, config: Mapping) -> dict:
    said, normalizer = config.get("do_lower_case"), fast.get("normalizer") or {}
    if said is None or normalizer.get("type") != "BertNormalizer":
        return dict(fast)
    return dict(fast) | {"normalizer": normalizer | {"lowercase": said}}


def _check_lowercase(
    folder: Path, backend: Tokenizer, config: Mapping, asked: bool | None
) -> None:
    normalizer = backend.normalizer
    found = normalizer is not None and "A" not in normalizer.normalize_str("A")
    if asked not in (None, found):
        file = (
            "tokenizer_config.json" if config.get("do_lower_case") is found else "tokenizer.json"
        )
        raise UserError(
            f"{folder}/{file} says that the vocabulary is {'lowercased' if found else 'cased'},"
            f" the checkpoint's entry under 'bases' says lowercase: {str(asked).lower()}; write"
            f" lowercase: {str(found).lower()}, or leave it out."
        )


def save_tokenizer(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write tokenizer.json, and tokenizer_config.json with the special tokens."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n")
    names = {
        key: getattr(tokenizer, key) for key in SPECIAL if getattr(tokenizer, key) is not None
    }
    said = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": tokenizer.model_input_names,
    }
    write_json(folder / "tokenizer_config.json", said | names)
