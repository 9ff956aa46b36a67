"""Pronouns that only the meaning resolves (WNLI): a sentence, and its end with a referent in place
of the pronoun."""

from random import Random

from demo_world import lexicon as lex

# (sentence with {a}, {b} and a choice {w}, [(choice, referent of the pronoun)], hypothesis about
# {x}, nouns for {a}, nouns for {b})
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
    sentence, choices, hypothesis, first_nouns, second_nouns = rng.choice(SCHEMAS)
    word, referent = rng.choice(choices)
    pronoun = "he"
    if first_nouns == "name":
        female = rng.random() < 0.5
        first_names = rng.sample(lex.FEMALE_NAMES if female else lex.MALE_NAMES, 2)
        a, b = [add_surname(rng, name) for name in first_names]
        pronoun = "she" if female else "he"
    else:
        a, b = rng.choice(first_nouns), rng.choice(second_nouns)
    if rng.random() < 0.3 and first_nouns != "name":
        a = lex.SYNONYMS.get(a, a)
    if true:
        resolution = referent
    else:
        resolution = "b" if referent == "a" else "a"
    hypothesis = hypothesis.format(x={"a": a, "b": b}[resolution], w=word)
    return sentence.format(a=a, b=b, w=word, p=pronoun), hypothesis


def add_surname(rng: Random, name: str) -> str:
    """Add a surname to three names in ten."""
    return f"{name} {rng.choice(lex.SURNAMES)}" if rng.random() < 0.3 else name
