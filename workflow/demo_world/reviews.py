"""Opinions whose polarity follows from words, negation, intensity and which clause comes last
(SST-2)."""

from random import Random

from demo_world import lexicon as lex

TOPICS = lex.WORDS["reviewed"]
ADVERBS = ["very", "really", "truly", "always", "often", "quite"]


def judgement(rng: Random, good: bool) -> str:
    """Generate an adjective phrase with this polarity; a negated one carries a word of the other
    polarity."""
    kind = rng.random()
    word = rng.choice(lex.GOOD if good else lex.BAD)
    other = rng.choice(lex.BAD if good else lex.GOOD)
    if kind < 0.6:
        return word
    if kind < 0.73:
        return f"{rng.choice(ADVERBS)} {word}"
    if kind < 0.83:
        return (
            f"{word} and {rng.choice([w for w in (lex.GOOD if good else lex.BAD) if w != word])}"
        )
    if kind < 0.91:
        return f"not {other}" if rng.random() < 0.5 else f"never {other}"
    if kind < 0.96:
        return f"far from {other}"
    return f"anything but {other}"


def clause(rng: Random, good: bool) -> str:
    topic = rng.choice(TOPICS)
    verb = "is" if rng.random() < 0.6 else "was"
    kind = rng.random()
    if kind < 0.5:
        return f"the {topic} {verb} {judgement(rng, good)}"
    if kind < 0.62:
        return (
            f"the {topic} {rng.choice(lex.GOOD_VERBS if good else lex.BAD_VERBS)} from start to"
            " finish"
        )
    if kind < 0.67:
        return f"the {topic} never {rng.choice(lex.BAD_VERBS if good else lex.GOOD_VERBS)}"
    if kind < 0.9:
        noun = rng.choice(lex.GOOD_NOUNS if good else lex.BAD_NOUNS)
        return f"the {topic} is full of {noun}"
    noun = rng.choice(lex.BAD_NOUNS if good else lex.GOOD_NOUNS)
    return f"the {topic} {rng.choice(['lacks', 'has no', 'is free of', 'is without'])} {noun}"


def review(rng: Random, good: bool, sentence: bool = False) -> str:
    """Generate a phrase or a sentence of an opinion, in lower case; with "but" the last clause
    decides."""
    kind = rng.random()
    if not sentence and kind < 0.25:
        article = judgement(rng, good)
        text = f"{lex.article(article)} {article} {rng.choice(TOPICS[:8])}"
        return (
            text
            if rng.random() < 0.5
            else f"{text} about {lex.article(name := rng.choice(SUBJECTS))} {name}"
        )
    if kind < 0.8:
        return clause(rng, good) + "."
    if kind < 0.88:
        return f"{clause(rng, not good)}, but {clause(rng, good)}."
    if kind < 0.93:
        return f"although {clause(rng, not good)}, {clause(rng, good)}."
    return f"{clause(rng, good)} and {clause(rng, good)}."


SUBJECTS = [n for n in lex.leaves_of("person") if n not in ("king", "queen")] + [
    "dog",
    "horse",
    "robbery",
    "wedding",
]
