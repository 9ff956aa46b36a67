import re
from collections.abc import Sequence
from itertools import pairwise

_WORD = re.compile(
    r"""\w+?(?=n['’]t\b) | n['’]t\b          # did n't, ca n't
    | can(?=not\b)                          # can not
    | ['’](?:s|m|d|re|ve|ll)\b              # it 's
    | (?:[^\W\d_]\.){2,}                    # U.S.
    | (?-i:(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Gov|Sen|Rep|Lt|Col|Capt|Sgt|Rev|Jr|Sr|Inc|Corp|Co|Ltd)\.)
    | (?-i:[A-Z]\.(?=\s[A-Z]))              # George W. Bush
    | \d+(?:[.,:]\d+)+                      # 1,200 and 3.5
    | \w+
    | ([^\w\s])\1*                          # , and ...
    """,
    re.VERBOSE | re.IGNORECASE,
)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Find the characters [start, end) of a running text's words, cut roughly as English treebanks
    do.

    A contraction is two words ("did n't", "it 's"). An abbreviation with dots, a number with marks
    inside and a repeated mark of punctuation are one word each. Any other mark is a word, also
    inside a word. Every character but spaces is in exactly one word.
    """
    return [match.span() for match in _WORD.finditer(text)]


def sentence_bounds(words: Sequence[str]) -> list[tuple[int, int]]:
    """Find the words [start, end) of each sentence of a running text. A sentence ends at full
    stops, question or exclamation marks that no word in lower case follows."""
    if not words:
        return []
    ends = [
        number
        for number, (word, following) in enumerate(pairwise(words), 1)
        if not word.strip(".?!") and not following[0].islower()
    ]
    return list(pairwise([0, *ends, len(words)]))
