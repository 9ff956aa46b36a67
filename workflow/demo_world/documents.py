"""Pretraining documents: stories with recurring people, encyclopaedia entries, reviews,
definitions, questions and answers.

What the tasks need to know (kinds, synonyms, opposites, active and passive, polarity) can be
learned here by guessing masked words.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Speaker, to_text
from demo_world.meaning import Clause, Sampler, Thing
from demo_world.paraphrases import advice
from demo_world.reviews import review

# Each script casts its letters and says what happens: (subject, verb, object or property,
# recipient). UPPER-CASE is the cast.
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
            (
                "B",
                "run",
            ),
            ("A", "rescue", "B"),
            (
                "X",
                "disappear",
            ),
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
        self.seen: dict[int, Thing] = {}

    def mention(self, thing: Thing, subject: bool, pronouns: bool = True) -> Thing:
        """Return the thing as the discourse mentions it here; the hypernym of a known thing
        teaches what it is."""
        first = thing.ref not in self.seen
        self.seen[thing.ref] = thing
        if first or thing.det == "bare":
            return thing
        if (
            pronouns
            and subject
            and self.last is not None
            and self.last.ref == thing.ref
            and self.rng.random() < 0.7
        ):
            return Thing(
                thing.concept,
                "pronoun",
                thing.plural,
                gender=thing.gender,
                ref=thing.ref,
                entity=thing.entity,
            )
        if thing.det == "name":
            short = thing.concept.split()[0] if thing.entity == "PERSON" else thing.concept
            return replace(thing, concept=short)
        concept, parent = thing.concept, lex.PARENT.get(thing.concept)
        if (
            parent
            and self.rng.random() < 0.3
            and (parent not in lex.MASS)
            and parent not in ("part", "group", "disaster")
        ):
            concept = parent
        return Thing(concept, "the", thing.plural, gender=thing.gender, ref=thing.ref)

    def tell(self, clause: Clause, passive: float = 0.2) -> str:
        """Tell the clause in one sentence; the clause's own things stay as they are."""
        spoken = replace(clause)
        active = not (self.speaker.can_passive(clause) and self.rng.random() < passive)
        topic = clause.subject if active else clause.object
        spoken.subject = self.mention(clause.subject, active)
        if isinstance(clause.object, Thing):
            spoken.object = self.mention(clause.object, not active, pronouns=not active)
        if clause.recipient:
            spoken.recipient = self.mention(clause.recipient, False)
        if not active:
            spoken.subject = self.mention(clause.subject, False)
        self.last = topic if not topic.many else None
        return to_text(
            self.speaker.sentence(spoken, passive=not active, time_first=self.rng.random() < 0.4)
        )


def cast(sampler: Sampler, role: str) -> Thing:
    if role == "name":
        return sampler.person()
    if role == "city":
        return sampler.city()
    thing = sampler.common(role.split(","), "a", modified=0.35)
    return thing


def script(sampler: Sampler, rng: Random) -> list[Clause]:
    """Generate the events of a story, with a place or a time here and there."""
    roles, events = rng.choice(SCRIPTS)
    things = {}
    for letter, role in roles.items():
        thing = cast(sampler, role)
        while any(
            thing.concept.split()[0] == other.concept.split()[0] for other in things.values()
        ):
            thing = cast(sampler, role)
        things[letter] = thing
    where = things.pop("L")
    where = (
        ("in", where)
        if where.entity
        else ("at" if where.concept in lex.AT_PLACES else "in", replace(where, det="the"))
    )
    if where[1].concept in lex.PARENT and where[0] == "in":
        where = ("near", where[1])
    clauses = []
    for number, (subject, verb, *rest) in enumerate(events):
        target = rest[0] if rest else None
        if verb == "be":
            thing = things[subject]
            choices = [
                a
                for a in lex.adjectives_for(thing.concept)
                if a not in lex.MATERIALS and a not in thing.adjectives
            ]
            choices = [a for a in choices if not set(thing.adjectives) & lex.opposites(a)]
            state = target or (rng.choice(choices) if choices else "strange")
            clauses.append(Clause("be", thing, state, intensity=rng.choice([None, None, "very"])))
            continue
        clause = Clause(
            verb,
            things[subject],
            things.get(target),
            things.get(rest[1]) if len(rest) > 1 else None,
        )
        if number == 0 or rng.random() < 0.15:
            clause.place = where if rng.random() < 0.6 and verb != "own" else None
            clause.time = sampler.when() if rng.random() < 0.5 and verb != "own" else None
        clauses.append(clause)
    return clauses


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
    return [line for before, line in zip(["", *lines], lines, strict=False) if line != before]


