"""Acceptable sentences and sentences with one error (CoLA). An error changes as little as it can,
so that word counts say little."""

from collections.abc import Iterator
from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Node, Speaker, detokenise, forms, to_text
from demo_world.meaning import Clause, Sampler, Thing

FLIP = {
    "is": "are",
    "are": "is",
    "was": "were",
    "were": "was",
    "has": "have",
    "have": "has",
    "does": "do",
    "do": "does",
}
CASES = {"he": "him", "she": "her", "they": "them", "him": "he", "them": "they"}
REFLEXIVES = ["himself", "herself", "itself", "themselves"]


GENDERED = ["boy", "girl", "man", "woman", "king", "queen", "uncle", "aunt", "brother", "sister"]
INVARIANT = {"fish", "sheep", "salmon", "trout"}  # nouns that do not show their number
# Nouns that need no determiner, like names.
NAMELIKE = {"mother", "father", "uncle", "aunt", "grandmother", "king", "queen"}
NEEDS_OBJECT = set(lex.WORDS["needs_object"])
# Intransitive verbs that take an object in some uses.
LABILE = {"dance", "sing", "walk", "run", "speak", "whisper", "shout", "travel", "swim"}
FINITE = ("VBD", "VBZ", "VBP")
# Tags of neighbors whose order is fixed.
ORDERED = {
    ("DT", "NN"),
    ("DT", "JJ"),
    ("JJ", "NN"),
    ("JJ", "NNS"),
    ("IN", "DT"),
    ("TO", "VB"),
    ("MD", "VB"),
    ("CD", "NNS"),
    ("PRP$", "NN"),
}


def source(rng: Random) -> Node:
    """Generate a sentence of any form: a statement, a question, a clause with a reflexive."""
    sampler, speaker = Sampler(rng), Speaker(rng)
    kind = rng.random()
    if kind < 0.2:
        clause = sampler.clause(rng.choice(lex.FRAMES["t"]), depth=0)
        return speaker.question(clause, rng.choice(["subject", "object", None]))
    if kind < 0.32:
        return speaker.sentence(reflexive_clause(sampler))
    clause = sampler.simple("iittd", depth=0) if kind < 0.75 else sampler.complex()
    passive = speaker.can_passive(clause) and rng.random() < 0.25
    return speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.2)


def reflexive_clause(sampler: Sampler) -> Clause:
    rng = sampler.rng
    verb = rng.choice(
        ["admire", "injure", "see", "hide", "praise", "criticize", "help", "love", "hate"]
    )
    if rng.random() < 0.4:
        subject = sampler.person()
    else:
        subject = sampler.common(GENDERED, rng.choice(["the", "a", "the", "some"]))
    reflexive = Thing(
        subject.concept, "pronoun", subject.many, gender=subject.gender, ref=subject.ref
    )
    return sampler.clause(verb, depth=0, subject=subject, object=reflexive)


def list_errors(leaves: list[Node], rng: Random) -> list[list[list[str]]]:
    """List the sentences that one error makes of this one, as words, kind by kind; kinds that are
    to be frequent occur three times."""
    if any(leaf.lemma in INVARIANT for leaf in leaves):
        return []
    words = [leaf.form for leaf in leaves]
    errors: dict[str, list[list[str]]] = {}
    for i in range(len(leaves)):
        for kind, replacement in word_errors(leaves, i, rng):
            errors.setdefault(kind, []).append([*words[:i], *replacement, *words[i + 1 :]])
        if has_ordered_neighbor(leaves, i):
            swapped = [*words[:i], words[i + 1], words[i], *words[i + 2 :]]
            errors.setdefault("order", []).append(swapped)
    frame_error = break_frame(leaves, rng)
    if frame_error:
        errors["frame"] = [frame_error]
    gap_error = fill_gap(leaves, rng)
    if gap_error:
        errors["gap"] = [gap_error]
    kinds = []
    for kind, sentences in errors.items():
        kinds += [sentences] * (3 if kind in ("order", "verb form") else 1)
    return kinds


def has_ordered_neighbor(leaves: list[Node], i: int) -> bool:
    return i + 1 < len(leaves) and (leaves[i].label, leaves[i + 1].label) in ORDERED


def word_errors(leaves: list[Node], i: int, rng: Random) -> Iterator[tuple[str, list[str]]]:
    """Yield kinds of error at word i and the words that replace it."""
    form, tag = leaves[i].form, leaves[i].label
    yield from verb_errors(leaves[i], rng)
    if tag == "DT" and can_drop_determiner(leaves, i):
        yield "determiner", []
    if tag == "DT" and form in ("a", "every"):
        yield "number", ["two" if form == "a" else "most"]
    if tag == "CD" and form in lex.NUMBERS and precedes_visible_plural(leaves, i):
        yield "number", [rng.choice(["a", "every"])]
    if form in REFLEXIVES:
        wrong = [reflexive for reflexive in REFLEXIVES if reflexive != form]
        yield "reflexive", [rng.choice(wrong)]
    if form in CASES and i > 0:
        yield "case", [CASES[form]]


