import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from bertshift.data.text_file import read_lines


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations in lower case without their full stop: those that never end a sentence, those that
# do not end one before a digit, and those that end one before a word of STARTERS.
NEVER_FINAL = _word_set("""
    mr mrs ms dr prof rev fr st ste mt ft gen col lt maj capt cmdr adm sgt cpl pvt gov sen rep pres
    hon msgr supt vs v cf viz approx est al ed eds trans e.g i.e
""")
NOT_FINAL_BEFORE_DIGIT = _word_set("""
    no nos fig figs p pp vol vols ch sec art op c ca b d r fl
    jan feb mar apr jun jul aug sep sept oct nov dec
""")
# Abbreviations with a full stop inside (U.S., a.m., Ph.D.) belong here too.
FINAL_BEFORE_STARTER = _word_set("etc inc ltd corp co jr sr bros ave blvd rd")
STARTERS = _word_set("""
    The A An In On At It Its He She They We I You His Her Their This That These Those There When
    While After Before However But And As For From By If Since Although Though Many Some
    Most Several During Both Other
""")

BOUNDARY = re.compile(r"""(?P<mark>[.!?]+)["'”’)\]]*\s+(?=["'“‘(\[]*[A-Z0-9À-Þ])""")
ENDING = re.compile(r"""[.!?]["'”’)\]]*$""")


def read(path: Path, spec: Mapping) -> tuple[Iterator[dict], Counter]:
    """Read the sentences of a file with one paragraph a line, every line a document of its own;
    see `rows`."""
    dropped = Counter()
    return rows(read_lines(path), spec.get("min_words", 1), dropped), dropped


def rows(documents: Iterable[str], min_words: int, dropped: Counter) -> Iterator[dict]:
    """Yield rows {text, document, sentence}; `dropped` counts the sentences that give none, by
    reason.

    Sentences of fewer than `min_words` words, or without a final mark (headings, list items,
    captions), are dropped. `sentence` counts them nevertheless: rows with successive numbers
    follow each other in the document.
    """
    for document, text in enumerate(documents):
        for index, sentence in enumerate(split_sentences(text)):
            if not ENDING.search(sentence):
                dropped["without a final mark"] += 1
            elif len(sentence.split()) < min_words:
                dropped[f"shorter than {min_words} words"] += 1
            else:
                yield {"text": sentence, "document": document, "sentence": index}


def split_sentences(text: str) -> list[str]:
    """Split English text at sentence ends and line breaks, by rules; white space becomes one
    space.

    No split after a title, an initial ("J. Smith") or another abbreviation, nor before a
    lower-case letter. An abbreviation that may end a sentence ("in the U.S.") does so only before
    a word that usually starts one.
    """
    sentences = []
    for line in text.splitlines():
        sentences += _split_line(" ".join(line.split()))
    return sentences


def _split_line(line: str) -> list[str]:
    cuts = [match.end() for match in BOUNDARY.finditer(line) if _ends_sentence(line, match)]
    bounds = pairwise([0, *cuts, len(line)])
    pieces = [line[start:end].strip() for start, end in bounds]
    return [piece for piece in pieces if piece]


def _ends_sentence(line: str, match: re.Match) -> bool:
    if match["mark"] != ".":
        return True
    word = line[: match.start()].rpartition(" ")[2].lstrip("\"'“‘([")
    following = re.match(r"[\"'“‘(\[]*([\w'’]*)", line[match.end() :])[1]
    key = word.lower()
    if key in NEVER_FINAL or re.fullmatch("[A-Z]", word):
        return False
    if key in NOT_FINAL_BEFORE_DIGIT:
        return not following[:1].isdigit()
    if key in FINAL_BEFORE_STARTER or re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word):
        return following in STARTERS
    return True