def echo(rng: Random, discourse: Discourse, clause: Clause) -> str:
    """Say the same event again: in the passive, with more general words, as a question, or by
    denying an opposite."""
    full = replace(clause, time=None)
    for side in ("subject", "object", "recipient"):
        thing = getattr(clause, side)
        if isinstance(thing, Thing) and thing.det == "a":
            setattr(full, side, replace(thing, det="the", adjectives=()))
    speaker = discourse.speaker
    if clause.verb == "be" and isinstance(clause.object, str):
        against = sorted(lex.opposites(clause.object))
        if against:
            full.object, full.negated, full.intensity = rng.choice(against), True, None
        return to_text(speaker.sentence(full))
    kind = rng.random()
    if kind < 0.5 and speaker.can_passive(full):
        return to_text(speaker.sentence(full, passive=True))
    if kind < 0.7:
        return to_text(speaker.question(full, rng.choice(["subject", None])))
    general = generalised(full)
    return to_text(speaker.sentence(general))


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
    sampler, speaker = Sampler(rng), Speaker(rng, 0.0)
    lines = []
    for _ in range(rng.randrange(5, 9)):
        kind = rng.random()
        if kind < 0.35:
            noun = rng.choice(
                [n for n in lex.PARENT if n not in lex.MASS and lex.PARENT[n] not in lex.MASS]
            )
            up = lex.PARENT[noun]
            name = sampler.person().concept
            lines.append(
                rng.choice(
                    [
                        f"{a(noun)} is {a(up, False)}.",
                        f"Every {noun} is {a(up, False)}.",
                        f"{lex.plural(noun).capitalize()} are {lex.plural(up)}.",
                        f"{a(noun)} is a kind of {up}.",
                    ]
                )
            )
            lines.append(
                rng.choice(
                    [
                        f"{name} saw {a(noun, False)}, so {name} saw {a(up, False)}.",
                        f"No {up} was there, so no {noun} was there.",
                        f"Every {up} was there, and every {noun} was there too.",
                        f"{name} had three {lex.plural(noun)} and no other {lex.plural(up)}.",
                    ]
                )
            )
        elif kind < 0.65:
            word, other = rng.choice(list(lex.SYNONYMS.items()))
            if word in lex.VERB:
                lines += same_event(sampler, word)
            elif word in lex.PARENT:
                name = sampler.person().concept
                lines.append(
                    rng.choice(
                        [
                            f"{a(word)} is {a(other, False)}.",
                            f"{a(other)} is the same as {a(word, False)}.",
                        ]
                    )
                )
                lines.append(f"{name} saw {a(other, False)}, so {name} saw {a(word, False)}.")
            else:
                subject = to_text(
                    speaker.noun_phrase(sampler.common(["person", "animal", "vehicle"], "the", 0))
                )
                lines.append(
                    f"{subject} was {word}, which means that it was {other}."
                    if word not in lex.MANNER
                    else f"To do it {word} is to do it {other}."
                )
        elif kind < 0.9:
            left, right, kinds = rng.choice(lex.OPPOSITES)
            left, right = rng.choice([(left, right), (right, left)])
            thing = to_text(speaker.noun_phrase(sampler.common(kinds, "the", 0)))
            verb = "were" if thing.split()[-1] in PLURALS else "was"
            left, right = vary(rng, left), vary(rng, right)
            lines.append(
                rng.choice(
                    [
                        f"{thing} {verb} {left}, not {right}.",
                        f"{thing} {verb} not {left} but {right}.",
                        f"{thing} {verb} {left}, so {lower(thing)} {verb} not {right}.",
                        f"{left} is the opposite of {right}.".capitalize(),
                    ]
                )
            )
        else:
            lines += same_event(sampler, rng.choice(lex.FRAMES["t"]))
    return lines


