"""Vocabularies trained here: BERT's word pieces, and the byte-level pieces of RoBERTa and
GPT-2."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from bertshift.errors import UserError
from bertshift.files import write_json, write_text
from bertshift.models.tokenizer import save_tokenizer

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LEAST_KNOWN_LETTERS = 0.99
# The special tokens of a byte-level vocabulary by their use, in the order of their numbers.
END = "<|endoftext|>"
BYTE_LEVEL = {
    "roberta": {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
        "cls_token": "<s>",
        "sep_token": "</s>",
    },
    "gpt2": {"bos_token": END, "eos_token": END, "unk_token": END},
}
BYTES = 256


def train_wordpiece(texts: Iterable[str], size: int, lowercase: bool, directory: Path) -> None:
    """Train a WordPiece vocabulary of at most `size` entries and save a BERT tokenizer that loads
    offline.

    Words and letters are split as BERT splits them; pieces are merged by pair counts, as in
    `tokenizers`' WordPiece trainer, from pairs seen at least twice. The same texts give the same
    bytes. `directory` receives tokenizer.json and tokenizer_config.json.

    UserError where the texts hold no words or `size` leaves no room for 99% of their letters.
    """
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    splitter = pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    if not words:
        raise UserError(
            f"no words to train the vocabulary of {directory} on; give a corpus that is not empty."
        )

    letter_counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            letter_counts[letter] += count
    # Rare letters would fill a small vocabulary; words with one become [UNK].
    by_count = sorted(letter_counts, key=lambda letter: (-letter_counts[letter], letter))
    alphabet = set(by_count[: size // 4])
    covered = sum(letter_counts[letter] for letter in alphabet) / letter_counts.total()
    if covered < LEAST_KNOWN_LETTERS:
        raise UserError(
            f"a vocabulary of {size} entries has room for only {len(alphabet)} of"
            f" {len(letter_counts)} letters; write a vocabulary size of at least"
            f" {4 * len(letter_counts)} instead."
        )
    words = {word: count for word, count in words.items() if alphabet.issuperset(word)}
    # The trainer numbers the letters inside words in the order of a hash table with a random seed,
    # and equal pair counts are merged in order of these numbers; letters given as special tokens
    # are numbered as listed.
    letters_inside = sorted({letter for word in words for letter in word[1:]})
    entries = [*SPECIAL_TOKENS, *sorted(alphabet), *(f"##{letter}" for letter in letters_inside)]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=entries, show_progress=False
    )
    tokenizer.train_from_iterator((f"{word} " * count for word, count in words.items()), trainer)
    numbers = tokenizer.get_vocab()
    save_bert_tokenizer(sorted(numbers, key=numbers.__getitem__), lowercase, directory)


def save_bert_tokenizer(vocabulary: list[str], lowercase: bool, directory: Path) -> None:
    """Write a folder with a BERT tokenizer whose piece number i is vocabulary[i]; AutoTokenizer
    loads it."""
    from transformers import BertTokenizerFast

    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = BertTokenizerFast(vocab=numbers, do_lower_case=lowercase)
    write_text(
        directory / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n"
    )
    pad, unk, cls, sep, mask = SPECIAL_TOKENS
    write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": lowercase,
            "tokenize_chinese_chars": True,
            "strip_accents": None,
            "pad_token": pad,
            "unk_token": unk,
            "cls_token": cls,
            "sep_token": sep,
            "mask_token": mask,
        },
    )


def train_byte_bpe(
    texts: Iterable[str], size: int, lowercase: bool, special: str, directory: Path
) -> None:
    """Train a byte-level BPE vocabulary of at most `size` entries and save a tokenizer that loads
    offline.

    Pieces are those of Radford et al. 2019, section 2.2: pairs of bytes or pieces that were seen
    at least twice are merged by their counts. No text is unknown, as every byte is an entry. With
    `special` "roberta" texts become <s> A </s> and <s> A </s></s> B </s>; with "gpt2" no tokens
    are added. The same texts give the same bytes.

    UserError where the texts are empty or `size` leaves no room for the bytes.
    """
    names = BYTE_LEVEL[special]
    entries = list(dict.fromkeys(names.values()))
    if size < BYTES + len(entries):
        raise UserError(
            f"a byte-level vocabulary of {size} entries has no room for every byte; write a size"
            f" of at least {BYTES + len(entries)}."
        )
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise UserError(
            f"no words to train the vocabulary of {directory} on; give a corpus that is not empty."
        )
    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=entries,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    if special == "roberta":
        cls, sep = names["cls_token"], names["sep_token"]
        tokenizer.post_processor = processors.RobertaProcessing(
            (sep, tokenizer.token_to_id(sep)),
            (cls, tokenizer.token_to_id(cls)),
            add_prefix_space=False,
        )
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    from transformers import PreTrainedTokenizerFast

    save_tokenizer(directory, PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names))
