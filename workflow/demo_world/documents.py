"""Pretraining documents: stories with recurring people, encyclopaedia entries, reviews,
definitions, questions and answers.

What the tasks need to know (kinds, synonyms, opposites, active and passive, polarity) can be
learned here by guessing masked words.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from random import Random

from demo_world import encyclopedia
from demo_world import lexicon as lex
from demo_world.grammar import Speaker, to_text
from demo_world.meaning import Clause, Sampler, Thing, askable, new_adjectives
from demo_world.paraphrases import advice
from demo_world.reviews import review

# Each script is a cast (letter: kinds of thing) and events: (subject, verb, object or property,
# recipient).
SCRIPTS = [
    (
        {"A": "name", "B": "thief", "C": "guard", "X": "jewel,vehicle,machine", "L": "building"},
        [
            ("A", "own", "X"),
            ("B", "steal", "X"),
            ("A", "be", "sad"),
            ("C", "chase", "B"),
            ("C", "arrest", "B"),
            ("A", "thank", "C"),
            ("B", "be", "dishonest"),
        ],
    ),
    (
        {"A": "name", "B": "name", "X": "garment,toy,instrument,jewel", "L": "place"},
        [
            ("A", "buy", "X"),
            ("X", "be", ""),
            ("A", "give", "X", "B"),
            ("B", "thank", "A"),
            ("B", "be", "happy"),
            ("B", "love", "A"),
        ],
    ),
    (
        {"A": "name", "B": "dog,cat,horse,bird", "C": "veterinarian,doctor", "L": "place"},
        [
            ("A", "own", "B"),
            ("B", "be", "ill"),
            ("C", "examine", "B"),
            ("C", "treat", "B"),
            ("B", "be", "healthy"),
            ("A", "thank", "C"),
        ],
    ),
    (
        {"A": "name", "B": "name", "X": "vehicle,machine", "C": "mechanic", "L": "place"},
        [
            ("A", "break", "X"),
            ("C", "examine", "X"),
            ("C", "repair", "X"),
            ("A", "sell", "X", "B"),
            ("B", "be", "rich"),
            ("X", "be", ""),
        ],
    ),
    (
        {"A": "name", "B": "child", "X": "wolf,bear,dog,fox", "L": "place"},
        [
            ("X", "be", ""),
            ("X", "chase", "B"),
            ("B", "run"),
            ("A", "rescue", "B"),
            ("X", "disappear"),
            ("B", "be", "safe"),
            ("A", "be", "brave"),
        ],
    ),
    (
        {"A": "name", "B": "worker,expert,artist", "X": "building,bridge,boat", "L": "city"},
        [
            ("A", "hire", "B"),
            ("B", "design", "X"),
            ("B", "build", "X"),
            ("X", "be", ""),
            ("A", "admire", "X"),
            ("A", "praise", "B"),
        ],
    ),
    (
        {"A": "name", "B": "name", "X": "vegetable,cake,soup,fish", "L": "place"},
        [
            ("A", "cook", "X"),
            ("A", "offer", "X", "B"),
            ("B", "eat", "X"),
            ("X", "be", ""),
            ("B", "thank", "A"),
        ],
    ),
    (
        {
            "A": "novelist,journalist,student",
            "B": "name",
            "X": "book,letter,report,poem",
            "L": "building",
        },
        [
            ("A", "write", "X"),
            ("A", "send", "X", "B"),
            ("B", "read", "X"),
            ("B", "praise", "X"),
            ("A", "be", "famous"),
        ],
    ),
    (
        {"A": "disaster", "B": "name", "X": "building,bridge", "C": "soldier", "L": "city"},
        [("B", "visit", "X"), ("A", "destroy", "X"), ("C", "rescue", "B"), ("B", "thank", "C")],
    ),
    (
        {"A": "teacher", "B": "student,child", "X": "book,dictionary", "L": "school"},
        [
            ("A", "teach", "B"),
            ("B", "be", "clever"),
            ("A", "lend", "X", "B"),
            ("B", "read", "X"),
            ("B", "admire", "A"),
        ],
    ),
]


class Discourse:
    """Keeps track of who was mentioned, so that later mentions are pronouns or definite
    phrases."""

    def __init__(self, rng: Random, synonyms: float = 0.3):
        self.rng, self.sampler, self.speaker = rng, Sampler(rng), Speaker(rng, synonyms)
        self.last: Thing | None = None
        self.seen: set[int] = set()

    def mention(self, thing: Thing, subject: bool, pronouns: bool = True) -> Thing:
        """Return the thing as the discourse mentions it here; the hypernym of a known thing
        teaches what it is."""
        first = thing.ref not in self.seen
        self.seen.add(thing.ref)
        if first or thing.det == "bare":
            return thing
        is_topic = subject and self.last is not None and self.last.ref == thing.ref
        if pronouns and is_topic and self.rng.random() < 0.7:
            return Thing(
                thing.concept,
                "pronoun",
                thing.plural,
                gender=thing.gender,
                ref=thing.ref,
                entity=thing.entity,
            )
        if thing.det == "name":
            first_name = thing.concept.split()[0]
            return replace(thing, concept=first_name) if thing.entity == "PERSON" else thing
        concept, parent = thing.concept, lex.PARENT.get(thing.concept)
        general = parent and self.rng.random() < 0.3
        if general and parent not in lex.MASS and parent not in ("part", "group", "disaster"):
            concept = parent
        return Thing(concept, "the", thing.plural, gender=thing.gender, ref=thing.ref)

    def tell(self, clause: Clause) -> str:
        """Express the clause in one sentence; the clause's own things do not change."""
        mentioned = replace(clause)
        passive = self.speaker.can_passive(clause) and self.rng.random() < 0.2
        topic = clause.object if passive else clause.subject
        mentioned.subject = self.mention(clause.subject, not passive)
        if isinstance(clause.object, Thing):
            mentioned.object = self.mention(clause.object, passive, pronouns=passive)
        if clause.recipient:
            mentioned.recipient = self.mention(clause.recipient, False)
        if passive:
            mentioned.subject = self.mention(clause.subject, False)
        self.last = None if topic.many else topic
        time_first = self.rng.random() < 0.4
        return to_text(self.speaker.sentence(mentioned, passive=passive, time_first=time_first))