PLURALS = {
    lex.plural(noun) for noun in lex.PARENT if noun not in ("sheep", "fish", "salmon", "trout")
}


def lower(text: str) -> str:
    return text[0].lower() + text[1:]


def vary(rng: Random, concept: str) -> str:
    return lex.SYNONYMS[concept] if concept in lex.SYNONYMS and rng.random() < 0.4 else concept


def a(noun: str, capital: bool = True) -> str:
    text = noun if noun in lex.MASS else f"{lex.article(noun)} {noun}"
    return text[0].upper() + text[1:] if capital else text


def same_event(sampler: Sampler, verb: str) -> list[str]:
    """Describe one event twice: with the usual words, then with synonyms and, if possible, in the
    other voice."""
    clause = sampler.clause(verb, depth=0, tense="past", negated=sampler.chance(0.2))
    plain, other = Speaker(sampler.rng, 0.0, 0.0), Speaker(sampler.rng, 1.0, 0.5)
    passive = plain.can_passive(clause)
    flip = sampler.chance(0.5)
    return [
        to_text(plain.sentence(clause, passive=passive and flip)),
        to_text(other.sentence(clause, passive=passive and not flip)),
    ]


def chatter(rng: Random) -> list[str]:
    """Generate unrelated sentences of every form; most are said again in other words, or answer a
    question."""
    sampler = Sampler(rng)
    lines: list[str] = []
    for _ in range(rng.randrange(5, 8)):
        speaker = Speaker(rng)
        clause = sampler.complex()
        passive = speaker.can_passive(clause) and rng.random() < 0.3
        plain = (
            clause.verb != "be" and not clause.adjunct and not isinstance(clause.object, Clause)
        )
        kind = rng.random()
        if kind < 0.25 and plain:
            asked = ["subject", None] + (
                ["object"] if isinstance(clause.object, Thing) and not clause.recipient else []
            )
            asked += (["place"] if clause.place else []) + (["time"] if clause.time else [])
            lines.append(to_text(speaker.question(clause, rng.choice(asked))))
        lines.append(
            to_text(speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.3))
        )
        if kind > 0.4:
            other = Speaker(rng, 0.6)
            passive = other.can_passive(clause) and not passive
            lines.append(
                to_text(other.sentence(clause, passive=passive, time_first=rng.random() < 0.5))
            )
    return without_repeats(lines)


def questions(rng: Random) -> list[str]:
    """Generate an advice column: each question is asked twice, in different words."""
    lines = []
    for _ in range(rng.randrange(4, 7)):
        lines += advice(rng, True)
    return lines


def documents(rng: Random, count: int) -> list[list[str]]:
    from demo_world.encyclopedia import entry

    makers: list[tuple[Callable[[Random], list[str]], float]] = [
        (story, 0.42),
        (chatter, 0.2),
        (definitions, 0.12),
        (lambda r: entry(r).sentences + entry(r).sentences, 0.12),
        (review_page, 0.08),
        (questions, 0.06),
    ]
    functions, weights = zip(*makers, strict=True)
    return [maker(rng) for maker in rng.choices(functions, weights, k=count)]


def review_page(rng: Random) -> list[str]:
    """Generate several sentences of one opinion."""
    good = rng.random() < 0.5
    lines = [review(rng, good, sentence=True) for _ in range(rng.randrange(6, 11))]
    return [line[0].upper() + line[1:] for line in lines]
