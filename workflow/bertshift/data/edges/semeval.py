import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bertshift.data.edges.records import Split, record, target
from bertshift.data.text_file import read_lines
from bertshift.errors import UserError

SENTENCE = re.compile(r'\d+\t"(.*?)<e1>(.*?)</e1>(.*?)<e2>(.*?)</e2>(.*)"')
LABEL = re.compile(r"Other|[A-Z][a-z]+-[A-Z][a-z]+\(e[12],e[12]\)")
# jiant's development set: a line of the training file stays in training if a draw is at most 0.85.
SEED, TRAINED = 42, 0.85


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read relations between two nominals from the files of SemEval-2010 task 8 (Hendrickx et al.
    2010).

    White space separates words, so punctuation is attached; a span has every word that touches its
    tag.
    """
    draw = random.Random(SEED)
    splits = {"train": [], "dev": [], "test": list(_read_records(task, files["test"]))}
    for row in _read_records(task, files["train"]):
        split = "train" if draw.random() <= TRAINED else "dev"
        splits[split].append(row)
    return {
        split: Split(records, Counter(sentences=len(records)), Counter())
        for split, records in splits.items()
    }


def _read_records(task: str, path: Path) -> Iterator[dict]:
    """Split the file into blocks of a sentence, its relation and a comment."""
    lines = list(read_lines(path))
    for number, line in enumerate(lines, 1):
        if not line[:1].isdigit():
            continue
        sentence = SENTENCE.fullmatch(line.strip())
        label = lines[number].strip() if number < len(lines) else ""
        if not sentence:
            raise UserError(
                f'{path}:{number} is not number, tab, "sentence with <e1> and <e2>"; fetch the'
                " file again."
            )
        if not LABEL.fullmatch(label):
            raise UserError(
                f"{path}:{number + 1} has no relation but {label[:40]!r}; fetch the file again."
            )
        words, span1, span2 = _split_words(*sentence.groups())
        targets = [target(label, span1, span2)]
        sentence_id = line.split("\t")[0]
        yield record(task, f"{path}:{number}", words, targets, sentence=sentence_id)


def _split_words(before: str, first: str, between: str, second: str, after: str):
    """Split the text into words; find the span of words that touch `first` and `second`."""
    words = list(re.finditer(r"\S+", before + first + between + second + after))

    def touching(start: int, end: int) -> tuple[int, int]:
        indices = [
            index for index, word in enumerate(words) if word.start() < end and word.end() > start
        ]
        return (indices[0], indices[-1] + 1) if indices else (0, 0)

    first_start = len(before)
    second_start = len(before + first + between)
    return (
        [word[0] for word in words],
        touching(first_start, first_start + len(first)),
        touching(second_start, second_start + len(second)),
    )
