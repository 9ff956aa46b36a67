"""Pronouns that only the meaning resolves (WNLI): a sentence, and the sentence's end with one
referent put in."""

from random import Random

from demo_world import lexicon as lex

# (sentence with {a}, {b} and a choice, [(word, which referent it points to)], hypothesis about
# {x})
SCHEMAS = [
    (
        "The {a} did not fit into the {b} because it was too {w}.",
        [("big", "a"), ("large", "a"), ("small", "b"), ("little", "b")],
        "The {x} was too {w}.",
        ["piano", "sofa", "table", "guitar", "hat", "drum"],
        ["suitcase", "box", "bag", "basket", "car", "truck"],
    ),
    (
        "{a} thanked {b} because {p} had {w} help.",
        [("given", "b"), ("received", "a")],
        "{x} had {w} help.",
        "name",
        "name",
    ),
    (
        "{a} could not lift {b} because {p} was so {w}.",
        [("weak", "a"), ("heavy", "b")],
        "{x} was so {w}.",
        "name",
        "name",
    ),
    (
        "{a} chased {b} because {p} {w}.",
        [("had stolen a ring", "b"), ("wanted the ring back", "a")],
        "{x} {w}.",
        "name",
        "name",
    ),
    (
        "{a} paid {b} after {p} had {w} the car.",
        [("bought", "a"), ("sold", "b"), ("repaired", "b"), ("broken", "a")],
        "{x} had {w} the car.",
        "name",
        "name",
    ),
    (
        "{a} asked {b} a question, but {p} {w}.",
        [("did not answer", "b"), ("got no answer", "a")],
        "{x} {w}.",
        "name",
        "name",
    ),
    (
        "The {a} broke the {b} because it was so {w}.",
        [("heavy", "a"), ("hard", "a"), ("soft", "b"), ("old", "b")],
        "The {x} was so {w}.",
        ["hammer", "shovel", "piano", "truck"],
        ["table", "chair", "window", "box", "bottle"],
    ),
    (
        "The {a} chased the {b}, but it was too {w}.",
        [("slow", "a"), ("fast", "b"), ("quick", "b"), ("tired", "a")],
        "The {x} was too {w}.",
        ["dog", "wolf", "fox", "bear", "spaniel"],
        ["rabbit", "cat", "horse", "sparrow", "sheep"],
    ),
    (
        "{a} lent {b} a book because {p} {w} it.",
        [("needed", "b"), ("had finished", "a")],
        "{x} {w} it.",
        "name",
        "name",
    ),
    (
        "{a} visited {b} in the hospital because {p} was {w}.",
        [("ill", "b"), ("sick", "b"), ("worried", "a"), ("kind", "a")],
        "{x} was {w}.",
        "name",
        "name",
    ),
    (
        "{a} beat {b} in the race because {p} was {w}.",
        [("fast", "a"), ("quick", "a"), ("slow", "b"), ("tired", "b")],
        "{x} was {w}.",
        "name",
        "name",
    ),
    (
        "{a} taught {b} music because {p} was a good {w}.",
        [("teacher", "a"), ("musician", "a"), ("student", "b"), ("pupil", "b")],
        "{x} was a good {w}.",
        "name",
        "name",
    ),
]


def schema(rng: Random, true: bool) -> tuple[str, str]:
    """Generate a sentence and a resolution of its pronoun; with different words the other
    resolution is right."""
    sentence, choices, hypothesis, first, second = rng.choice(SCHEMAS)
    word, referent = rng.choice(choices)
    if first == "name":
        female = rng.random() < 0.5
        a, b = rng.sample(lex.FEMALE_NAMES if female else lex.MALE_NAMES, 2)
        a, b = (f"{n} {rng.choice(lex.SURNAMES)}" if rng.random() < 0.3 else n for n in (a, b))
    else:
        female, (a, b) = False, (rng.choice(first), rng.choice(second))
    if rng.random() < 0.3 and first != "name" and a in lex.SYNONYMS:
        a = lex.SYNONYMS[a]
    slots = {"a": a, "b": b, "w": word, "p": "she" if female else "he"}
    chosen = referent if true else {"a": "b", "b": "a"}[referent]
    return sentence.format(**slots), hypothesis.format(x=slots[chosen], w=word)