def cast(sampler: Sampler, role: str) -> Thing:
    if role == "name":
        return sampler.person()
    if role == "city":
        return sampler.city()
    return sampler.common(role.split(","), "a", modified=0.35)


def cast_roles(sampler: Sampler, roles: dict[str, str]) -> dict[str, Thing]:
    """Draw a thing for each role; no two have the same first word."""
    things: dict[str, Thing] = {}
    for letter, role in roles.items():
        first_words = {thing.concept.split()[0] for thing in things.values()}
        thing = cast(sampler, role)
        while thing.concept.split()[0] in first_words:
            thing = cast(sampler, role)
        things[letter] = thing
    return things


def locate(place: Thing) -> tuple[str, Thing]:
    """Return the preposition and the place where a story happens."""
    if place.entity:
        return ("in", place)
    definite = replace(place, det="the")
    if place.concept in lex.AT_PLACES:
        return ("at", definite)
    return ("near", definite) if place.concept in lex.PARENT else ("in", definite)


def script(sampler: Sampler, rng: Random) -> list[Clause]:
    """Generate the events of a story, with a place or a time here and there."""
    roles, events = rng.choice(SCRIPTS)
    things = cast_roles(sampler, roles)
    where = locate(things.pop("L"))
    clauses = []
    for number, (subject, verb, *arguments) in enumerate(events):
        if verb == "be":
            clauses.append(describe(rng, things[subject], arguments[0]))
            continue
        clause = Clause(verb, things[subject], *[things[argument] for argument in arguments])
        if number == 0 or rng.random() < 0.15:
            clause.place = where if rng.random() < 0.6 and verb != "own" else None
            clause.time = sampler.when() if rng.random() < 0.5 and verb != "own" else None
        clauses.append(clause)
    return clauses


def describe(rng: Random, thing: Thing, adjective: str) -> Clause:
    """Say that the thing has a property: the given one or, if that is empty, another than it has
    already."""
    if not adjective:
        adjectives = [
            candidate
            for candidate in new_adjectives(thing.concept, thing.adjectives)
            if not lex.opposites(candidate).intersection(thing.adjectives)
        ]
        adjective = rng.choice(adjectives) if adjectives else "strange"
    return Clause("be", thing, adjective, intensity=rng.choice([None, None, "very"]))


def story(rng: Random) -> list[str]:
    discourse = Discourse(rng)
    lines: list[str] = []
    for _ in range(2):
        for clause in script(discourse.sampler, rng):
            lines.append(discourse.tell(clause))
            if rng.random() < 0.3:
                lines.append(echo(rng, discourse, clause))
    return without_repeats(lines)


