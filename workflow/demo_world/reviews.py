"""Opinions whose polarity follows from words, negation, intensity and which clause comes last
(SST-2)."""

from random import Random

from demo_world import lexicon as lex

TOPICS = lex.WORDS["reviewed"]
ADVERBS = ["very", "really", "truly", "always", "often", "quite"]


def judgement(rng: Random, good: bool) -> str:
    """Generate an adjective phrase with this polarity; a negated one carries a word of the other
    polarity."""
    adjectives = lex.GOOD if good else lex.BAD
    opposite_adjectives = lex.BAD if good else lex.GOOD
    kind = rng.random()
    adjective = rng.choice(adjectives)
    opposite = rng.choice(opposite_adjectives)
    if kind < 0.6:
        return adjective
    if kind < 0.73:
        return f"{rng.choice(ADVERBS)} {adjective}"
    if kind < 0.83:
        second = rng.choice([word for word in adjectives if word != adjective])
        return f"{adjective} and {second}"
    if kind < 0.91:
        negation = "not" if rng.random() < 0.5 else "never"
        return f"{negation} {opposite}"
    if kind < 0.96:
        return f"far from {opposite}"
    return f"anything but {opposite}"


def clause(rng: Random, good: bool) -> str:
    topic = rng.choice(TOPICS)
    copula = "is" if rng.random() < 0.6 else "was"
    kind = rng.random()
    if kind < 0.5:
        return f"the {topic} {copula} {judgement(rng, good)}"
    if kind < 0.62:
        verb = rng.choice(lex.GOOD_VERBS if good else lex.BAD_VERBS)
        return f"the {topic} {verb} from start to finish"
    if kind < 0.67:
        verb = rng.choice(lex.BAD_VERBS if good else lex.GOOD_VERBS)
        return f"the {topic} never {verb}"
    if kind < 0.9:
        noun = rng.choice(lex.GOOD_NOUNS if good else lex.BAD_NOUNS)
        return f"the {topic} is full of {noun}"
    noun = rng.choice(lex.BAD_NOUNS if good else lex.GOOD_NOUNS)
    absence = rng.choice(["lacks", "has no", "is free of", "is without"])
    return f"the {topic} {absence} {noun}"


def review(rng: Random, good: bool, sentence: bool = False) -> str:
    """Generate a phrase or a sentence of an opinion, in lower case; with "but" the last clause
    decides."""
    kind = rng.random()
    if not sentence and kind < 0.25:
        return noun_phrase(rng, good)
    if kind < 0.8:
        return clause(rng, good) + "."
    if kind < 0.88:
        return f"{clause(rng, not good)}, but {clause(rng, good)}."
    if kind < 0.93:
        return f"although {clause(rng, not good)}, {clause(rng, good)}."
    return f"{clause(rng, good)} and {clause(rng, good)}."


def noun_phrase(rng: Random, good: bool) -> str:
    adjective = judgement(rng, good)
    text = f"{lex.article(adjective)} {adjective} {rng.choice(TOPICS[:8])}"
    if rng.random() < 0.5:
        return text
    subject = rng.choice(SUBJECTS)
    return f"{text} about {lex.article(subject)} {subject}"


PEOPLE = [noun for noun in lex.leaves_of("person") if noun not in ("king", "queen")]
SUBJECTS = [*PEOPLE, "dog", "horse", "robbery", "wedding"]
