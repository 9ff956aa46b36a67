"""Acceptable sentences and sentences with one error (CoLA). An error changes as little as it can,
so that word counts say little."""

from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Node, Speaker, detokenise, forms, text_of
from demo_world.meaning import Sampler, Thing

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


def source(rng: Random) -> Node:
    """Generate a sentence of any form: a statement, a question, a clause with a reflexive."""
    sampler, speaker = Sampler(rng), Speaker(rng)
    kind = rng.random()
    if kind < 0.2:
        clause = sampler.clause(rng.choice(lex.FRAMES["t"]), depth=0)
        asked = rng.choice(["subject", "object", None])
        return speaker.question(clause, asked)
    if kind < 0.32:
        verb = rng.choice(
            ["admire", "injure", "see", "hide", "praise", "criticize", "help", "love", "hate"]
        )
        subject = (
            sampler.person()
            if rng.random() < 0.4
            else sampler.common(GENDERED, rng.choice(["the", "a", "the", "some"]))
        )
        clause = sampler.clause(
            verb,
            depth=0,
            subject=subject,
            object=Thing(
                subject.concept, "pronoun", subject.many, gender=subject.gender, ref=subject.ref
            ),
        )
        return speaker.sentence(clause)
    clause = sampler.simple("iittd", depth=0) if kind < 0.75 else sampler.complex()
    passive = speaker.can_passive(clause) and rng.random() < 0.25
    return speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.2)


GENDERED = ["boy", "girl", "man", "woman", "king", "queen", "uncle", "aunt", "brother", "sister"]


INVARIANT = {"fish", "sheep", "salmon", "trout"}  # nouns that do not show their number
# Nouns that stand alone like names.
NAMELIKE = {"mother", "father", "uncle", "aunt", "grandmother", "king", "queen"}


def errors(leaves: list[Node], rng: Random) -> list:
    """List the possible errors of this sentence, kind by kind, as functions that return the words
    with the error."""
    words, tags = [leaf.form for leaf in leaves], [leaf.label for leaf in leaves]
    found: dict[str, list] = {}
    if any(leaf.lemma in INVARIANT for leaf in leaves):
        return []

    def change(kind: str, i: int, *new: str) -> None:
        found.setdefault(kind, []).append(lambda: [*words[:i], *new, *words[i + 1 :]])

    for i, (form, tag) in enumerate(zip(words, tags, strict=True)):
        following = tags[i + 1] if i + 1 < len(tags) else ""
        if form in FLIP and leaves[i].upos == "AUX":
            change("agreement", i, FLIP[form])
        elif tag == "VBZ":
            change("agreement", i, leaves[i].lemma)
        elif tag == "VBP":
            change("agreement", i, lex.inflect(leaves[i].lemma, "VBZ"))
        if tag == "VBN" and lex.inflect(leaves[i].lemma, "VB") != form:
            change("verb form", i, leaves[i].lemma)
        elif tag == "VB" and leaves[i].upos == "VERB":
            wrong = [lex.inflect(leaves[i].lemma, other) for other in ("VBD", "VBG", "VBZ")]
            change("verb form", i, rng.choice([other for other in wrong if other != form]))
        elif tag == "VBG":
            change("verb form", i, leaves[i].lemma)
        if (
            tag == "DT"
            and form in ("a", "every", "the")
            and following in ("NN", "JJ")
            and not stands_alone(leaves, i)
        ):
            change("determiner", i)
        if tag == "DT" and form in ("a", "every"):
            change("number", i, "two" if form == "a" else "most")
        if (
            tag == "CD"
            and form in lex.NUMBERS
            and "NNS" in tags[i : i + 3]
            and plural_shows(leaves, i)
        ):
            change("number", i, rng.choice(["a", "every"]))
        if form in REFLEXIVES:
            change("reflexive", i, rng.choice([r for r in REFLEXIVES if r != form]))
        if form in CASES and i:
            change("case", i, CASES[form])
        if i + 1 < len(words):
            swap = [*words[:i], words[i + 1], form, *words[i + 2 :]]
            if (tag, following) in (
                ("DT", "NN"),
                ("DT", "JJ"),
                ("JJ", "NN"),
                ("JJ", "NNS"),
                ("IN", "DT"),
                ("TO", "VB"),
                ("MD", "VB"),
                ("CD", "NNS"),
                ("PRP$", "NN"),
            ):
                found.setdefault("order", []).append(lambda swap=swap: swap)
    main = [leaf for leaf in leaves if leaf.upos == "VERB" and leaf.frame is not None]
    if main and words[-1] == ".":
        verb = lex.CANONICAL.get(main[0].lemma, main[0].lemma)
        at = leaves.index(main[0])
        frame = lex.VERB[verb].frame if verb in lex.VERB else ""
        if frame == "i" and verb not in (
            "dance",
            "sing",
            "walk",
            "run",
            "speak",
            "whisper",
            "shout",
            "travel",
            "swim",
        ):
            noun = rng.choice(["door", "car", "letter", "soup", "chair"])
            found["frame"] = [lambda: [*words[: at + 1], "the", noun, *words[at + 1 :]]]
        elif (
            frame in "t"
            and verb in NEEDS_OBJECT
            and tags[at + 1 : at + 2]
            and tags[at] in ("VBD", "VBZ", "VBP", "VB")
        ):
            stop = next(
                (j for j in range(at + 1, len(tags)) if tags[j] in ("NN", "NNS", "PRP", "NNP")),
                None,
            )
            if (
                stop
                and tags[stop + 1] in (".", "IN")
                and all(t in ("DT", "JJ", "CD", "PRP$", "NN") for t in tags[at + 1 : stop])
            ):
                found["frame"] = [lambda: [*words[: at + 1], *words[stop + 1 :]]]
    if (
        words[-1] == "?"
        and words[0].lower() in ("what", "who")
        and tags[1] in ("VBD", "VBZ", "VBP", "MD")
        and "VB" in tags
    ):
        noun = rng.choice(["cat", "letter", "teacher"])
        end = tags.index("VB") + 1
        if end == len(words) - 1:
            found["gap"] = [lambda: [*words[:end], "the", noun, *words[end:]]]
    return [
        options
        for kind, options in found.items()
        for _ in range(3 if kind in ("order", "verb form") else 1)
    ]


NEEDS_OBJECT = set(lex.WORDS["needs_object"])


def stands_alone(leaves: list[Node], i: int) -> bool:
    """Tell whether the noun after this determiner may stand without one."""
    noun = next((leaf for leaf in leaves[i + 1 :] if leaf.label in ("NN", "NNS")), None)
    lemma = noun.lemma if noun else ""
    return (
        noun is None
        or noun.label == "NNS"
        or lemma in lex.MASS
        or lemma in NAMELIKE | set(lex.MATERIALS)
    )


def plural_shows(leaves: list[Node], i: int) -> bool:
    noun = next((leaf for leaf in leaves[i + 1 :] if leaf.label == "NNS"), None)
    return noun is not None and noun.form != noun.lemma


def judged(rng: Random, acceptable: bool) -> str:
    """Generate a sentence for CoLA that is acceptable, or has exactly one error."""
    while True:
        tree = source(rng)
        if acceptable:
            return text_of(tree)
        leaves = tree.leaves()
        kinds = errors(leaves, rng)
        if kinds:
            words = rng.choice(rng.choice(kinds))()
            return detokenise(forms([Node("X", form=word) for word in words]))