def verb_errors(leaf: Node, rng: Random) -> Iterator[tuple[str, list[str]]]:
    form, tag, lemma = leaf.form, leaf.label, leaf.lemma
    if form in FLIP and leaf.upos == "AUX":
        yield "agreement", [FLIP[form]]
    elif tag == "VBZ":
        yield "agreement", [lemma]
    elif tag == "VBP":
        yield "agreement", [lex.inflect(lemma, "VBZ")]
    if tag == "VBN" and lex.inflect(lemma, "VB") != form:
        yield "verb form", [lemma]
    elif tag == "VB" and leaf.upos == "VERB":
        wrong = [lex.inflect(lemma, finite) for finite in ("VBD", "VBG", "VBZ")]
        yield "verb form", [rng.choice([inflected for inflected in wrong if inflected != form])]
    elif tag == "VBG":
        yield "verb form", [lemma]


def can_drop_determiner(leaves: list[Node], i: int) -> bool:
    """Test whether the sentence is wrong without its determiner at word i."""
    following = leaves[i + 1].label if i + 1 < len(leaves) else ""
    return (
        leaves[i].form in ("a", "every", "the")
        and following in ("NN", "JJ")
        and not needs_no_determiner(leaves, i)
    )


def needs_no_determiner(leaves: list[Node], i: int) -> bool:
    """Test whether the noun after this determiner may occur without one."""
    noun = next((leaf for leaf in leaves[i + 1 :] if leaf.label in ("NN", "NNS")), None)
    if noun is None or noun.label == "NNS":
        return True
    return noun.lemma in lex.MASS or noun.lemma in NAMELIKE or noun.lemma in lex.MATERIALS


def precedes_visible_plural(leaves: list[Node], i: int) -> bool:
    """Test whether the next plural noun is near, and differs from its singular."""
    if all(leaf.label != "NNS" for leaf in leaves[i : i + 3]):
        return False
    noun = next(leaf for leaf in leaves[i + 1 :] if leaf.label == "NNS")
    return noun.form != noun.lemma


def break_frame(leaves: list[Node], rng: Random) -> list[str] | None:
    """Give an intransitive verb an object, or take it from a transitive one; return None where
    neither can be done."""
    words, tags = [leaf.form for leaf in leaves], [leaf.label for leaf in leaves]
    verbs = [i for i, leaf in enumerate(leaves) if leaf.upos == "VERB" and leaf.frame is not None]
    if not verbs or words[-1] != ".":
        return None
    position = verbs[0]
    after = position + 1
    lemma = leaves[position].lemma
    verb = lex.CANONICAL.get(lemma, lemma)
    if verb in lex.FRAMES["i"] and verb not in LABILE:
        noun = rng.choice(["door", "car", "letter", "soup", "chair"])
        return [*words[:after], "the", noun, *words[after:]]
    if verb not in NEEDS_OBJECT or tags[position] not in (*FINITE, "VB"):
        return None
    nouns = [i for i in range(after, len(tags)) if tags[i] in ("NN", "NNS", "PRP", "NNP")]
    if not nouns:
        return None
    noun = nouns[0]
    modifiers_only = all(tag in ("DT", "JJ", "CD", "PRP$", "NN") for tag in tags[after:noun])
    if modifiers_only and tags[noun + 1] in (".", "IN"):
        return [*words[:after], *words[noun + 1 :]]
    return None


def fill_gap(leaves: list[Node], rng: Random) -> list[str] | None:
    """Put a noun where a question with "what" or "who" has its gap; return None if the gap is not
    at the end."""
    words, tags = [leaf.form for leaf in leaves], [leaf.label for leaf in leaves]
    is_wh_question = words[-1] == "?" and words[0].lower() in ("what", "who")
    if not is_wh_question or tags[1] not in (*FINITE, "MD") or "VB" not in tags:
        return None
    noun = rng.choice(["cat", "letter", "teacher"])
    end = tags.index("VB") + 1
    if end != len(words) - 1:
        return None
    return [*words[:end], "the", noun, *words[end:]]


def judged(rng: Random, acceptable: bool) -> str:
    """Generate a sentence for CoLA that is acceptable, or has exactly one error."""
    while True:
        tree = source(rng)
        if acceptable:
            return to_text(tree)
        kinds = list_errors(tree.leaves(), rng)
        if kinds:
            words = rng.choice(rng.choice(kinds))
            return detokenise(forms([Node("X", form=word) for word in words]))
