from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from bertshift.errors import UserError
from bertshift.files import write_json, write_text

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LEAST_KNOWN_LETTERS = 0.99


def train_wordpiece(texts: Iterable[str], size: int, lowercase: bool, directory: Path) -> None:
    """Train a WordPiece vocabulary of at most `size` entries and save a BERT tokenizer that loads offline.

    Words and letters are split as BERT splits them; pieces are merged by pair counts, as in `tokenizers`' WordPiece
    trainer, from pairs seen at least twice. The same texts give the same bytes. `directory` receives vocab.txt,
    tokenizer.json and tokenizer_config.json.

    Raises UserError where the texts hold no words or `size` leaves no room for 99% of their letters.
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
    alphabet = set(sorted(letter_counts, key=lambda letter: (-letter_counts[letter], letter))[: size // 4])
    known = sum(letter_counts[letter] for letter in alphabet) / letter_counts.total()
    if known < LEAST_KNOWN_LETTERS:
        raise UserError(
            f"a vocabulary of {size} entries has room for only {len(alphabet)} of {len(letter_counts)} letters; "
            f"write a vocabulary size of at least {4 * len(letter_counts)} instead."
        )
    words = {word: count for word, count in words.items() if alphabet.issuperset(word)}
    # The trainer numbers the letters inside words in the order of a hash table with a random seed, and equal pair
    # counts are merged in order of these numbers; letters given as special tokens are numbered as listed.
    letters = sorted(alphabet)
    inside = ["##" + letter for letter in sorted({letter for word in words for letter in word[1:]})]
    entries = [*SPECIAL_TOKENS, *letters, *inside]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=entries, show_progress=False
    )
    tokenizer.train_from_iterator((f"{word} " * count for word, count in words.items()), trainer)
    numbers = tokenizer.get_vocab()
    save_tokenizer(sorted(numbers, key=numbers.__getitem__), lowercase, directory)


def save_tokenizer(vocabulary: list[str], lowercase: bool, directory: Path) -> None:
    """A folder with a BERT tokenizer whose piece number i is vocabulary[i]; AutoTokenizer loads it."""
    from transformers import BertTokenizerFast

    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = BertTokenizerFast(vocab=numbers, do_lower_case=lowercase)
    write_text(directory / "tokenizer.json", tokenizer.backend_tokenizer.to_str(pretty=True) + "\n")
    write_text(directory / "vocab.txt", "".join(f"{piece}\n" for piece in vocabulary))
    names = zip(
        ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL_TOKENS, strict=True
    )
    write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": lowercase,
            "tokenize_chinese_chars": True,
            "strip_accents": None,
            **dict(names),
        },
    )