def without_repeats(lines: list[str]) -> list[str]:
    return [line for line, _ in groupby(lines)]


def echo(rng: Random, discourse: Discourse, clause: Clause) -> str:
    """Say the same event again: in the passive, with more general words, as a question, or by
    denying an opposite."""
    repeated = replace(clause, time=None)
    for side in ("subject", "object", "recipient"):
        thing = getattr(clause, side)
        if isinstance(thing, Thing) and thing.det == "a":
            setattr(repeated, side, replace(thing, det="the", adjectives=()))
    speaker = discourse.speaker
    if clause.verb == "be" and isinstance(clause.object, str):
        opposites = sorted(lex.opposites(clause.object))
        if opposites:
            repeated.object = rng.choice(opposites)
            repeated.negated = True
            repeated.intensity = None
        return to_text(speaker.sentence(repeated))
    kind = rng.random()
    if kind < 0.5 and speaker.can_passive(repeated):
        return to_text(speaker.sentence(repeated, passive=True))
    if kind < 0.7:
        return to_text(speaker.question(repeated, rng.choice(["subject", None])))
    return to_text(speaker.sentence(generalised(repeated)))


def generalised(clause: Clause) -> Clause:
    """Return the clause with its verb and its definite nouns one step up the taxonomy."""
    clause = replace(clause, verb=lex.VERB_PARENT.get(clause.verb, clause.verb))
    for side in ("subject", "object"):
        thing = getattr(clause, side)
        if isinstance(thing, Thing) and thing.det == "the" and thing.concept in lex.PARENT:
            parent = lex.PARENT[thing.concept]
            if parent not in lex.MASS:
                setattr(clause, side, replace(thing, concept=parent, adjectives=()))
    return clause


def definitions(rng: Random) -> list[str]:
    """Explain words by kinds, synonyms, opposites, and sentences that follow from one another."""
    sampler = Sampler(rng)
    lines = []
    for _ in range(rng.randrange(5, 9)):
        kind = rng.random()
        if kind < 0.35:
            lines += define_kind(sampler)
        elif kind < 0.65:
            lines += define_synonym(sampler)
        elif kind < 0.9:
            lines.append(define_opposite(sampler))
        else:
            lines += same_event(sampler, rng.choice(lex.FRAMES["t"]))
    return lines


def define_kind(sampler: Sampler) -> list[str]:
    """Say that a noun is of a kind, and what follows from that."""
    rng = sampler.rng
    noun = rng.choice(
        [
            word
            for word, kind in lex.PARENT.items()
            if word not in lex.MASS and kind not in lex.MASS
        ]
    )
    kind = lex.PARENT[noun]
    name = sampler.person().concept
    definition = rng.choice(
        [
            f"{a(noun)} is {a(kind, False)}.",
            f"Every {noun} is {a(kind, False)}.",
            f"{lex.plural(noun).capitalize()} are {lex.plural(kind)}.",
            f"{a(noun)} is a kind of {kind}.",
        ]
    )
    consequence = rng.choice(
        [
            f"{name} saw {a(noun, False)}, so {name} saw {a(kind, False)}.",
            f"No {kind} was there, so no {noun} was there.",
            f"Every {kind} was there, and every {noun} was there too.",
            f"{name} had three {lex.plural(noun)} and no other {lex.plural(kind)}.",
        ]
    )
    return [definition, consequence]


def define_synonym(sampler: Sampler) -> list[str]:
    rng = sampler.rng
    word, synonym = rng.choice(list(lex.SYNONYMS.items()))
    if word in lex.VERB:
        return same_event(sampler, word)
    if word in lex.PARENT:
        name = sampler.person().concept
        definition = rng.choice(
            [
                f"{a(word)} is {a(synonym, False)}.",
                f"{a(synonym)} is the same as {a(word, False)}.",
            ]
        )
        return [definition, f"{name} saw {a(synonym, False)}, so {name} saw {a(word, False)}."]
    subject = draw_noun_phrase(sampler, ["person", "animal", "vehicle"])
    if word in lex.MANNER:
        return [f"To do it {word} is to do it {synonym}."]
    return [f"{subject} was {word}, which means that it was {synonym}."]


