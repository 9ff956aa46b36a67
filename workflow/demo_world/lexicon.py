"""The demo world's words: a taxonomy of nouns, verbs with their frames, adjectives with opposites,
names, morphology. The words themselves are in lexicon.yaml."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


class Verb(NamedTuple):
    """A verb's frame, what its subject and object may be, and the semantic tags that proto-role
    properties follow from."""

    lemma: str
    frame: str
    subjects: list[str]
    objects: list[str]
    tags: frozenset[str]


def combine_parts(parts: dict[str, list[str]]) -> list[str]:
    return [first + second for first in parts["first"] for second in parts["second"]]


def group_adjectives_by_kind() -> dict[str, list[str]]:
    """List the adjectives that fit each kind of noun."""
    adjectives: dict[str, list[str]] = {}
    for adjective, opposite, kinds in OPPOSITES:
        for kind in kinds:
            adjectives.setdefault(kind, []).extend([adjective, opposite])
    for adjective, kinds in (WORDS["plain_adjectives"] | MATERIALS).items():
        for kind in kinds:
            adjectives.setdefault(kind, []).append(adjective)
    return adjectives


TAXONOMY = WORDS["taxonomy"]
PARENT = {word: kind for kind, words in TAXONOMY.items() for word in words}
SYNONYMS = WORDS["synonyms"]
CANONICAL = {synonym: word for word, synonym in SYNONYMS.items()}
MASS = set(WORDS["mass"])
MALE = set(WORDS["male"])
FEMALE = set(WORDS["female"])
AT_PLACES = set(WORDS["at_places"])
BROAD = set(WORDS["broad"])
ABSTRACT = set(WORDS["abstract"])
IRREGULAR_PLURALS = WORDS["irregular_plurals"]

VERB = {
    lemma: Verb(lemma, verb["frame"], verb["subjects"], verb["objects"], frozenset(verb["tags"]))
    for lemma, verb in WORDS["verbs"].items()
}
VERB_PARENT = WORDS["verb_parents"]
FRAMES = {
    frame: [verb.lemma for verb in VERB.values() if verb.frame == frame] for frame in "itdcx"
}
# The most frequent first.
FREQUENT = {frame: Random(3).sample(verbs, len(verbs)) for frame, verbs in FRAMES.items()}
IRREGULAR_VERBS = WORDS["irregular_verbs"]
DOUBLING = set(WORDS["doubling"])

OPPOSITES = WORDS["opposites"]
MATERIALS = WORDS["materials"]
ADJECTIVES_OF = group_adjectives_by_kind()
ADJECTIVE_PARENT = WORDS["adjective_parents"]
MANNER = WORDS["manner"] | {opposite: adverb for adverb, opposite in WORDS["manner"].items()}
FREQUENCY = WORDS["frequency"]

GOOD, BAD = WORDS["good"], WORDS["bad"]
GOOD_NOUNS, BAD_NOUNS = WORDS["good_nouns"], WORDS["bad_nouns"]
GOOD_VERBS, BAD_VERBS = WORDS["good_verbs"], WORDS["bad_verbs"]

FEMALE_NAMES, MALE_NAMES = WORDS["female_names"], WORDS["male_names"]
SURNAMES = combine_parts(WORDS["surnames"])
CITIES = combine_parts(WORDS["cities"])
COUNTRIES = WORDS["countries"]
NATIONALITIES = set(COUNTRIES.values())
SECTORS = WORDS["sectors"]
FIRMS = [sector for sector in SECTORS if sector != "University"]
RIVERS = WORDS["rivers"]
_facts = Random(1)  # the world's facts are the same in every world
COUNTRY_OF = {city: _facts.choice(sorted(COUNTRIES)) for city in CITIES}
RIVER_OF = {city: _facts.choice(RIVERS) for city in CITIES}
FOUNDED = {city: _facts.randrange(1100, 1900) for city in CITIES}
MONTHS, DAYS, NUMBERS = WORDS["months"], WORDS["days"], WORDS["numbers"]


@cache
def ancestors(word: str) -> tuple[str, ...]:
    """List the concept and its hypernyms, nearest first; a synonym counts as its concept."""
    concept = CANONICAL.get(word, word)
    if concept not in PARENT:
        return (concept,)
    return (concept, *ancestors(PARENT[concept]))


def is_a(word: str, kind: str) -> bool:
    return kind in ancestors(word)


@cache
def leaves_of(kind: str) -> tuple[str, ...]:
    """List `kind` and all concepts below it, except those of ABSTRACT and BROAD."""
    below = [word for child in TAXONOMY.get(kind, []) for word in leaves_of(child)]
    if kind in ABSTRACT or kind in BROAD:
        return tuple(below)
    return (kind, *below)


@cache
def ranked(kind: str) -> tuple[str, ...]:
    """Rank the leaves of `kind`, the most frequent first; the order is the same in every world."""
    concepts = list(leaves_of(kind))
    Random(len(concepts)).shuffle(concepts)
    return tuple(concepts)


def skewed(rng: Random, items: Sequence[str]) -> str:
    """Draw an item, the early ones more often, like words in any text (density proportional to
    rank ** -2/3)."""
    return items[int(len(items) * rng.random() ** 3)]


@cache
def opposites(adjective: str) -> frozenset[str]:
    """List the words that cannot hold of the same thing at the same time as this adjective."""
    pairs = [(a, b) for a, b, _ in OPPOSITES] + list(MANNER.items())
    words = {b for a, b in pairs if a == adjective} | {a for a, b in pairs if b == adjective}
    if adjective in ADJECTIVE_PARENT:
        words |= opposites(ADJECTIVE_PARENT[adjective])
    narrower = {narrow for narrow, wide in ADJECTIVE_PARENT.items() if wide in words}
    return frozenset(words | narrower)


@cache
def adjectives_for(noun: str) -> tuple[str, ...]:
    return tuple(a for kind in ancestors(noun) for a in ADJECTIVES_OF.get(kind, ()) if a != noun)


def siblings(word: str) -> list[str]:
    """List the sister terms of a concept: nothing is both."""
    concepts = TAXONOMY.get(PARENT.get(word), [])
    return [concept for concept in concepts if concept != word and concept not in ABSTRACT]


@cache
def plural(noun: str) -> str:
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")) or noun in ("potato", "tomato"):
        return noun + "es"
    if ends_in_consonant_and_y(noun):
        return noun[:-1] + "ies"
    return noun + "s"


def ends_in_consonant_and_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"


BE = {"VB": "be", "VBP": "are", "VBZ": "is", "VBD": "was", "VBN": "been", "VBG": "being"}
IRREGULAR_THIRD_PERSON = {"have": "has", "go": "goes"}


@cache
def inflect(lemma: str, tag: str) -> str:
    """Inflect a verb for a Penn tag: VB VBP VBZ VBD VBN VBG."""
    if lemma == "be":
        return BE[tag]
    if tag in ("VB", "VBP"):
        return lemma
    if tag == "VBZ":
        return IRREGULAR_THIRD_PERSON.get(lemma) or plural(lemma)
    if tag == "VBG":
        return gerund(lemma)
    if lemma in IRREGULAR_VERBS:
        past, participle = IRREGULAR_VERBS[lemma]
        return participle if tag == "VBN" else past
    if lemma.endswith("e"):
        return lemma + "d"
    if ends_in_consonant_and_y(lemma):
        return lemma[:-1] + "ied"
    return double_final_consonant(lemma) + "ed"


def gerund(lemma: str) -> str:
    if lemma == "lie":
        return "lying"
    if lemma.endswith("e") and not lemma.endswith("ee"):
        return lemma[:-1] + "ing"
    return double_final_consonant(lemma) + "ing"


def double_final_consonant(lemma: str) -> str:
    return lemma + lemma[-1] if lemma in DOUBLING else lemma


def article(following: str) -> str:
    word = following.lower()
    if word.startswith(("uni", "eu", "one")):
        return "a"
    if word[0] in "aeiou" or word.startswith(("honest", "hour")):
        return "an"
    return "a"
