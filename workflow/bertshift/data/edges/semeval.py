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

    Words are what white space separates, punctuation attached; a span is every word that touches
    its tag.
    """
    draw = random.Random(SEED)
    splits = {"train": [], "dev": [], "test": list(_records(task, files["test"]))}
    for each in _records(task, files["train"]):
        splits["train" if draw.random() <= TRAINED else "dev"].append(each)
    return {
        split: Split(records, Counter(sentences=len(records)), Counter())
        for split, records in splits.items()
    }


def _records(task: str, path: Path) -> Iterator[dict]:
    """Split the file into blocks of a sentence, its relation and a comment."""
    lines = list(read_lines(path))
    for number, line in enumerate(lines, 1):
        if not line[:1].isdigit():
            continue
        sentence, label = (
            SENTENCE.fullmatch(line.strip()),
            "".join(lines[number : number + 1]).strip(),
        )
        if not sentence:
            raise UserError(
                f'{path}:{number} is not number, tab, "sentence with <e1> and <e2>"; fetch the'
                " file again."
            )
        if not LABEL.fullmatch(label):
            raise UserError(
                f"{path}:{number + 1} has no relation but {label[:40]!r}; fetch the file again."
            )
        words, first, second = _spans(*sentence.groups())
        yield record(
            task,
            f"{path}:{number}",
            words,
            [target(label, first, second)],
            sentence=line.split("\t")[0],
        )


def _spans(before: str, first: str, between: str, second: str, after: str):
    text = before + first + between + second + after
    words = list(re.finditer(r"\S+", text))

    def touching(start: int, end: int) -> tuple[int, int]:
        inside = [i for i, word in enumerate(words) if word.start() < end and word.end() > start]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    start = len(before + first + between)
    return (
        [word[0] for word in words],
        touching(len(before), len(before + first)),
        touching(start, start + len(second)),
    )