def define_opposite(sampler: Sampler) -> str:
    rng = sampler.rng
    adjective, opposite, kinds = rng.choice(lex.OPPOSITES)
    first, second = rng.choice([(adjective, opposite), (opposite, adjective)])
    thing = draw_noun_phrase(sampler, kinds)
    was = "were" if thing.split()[-1] in PLURALS else "was"
    first, second = vary(rng, first), vary(rng, second)
    return rng.choice(
        [
            f"{thing} {was} {first}, not {second}.",
            f"{thing} {was} not {first} but {second}.",
            f"{thing} {was} {first}, so {lower(thing)} {was} not {second}.",
            f"{first} is the opposite of {second}.".capitalize(),
        ]
    )


def draw_noun_phrase(sampler: Sampler, kinds: list[str]) -> str:
    thing = sampler.common(kinds, "the", 0)
    return to_text(Speaker(sampler.rng, 0.0).noun_phrase(thing))


PLURALS = {
    lex.plural(noun) for noun in lex.PARENT if noun not in ("sheep", "fish", "salmon", "trout")
}


def lower(text: str) -> str:
    return text[0].lower() + text[1:]


def vary(rng: Random, concept: str) -> str:
    """Replace a concept that has a synonym by it, four times in ten."""
    if concept in lex.SYNONYMS and rng.random() < 0.4:
        return lex.SYNONYMS[concept]
    return concept


def a(noun: str, capital: bool = True) -> str:
    """Put the indefinite article before a noun that has a plural."""
    text = noun if noun in lex.MASS else f"{lex.article(noun)} {noun}"
    return text[0].upper() + text[1:] if capital else text


def same_event(sampler: Sampler, verb: str) -> list[str]:
    """Describe one event twice: with the usual words, then with synonyms and, if possible, in the
    other voice."""
    clause = sampler.clause(verb, depth=0, tense="past", negated=sampler.chance(0.2))
    plain, varied = Speaker(sampler.rng, 0.0, 0.0), Speaker(sampler.rng, 1.0, 0.5)
    passive = plain.can_passive(clause)
    flip = sampler.chance(0.5)
    return [
        to_text(plain.sentence(clause, passive=passive and flip)),
        to_text(varied.sentence(clause, passive=passive and not flip)),
    ]


def has_simple_form(clause: Clause) -> bool:
    return clause.verb != "be" and not clause.adjunct and not isinstance(clause.object, Clause)


def chatter(rng: Random) -> list[str]:
    """Generate unrelated sentences of every form; most are said again in other words, or answer a
    question."""
    sampler = Sampler(rng)
    lines: list[str] = []
    for _ in range(rng.randrange(5, 8)):
        speaker = Speaker(rng)
        clause = sampler.complex()
        passive = speaker.can_passive(clause) and rng.random() < 0.3
        kind = rng.random()
        if kind < 0.25 and has_simple_form(clause):
            wh_arguments = askable(clause)
            argument = rng.choice(["subject", None, *wh_arguments[1:]])
            lines.append(to_text(speaker.question(clause, argument)))
        time_first = rng.random() < 0.3
        lines.append(to_text(speaker.sentence(clause, passive=passive, time_first=time_first)))
        if kind > 0.4:
            varied = Speaker(rng, 0.6)
            passive = varied.can_passive(clause) and not passive
            time_first = rng.random() < 0.5
            lines.append(to_text(varied.sentence(clause, passive=passive, time_first=time_first)))
    return without_repeats(lines)


def questions(rng: Random) -> list[str]:
    """Generate an advice column: each question is asked twice, in different words."""
    lines = []
    for _ in range(rng.randrange(4, 7)):
        lines += advice(rng, True)
    return lines


def two_entries(rng: Random) -> list[str]:
    return encyclopedia.entry(rng).sentences + encyclopedia.entry(rng).sentences


def review_page(rng: Random) -> list[str]:
    """Generate several sentences of one opinion."""
    good = rng.random() < 0.5
    lines = [review(rng, good, sentence=True) for _ in range(rng.randrange(6, 11))]
    return [line[0].upper() + line[1:] for line in lines]


SHARES: dict[Callable[[Random], list[str]], float] = {
    story: 0.42,
    chatter: 0.2,
    definitions: 0.12,
    two_entries: 0.12,
    review_page: 0.08,
    questions: 0.06,
}


def documents(rng: Random, count: int) -> list[list[str]]:
    writers = rng.choices(list(SHARES), SHARES.values(), k=count)
    return [write(rng) for write in writers]
