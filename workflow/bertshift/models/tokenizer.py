"""Tokenizers of checkpoints: reading, writing, and making inputs of texts."""

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

from bertshift.data.words import word_spans
from bertshift.errors import UserError
from bertshift.files import read_object, read_text, write_json, write_text

# Files of a checkpoint that its tokenizer is read from, as patterns.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
SPECIAL = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
# Of an added token, as tokenizer.json has them.
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
BERTS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


@dataclass(frozen=True)
class Layout:
    """The special tokens before and after one text; before, between and after two; and all that a
    text must not have.

    `space` is written before a word that is cut alone, so that it is cut like a word behind
    another one. It is empty where the tokenizer itself puts a space before every text.
    """

    one: tuple[tuple[int, ...], tuple[int, ...]]
    two: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    special: frozenset[int]
    space: str


_LAYOUTS: WeakKeyDictionary = WeakKeyDictionary()


def layout_of(tokenizer: PreTrainedTokenizerBase) -> Layout:
    """Find the special tokens that the tokenizer puts around the text "a", and around a pair of
    such texts."""
    tokenizer = getattr(tokenizer, "wrapped", tokenizer)
    if tokenizer not in _LAYOUTS:
        special = set(tokenizer.all_special_ids)
        special |= {
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        special -= {tokenizer.unk_token_id, tokenizer.mask_token_id}
        word, spaced_word, two_words = _cut_texts(tokenizer, ["a", " a", "a a"])["input_ids"]
        adds_space = two_words == word + word and two_words != word + spaced_word
        _LAYOUTS[tokenizer] = Layout(
            _find_surrounding_tokens(tokenizer, "a"),
            _find_surrounding_tokens(tokenizer, "a", "a"),
            frozenset(number for number in special if not _is_word(tokenizer, number)),
            "" if adds_space else " ",
        )
    return _LAYOUTS[tokenizer]


def _is_word(tokenizer: PreTrainedTokenizerBase, number: int) -> bool:
    """Return whether a token is spelt as one word or mark, such as padding that is "!": a text may
    have it."""
    return len(word_spans(tokenizer.convert_ids_to_tokens(number))) == 1


def _find_surrounding_tokens(
    tokenizer: PreTrainedTokenizerBase, *texts: str
) -> tuple[tuple[int, ...], ...]:
    """List the special tokens before, between and after the texts."""
    encoded = tokenizer(*texts)
    groups, last_text = [[]], None
    for text, number in zip(encoded.sequence_ids(), encoded["input_ids"], strict=True):
        if text is None:
            groups[-1].append(number)
        elif text != last_text:
            groups.append([])
            last_text = text
    return tuple(map(tuple, groups))


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
    """Make the input of one text or of two, given their pieces: (ids, the number of each id's
    text), special tokens included. Those between two texts belong to the first. An input that
    would be empty is one unknown token."""
    layout = layout_of(tokenizer)
    if second is None:
        before, after = layout.one
        ids = [*before, *first, *after] or [unknown_token(tokenizer)]
        return ids, [0] * len(ids)
    before, between, after = layout.two
    first = [*before, *first, *between]
    second = [*second, *after]
    segments = [0] * len(first) + [1] * len(second)
    return first + second, segments


def pieces(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Cut each text into the ids of its pieces, without special tokens: one that is written out in
    a text is cut like any other word."""
    if not texts:
        return []
    encoded = _cut_texts(tokenizer, texts)
    return [_replace_special(tokenizer, ids) for ids in encoded["input_ids"]]


def written_out(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> dict[str, int]:
    """Count the texts in which a special token is written out that `pieces` cuts like any other
    word."""
    tokens = tokenizer.convert_ids_to_tokens(sorted(layout_of(tokenizer).special))
    counts = {token: sum(token in text for text in texts) for token in tokens}
    return {token: count for token, count in counts.items() if count}


def _cut_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], **options):
    return tokenizer(
        list(texts),
        add_special_tokens=False,
        return_attention_mask=False,
        verbose=False,
        split_special_tokens=True,
        **options,
    )


def spans(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]
) -> list[list[tuple[int, int, int]]]:
    """Cut each text into pieces, as `pieces` does, with the characters [first, end) of each,
    without spaces around them. A piece of spaces alone has an empty span where the next character
    begins."""
    if not texts:
        return []
    encoded = _cut_texts(tokenizer, texts, return_offsets_mapping=True)
    rows = zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True)
    spans_of_texts = []
    for text, ids, offsets in rows:
        numbers = _replace_special(tokenizer, ids)
        spans_of_texts.append(
            [
                (number, *_strip_span(text, *span))
                for number, span in zip(numbers, offsets, strict=True)
            ]
        )
    return spans_of_texts


def _strip_span(text: str, first: int, end: int) -> tuple[int, int]:
    while first < len(text) and text[first].isspace():
        first += 1
    while end > first and text[end - 1].isspace():
        end -= 1
    return first, max(first, end)


def _replace_special(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> list[int]:
    """Replace special tokens, which some vocabularies have among their pieces, by the unknown
    token."""
    special, unknown = layout_of(tokenizer).special, unknown_token(tokenizer)
    return [unknown if number in special else number for number in ids]


def unknown_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token for a word that cannot be cut: padding's in a vocabulary of bytes, which
    has every word."""
    return tokenizer.pad_token_id if tokenizer.unk_token_id is None else tokenizer.unk_token_id


def word_pieces(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]
) -> list[list[list[int]]]:
    """Cut each word of each sentence into the ids of its pieces, at least one. Words are cut as in
    a text, with the space before them.

    A word of which the tokenizer leaves nothing (control and zero-width characters) is one unknown
    token. Occurrences of a word share one list, so do not change the lists.
    """
    space = layout_of(tokenizer).space
    spaced = [
        [word if position == 0 else space + word for position, word in enumerate(sentence)]
        for sentence in sentences
    ]
    words = list(dict.fromkeys(chain.from_iterable(spaced)))
    unknown = [unknown_token(tokenizer)]
    ids_of_words = {
        word: ids or unknown for word, ids in zip(words, pieces(tokenizer, words), strict=True)
    }
    return [[ids_of_words[word] for word in sentence] for sentence in spaced]


def load_tokenizer(folder: Path, lowercase: bool | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer in `folder`/tokenizer.json, without truncation or padding.

    `do_lower_case` of tokenizer_config.json has precedence, as in transformers. Without
    tokenizer.json, load the class that the folder names, or else BERT's; `lowercase` is for a
    folder of BERT's that does not say whether its vocabulary is lowercased. A special token that
    the tokenizer puts around texts is cut like any word where a text has it written out; a mask
    and other special tokens stay whole. UserError if nothing says whether words are lowercased or
    the folder says the opposite, and if the vocabulary is missing, cannot be used without its own
    code or needs a package that is not installed.
    """
    folder = Path(folder)
    config = _read_config(folder)
    named = _load_named_class(folder)
    fast = _read_fast(folder / "tokenizer.json")
    if fast is None:
        fast = _build_fast(folder, named, config, lowercase)
    else:
        fast = _apply_lowercase(fast, config)
        if fast.get("post_processor") is None and getattr(named, "is_fast", False):
            fast["post_processor"] = _serialise_tokenizer(named)["post_processor"]
    fast, added = _complete_tokens(fast, _list_added_tokens(folder, config))
    roles = _find_roles(fast, config, named)
    try:
        backend = Tokenizer.from_str(json.dumps(_unmark_whole_tokens(fast, roles, config)))
    except Exception as error:  # the only class of errors that tokenizers has
        raise UserError(
            f"{folder}/tokenizer.json is not a tokenizer ({error}); fetch or make it again."
        ) from error
    _check_numbers(folder, backend, added)
    _check_lowercase(folder, backend, config, lowercase)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, split_special_tokens=True)
    input_names = config.get("model_input_names") or getattr(named, "model_input_names", None)
    if input_names:
        tokenizer.model_input_names = list(input_names)
    for role, token in roles.items():
        setattr(tokenizer, role, token)
    if tokenizer.pad_token is None:  # masks hide padding, so any token serves
        vocabulary = tokenizer.get_vocab()
        first = min(vocabulary, key=vocabulary.get)
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or first
    return tokenizer


def _read_config(folder: Path) -> dict:
    """Read tokenizer_config.json. Before it listed the added tokens itself, the special ones of
    special_tokens_map.json had precedence over its own, as in transformers."""
    config, special = (
        read_object(folder / name) if (folder / name).exists() else {}
        for name in ("tokenizer_config.json", "special_tokens_map.json")
    )
    return config if "added_tokens_decoder" in config else config | special


def _list_added_tokens(folder: Path, config: Mapping) -> list[dict]:
    """List the tokens that were added to the vocabulary in the form of tokenizer.json: those of
    tokenizer_config.json or else of added_tokens.json, by their numbers, and then special ones
    that have no role and no number. UserError where added_tokens.json holds anything else."""
    extra = [
        *_listed(config, "additional_special_tokens"),
        *_listed(config, "extra_special_tokens"),
    ]
    with_role = {_content(config[role]) for role in SPECIAL if config.get(role)}
    special = with_role | {_content(token) for token in extra}
    file = folder / "added_tokens.json"
    added = {}
    if "added_tokens_decoder" in config:
        for number, token in config["added_tokens_decoder"].items():
            flags = {key: token.get(key, False) for key in FLAGS}
            added[token["content"]] = flags | {"content": token["content"], "id": int(number)}
    elif file.exists():
        for content, number in read_object(file).items():
            if type(number) is not int:
                raise UserError(
                    f"{file} gives {content!r} the number {number!r}; write the row of its"
                    " embedding, or fetch the file again."
                )
            # The classes that wrote such files lowercase a text before they look for the others.
            flags = {"special": content in special, "normalized": content not in with_role}
            added[content] = FLAGS | flags | {"content": content, "id": number}
    ordered = sorted(added.values(), key=lambda token: token["id"])
    for token in extra:
        if _content(token) not in added:
            ordered.append(FLAGS | {"special": True, "content": _content(token)})
    return ordered


def _listed(config: Mapping, key: str) -> list:
    """Return the tokens of a key, which lists or, by roles of their own, maps them."""
    tokens = config.get(key) or []
    return list(tokens.values() if isinstance(tokens, Mapping) else tokens)


def _content(token: str | Mapping | None) -> str | None:
    return token["content"] if isinstance(token, Mapping) else token


def _complete_tokens(fast: Mapping, added: Iterable[Mapping]) -> tuple[dict, list[dict]]:
    """Add to the contents of a tokenizer.json the tokens that it lacks, and return these too. A
    token that has no number is one of the vocabulary, or not known to the model."""
    vocabulary = _vocabulary_of(fast)
    tokens = list(fast.get("added_tokens") or ())
    contents = {token["content"] for token in tokens}
    missing = []
    for token in added:
        number = token.get("id", vocabulary.get(token["content"]))
        if token["content"] not in contents and number is not None:
            missing.append(dict(token) | {"id": number})
    return dict(fast) | {"added_tokens": tokens + missing}, missing


def _vocabulary_of(fast: Mapping) -> dict[str, int]:
    """Return the numbers of the pieces in a tokenizer.json, without added tokens."""
    vocabulary = (fast.get("model") or {}).get("vocab") or {}
    if isinstance(vocabulary, Mapping):
        return dict(vocabulary)
    return {token: number for number, (token, _) in enumerate(vocabulary)}  # with their scores


def _check_numbers(folder: Path, backend: Tokenizer, added: Iterable[Mapping]) -> None:
    """Raise UserError where an added token has another number than the one it was trained with."""
    for token in added:
        number = backend.token_to_id(token["content"])
        if number != token["id"]:
            raise UserError(
                f"{folder} adds {token['content']!r} to its vocabulary as number {token['id']},"
                f" which would be {number}; take the vocabulary and the added tokens that were"
                " published with the weights."
            )


def _serialise_tokenizer(tokenizer: PreTrainedTokenizerBase) -> dict:
    """Return the contents of the tokenizer's tokenizer.json."""
    return json.loads(tokenizer.backend_tokenizer.to_str())


def _load_named_class(folder: Path) -> PreTrainedTokenizerBase | None:
    """Load the class that the folder names. It builds its own pipeline, whatever tokenizer.json
    says."""
    try:
        return AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception:  # noqa: BLE001 - each class of tokenizers has its own
        return None


def _build_fast(
    folder: Path, named: PreTrainedTokenizerBase | None, config: Mapping, lowercase: bool | None
) -> dict:
    """Build the contents of a missing tokenizer.json."""
    if named is not None:
        kind = type(named).__name__
    else:
        kind = (config.get("tokenizer_class") or "BertTokenizer").removesuffix("Fast")
    if kind == "BertTokenizer" and (folder / "vocab.txt").is_file():
        return _build_wordpiece(folder, config, lowercase)
    if named is None and kind == "BertTokenizer":
        raise UserError(f"{folder}: {_describe_missing(folder)}")
    if named is None or not named.is_fast:
        raise UserError(
            f"{folder}: {kind} cuts words by code of its own, which cannot be used here; name a"
            " model that has a tokenizer.json."
        )
    if not named.get_vocab().keys() - set(named.all_special_tokens):
        raise UserError(f"{folder}: {_describe_missing(folder)}")
    return _serialise_tokenizer(named)


def _describe_missing(folder: Path) -> str:
    if list(folder.glob("*.model")):
        return (
            "a SentencePiece model alone needs the packages sentencepiece and protobuf; install"
            " them, or add tokenizer.json."
        )
    return (
        "there is neither tokenizer.json nor a vocabulary that can be read; add the model's own."
    )


def _read_fast(path: Path) -> dict | None:
    """Read a fast tokenizer's file, if there is one. UserError also for a token, or a number, that
    the vocabulary has twice, of which a reader would take the last."""

    def refuse_duplicates(pairs: list[tuple]) -> dict:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            raise _make_repetition_error(path, (token for token, _ in pairs))
        return mapping

    if not path.exists():
        return None
    fast = read_object(path, object_pairs_hook=refuse_duplicates)
    vocabulary = (fast.get("model") or {}).get("vocab")
    if isinstance(vocabulary, dict):
        tokens: dict[int, str] = {}
        for token, number in vocabulary.items():
            first = tokens.setdefault(number, token)
            if first != token:
                raise UserError(
                    f"{path} gives {first!r} and {token!r} one number, {number}; take the"
                    " vocabulary that was published with the weights."
                )
    return fast


def _make_repetition_error(path: Path, tokens: Iterable[str]) -> UserError:
    [(token, _)] = Counter(tokens).most_common(1)
    return UserError(
        f"{path} has {token!r} twice; take the vocabulary that was published with the weights."
    )


def _find_roles(
    fast: Mapping, config: Mapping, named: PreTrainedTokenizerBase | None
) -> dict[str, str]:
    """Find the token of each role: as tokenizer_config.json says, as the named class has it, or
    else BERT's."""
    model = fast.get("model") or {}
    tokens = {token["content"] for token in fast.get("added_tokens") or ()}
    tokens.update(_vocabulary_of(fast))
    unknown, number = model.get("unk_token"), model.get("unk_id")
    if number is not None:
        unknown, _ = model["vocab"][number]
    of_class = {role: getattr(named, role, None) for role in SPECIAL}
    of_bert = BERTS if set(BERTS.values()) <= tokens else {}
    roles = {}
    for source in (config, of_class, {"unk_token": unknown}, of_bert):
        for role in SPECIAL:
            token = _content(source.get(role))
            if role not in roles and token in tokens:
                roles[role] = token
    return roles


def _unmark_whole_tokens(fast: Mapping, roles: Mapping[str, str], config: Mapping) -> dict:
    """Mark as ordinary each special token that a text may have: the mask, and those without a role
    that the tokenizer does not put around texts, such as a marker of entities that a model has
    learnt. Without tokenizer_config.json, the roles are unknown, so this is the mask alone."""
    mask = roles.get("mask_token")
    structural = set(roles.values()) - {mask}
    post_processor = json.dumps(fast.get("post_processor"))
    added = []
    for token in fast.get("added_tokens") or ():
        content = token["content"]
        is_structural = content in structural or json.dumps(content) in post_processor
        is_whole = content == mask or (config and not is_structural)
        added.append(token | {"special": token["special"] and not is_whole})
    return dict(fast) | {"added_tokens": added}


def _build_wordpiece(folder: Path, config: Mapping, lowercase: bool | None) -> dict:
    vocabulary = _read_vocabulary(folder / "vocab.txt")
    configured = config.get("do_lower_case")
    if configured is None and lowercase is None:
        raise UserError(
            f"Nothing in {folder} says whether its vocabulary is lowercased; write 'do_lower_case'"
            " (true or false) into its tokenizer_config.json, or 'lowercase' into the"
            " checkpoint's entry under 'bases'."
        )
    tokenizer = BertTokenizer(
        vocab=vocabulary,
        do_lower_case=lowercase if configured is None else configured,
        strip_accents=config.get("strip_accents"),
        tokenize_chinese_chars=config.get("tokenize_chinese_chars", True),
    )
    if missing := set(BERTS.values()) - tokenizer.get_vocab().keys():
        raise UserError(
            f"The vocabulary in {folder} lacks {', '.join(sorted(missing))}; BERT needs all five."
        )
    return _serialise_tokenizer(tokenizer)


def _read_vocabulary(path: Path) -> dict[str, int]:
    tokens = re.split("\r\n|\r|\n", read_text(path).rstrip("\r\n"))
    if len(set(tokens)) < len(tokens):
        raise _make_repetition_error(path, tokens)
    return {token: number for number, token in enumerate(tokens)}


def _apply_lowercase(fast: Mapping, config: Mapping) -> dict:
    """Let `do_lower_case` of tokenizer_config.json override the normaliser of tokenizer.json."""
    lowercase, normalizer = config.get("do_lower_case"), fast.get("normalizer") or {}
    if lowercase is None or normalizer.get("type") != "BertNormalizer":
        return dict(fast)
    return dict(fast) | {"normalizer": normalizer | {"lowercase": lowercase}}


def _check_lowercase(
    folder: Path, backend: Tokenizer, config: Mapping, lowercase: bool | None
) -> None:
    """Raise UserError where `lowercase`, of the checkpoint's entry, is not what the tokenizer
    does."""
    normalizer = backend.normalizer
    actual = normalizer is not None and "A" not in normalizer.normalize_str("A")
    if lowercase not in (None, actual):
        from_config = config.get("do_lower_case") is actual
        file = "tokenizer_config.json" if from_config else "tokenizer.json"
        raise UserError(
            f"{folder}/{file} says that the vocabulary is {'lowercased' if actual else 'cased'},"
            f" the checkpoint's entry under 'bases' says lowercase: {str(lowercase).lower()};"
            f" write lowercase: {str(actual).lower()}, or leave it out."
        )


def save_tokenizer(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write tokenizer.json, and tokenizer_config.json with the special tokens."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": tokenizer.model_input_names,
    }
    for role in SPECIAL:
        if (token := getattr(tokenizer, role)) is not None:
            config[role] = token
    write_json(folder / "tokenizer_config.json", config)
