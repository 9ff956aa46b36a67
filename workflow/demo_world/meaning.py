"""Meaning representations: things and clauses, and a sampler that draws plausible ones.

Truth is decided here, before any words: what a task calls a paraphrase, an entailment or an answer
is computed from these objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from demo_world import lexicon as lex


@dataclass(slots=True)
class Thing:
    """What a noun phrase means. `det` is the, a, every, some, no, most, two..., bare, name,
    pronoun, my, who or what."""

    concept: str
    det: str = "the"
    plural: bool = False
    adjectives: tuple[str, ...] = ()
    owner: "Thing | None" = None
    place: "tuple[str, Thing] | None" = None  # a prepositional modifier: the dog in the park
    relative: "Clause | None" = None  # its subject or object is None where the gap is
    others: "tuple[Thing, ...]" = ()  # coordinated with this one
    entity: str | None = None  # PERSON, ORG, GPE, ... of a name
    gender: str = "n"  # m, f or n
    ref: int = 0  # one number for one individual in a discourse; 0 is nobody in particular

    @property
    def many(self) -> bool:
        return self.plural or bool(self.others)


@dataclass(slots=True)
class Clause:
    """What a sentence means. `verb` "be" makes a copular clause whose object is a Thing or an
    adjective."""

    verb: str
    subject: Thing | None
    object: "Thing | Clause | str | None" = None
    recipient: Thing | None = None
    tense: str = "past"  # past, present, future, perfect, progressive or a modal verb
    negated: bool = False
    manner: str | None = None
    frequency: str | None = None
    place: tuple[str, Thing] | None = None
    time: str | None = None  # "on Monday", "in March", "yesterday"
    # Any other prepositional phrase: with the hammer, about history.
    purpose: tuple[str, Thing] | None = None
    adjunct: "tuple[str, Clause] | None" = None  # because, when, before, although
    intensity: str | None = None  # very, really before an adjective


def askable(clause: Clause) -> list[str]:
    """List the arguments of the clause that a question can ask for."""
    arguments = ["subject"]
    if isinstance(clause.object, Thing) and not clause.recipient:
        arguments.append("object")
    if clause.place:
        arguments.append("place")
    if clause.time:
        arguments.append("time")
    return arguments


def preposition(place: str) -> str:
    if place in lex.AT_PLACES:
        return "at"
    if place in ("street", "beach", "field", "island", "bridge", "mountain"):
        return "on"
    return "in"


# Properties that have no degree.
ABSOLUTE = {
    "wooden",
    "empty",
    "full",
    "secret",
    "red",
    "blue",
    "green",
    "white",
    "black",
    "broken",
}


COMPANY_VERBS = {
    "hire",
    "buy",
    "sell",
    "build",
    "announce",
    "design",
    "own",
    "dismiss",
    "report",
    "deny",
    "praise",
}


def new_adjectives(noun: str, given: Sequence[str]) -> list[str]:
    """List the adjectives for a noun that has these already, without materials."""
    return [
        adjective
        for adjective in lex.adjectives_for(noun)
        if adjective not in lex.MATERIALS and adjective not in given
    ]


class Sampler:
    """Draws things and clauses from the lexicon. Every draw comes from `rng`."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.refs = count(1)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def noun(self, kinds: Sequence[str]) -> str:
        return lex.skewed(self.rng, lex.ranked(self.rng.choice(kinds)))

    def draw_gender(self, noun: str) -> str:
        if noun in lex.MALE:
            return "m"
        if noun in lex.FEMALE:
            return "f"
        return self.rng.choice("mf") if lex.is_a(noun, "person") else "n"

    def person(self, full: float = 0.2) -> Thing:
        """Draw a person by name: first name, or first and last name."""
        gender = self.rng.choice("mf")
        first_names = lex.FEMALE_NAMES if gender == "f" else lex.MALE_NAMES
        name = lex.skewed(self.rng, first_names)
        if self.chance(full):
            name += " " + lex.skewed(self.rng, lex.SURNAMES)
        return Thing(name, "name", entity="PERSON", gender=gender, ref=next(self.refs))

    def city(self) -> Thing:
        return Thing(lex.skewed(self.rng, lex.CITIES), "name", entity="GPE", ref=next(self.refs))

    def company(self) -> Thing:
        name = f"{self.rng.choice(lex.SURNAMES + lex.CITIES)} {self.rng.choice(lex.SECTORS)}"
        return Thing(name, "name", entity="ORG", ref=next(self.refs))

    def common(self, kinds: Sequence[str], det: str | None = None, modified: float = 0.3) -> Thing:
        noun = self.noun(kinds)
        is_mass = noun in lex.MASS
        if is_mass and det in (None, "a"):
            det = "the"
        elif is_mass and (det in ("every", "no", "most") or det in lex.NUMBERS):
            det = "some"
        det = det or self.rng.choice(["the"] * 5 + ["a"] * 4 + ["two", "some", "three"])
        many = det in lex.NUMBERS or det == "most" or (det == "some" and not is_mass)
        if det == "the" and not is_mass and self.chance(0.2):
            many = True
        thing = Thing(noun, det, many, gender=self.draw_gender(noun), ref=next(self.refs))
        if lex.is_a(noun, "person") and self.chance(0.06):
            thing.adjectives = (self.rng.choice(list(lex.COUNTRIES.values())),)
            return thing
        choices = lex.adjectives_for(noun)
        if choices and self.chance(modified):
            thing.adjectives = (lex.skewed(self.rng, choices),)
        return thing

    def thing(self, kinds: Sequence[str], depth: int = 1) -> Thing:
        """Draw the meaning of a noun phrase of any form: a name, a common noun with modifiers, a
        coordination."""
        if "person" in kinds and self.chance(0.35):
            thing = self.person()
        else:
            thing = self.common(kinds)
            if depth:
                self.modify(thing)
        if depth and self.chance(0.06):
            thing.relative = None
            kind = "person" if thing.entity else lex.ancestors(thing.concept)[-1]
            thing.others = (self.thing([kind], 0),)
        return thing

    def modify(self, thing: Thing) -> None:
        """Give some things a place, a relative clause or an owner."""
        is_person = lex.is_a(thing.concept, "person")
        if is_person and self.chance(0.1):
            thing.place = ("from", self.city())
        elif not lex.is_a(thing.concept, "topic") and self.chance(0.08):
            where = self.common(["place"], "the", 0.2)
            thing.place = (self.rng.choice([preposition(where.concept), "near"]), where)
        elif self.chance(0.1):
            thing.relative = self.relative(thing)
        elif self.chance(0.08) and not is_person and not thing.plural:
            thing.owner, thing.det = self.person(0.1), "the"

    def relative(self, thing: Thing) -> Clause | None:
        """Draw a clause about `thing` in which `thing` is the subject or the object."""
        if self.chance(0.6):
            verbs = self.verbs_with("subjects", thing.concept, "ti")
            if verbs:
                clause = self.clause(self.rng.choice(verbs), depth=0, subject=thing)
                return replace(clause, subject=None, time=None)
        verbs = self.verbs_with("objects", thing.concept, "t")
        if verbs:
            verb = self.rng.choice(verbs)
            clause = self.clause(verb, depth=0, subject=self.person(0), object=thing)
            return replace(clause, object=None, time=None)
        return None

    def verbs_with(self, side: str, noun: str, frames: str) -> list[str]:
        """List the verbs of these frames whose "subjects" or "objects" the noun may be."""
        kinds = set(lex.ancestors(noun))
        return [
            verb.lemma
            for verb in lex.VERB.values()
            if verb.frame in frames and kinds.intersection(getattr(verb, side))
        ]

    def where(self) -> tuple[str, Thing]:
        if self.chance(0.35):
            return ("in", self.city())
        place = self.common(["place", "place", "building"], "the", 0.2)
        place.plural = False
        prepositions = [preposition(place.concept)] * 3 + ["near"]
        return (self.rng.choice(prepositions), place)

    def when(self) -> str:
        rng = self.rng
        return rng.choice(
            [
                f"on {rng.choice(lex.DAYS)}",
                f"in {rng.choice(lex.MONTHS)}",
                f"in {rng.randrange(1950, 2020)}",
                f"in {rng.choice(lex.MONTHS)} {rng.randrange(1950, 2020)}",
                "yesterday",
                "last week",
                "last year",
            ]
        )

    def simple(self, frames: str = "iittttdd", **given) -> Clause:
        verbs = lex.FREQUENT[self.rng.choice(frames)]
        return self.clause(lex.skewed(self.rng, verbs), **given)

    def clause(
        self, verb: str, depth: int = 1, subject: Thing | None = None, object=None, **given
    ) -> Clause:
        """Draw a clause with this verb and with arguments that fit the verb's frame; `given`
        attributes replace drawn ones."""
        entry = lex.VERB[verb]
        if subject is None:
            firm = verb in COMPANY_VERBS and self.chance(0.15)
            subject = self.company() if firm else self.thing(entry.subjects, depth)
        clause = Clause(verb, subject)
        if entry.frame in "td":
            clause.object = object or self.different_thing(entry.objects, depth, subject)
        if entry.frame == "d":
            clause.recipient = self.different_thing(["person"], 0, subject)
            if clause.object.det in ("name", "my"):
                clause.object = self.common(entry.objects)
        if entry.frame == "c":
            clause.object = object or self.simple("itt", depth=0)
        if entry.frame == "x":
            clause.object = self.infinitive(subject, object)
        clause.tense = self.tense(entry)
        if entry.frame in "it" and "volition" in entry.tags and self.chance(0.12):
            clause.manner = self.rng.choice(list(lex.MANNER))
        if entry.frame in "it" and depth and self.chance(0.25):
            clause.place = self.where()
        if clause.tense == "past" and depth and self.chance(0.2):
            clause.time = self.when()
        elif clause.tense == "present" and self.chance(0.5):
            clause.frequency = self.rng.choice(lex.FREQUENCY)
        clause.negated = clause.frequency is None and self.chance(0.1)
        for key, value in given.items():
            setattr(clause, key, value)
        if entry.frame == "c":
            self.concord(clause)
        return clause

    def different_thing(self, kinds: Sequence[str], depth: int, subject: Thing) -> Thing:
        """Draw a thing until its concept is not the subject's."""
        thing = self.thing(kinds, depth)
        while thing.concept == subject.concept:
            thing = self.thing(kinds, depth)
        return thing

    def infinitive(self, subject: Thing, clause: Clause | None) -> Clause:
        """Draw an action of the subject, unless the clause is given, and put it in the
        infinitive."""
        if clause is None:
            verbs = self.verbs_with("subjects", "teacher", "ttti")
            voluntary = [verb for verb in verbs if "volition" in lex.VERB[verb].tags]
            clause = self.clause(self.rng.choice(voluntary), depth=0, subject=subject)
        return replace(
            clause, subject=subject, tense="infinitive", negated=False, time=None, frequency=None
        )

    def tense(self, verb: lex.Verb) -> str:
        rare = ["present", "present", "future", "perfect", "progressive", "can", "must"]
        tense = self.rng.choice(["past"] * 6 + rare)
        if tense == "progressive" and ("aware" in verb.tags or verb.frame == "c"):
            return "past"
        return tense

    def concord(self, clause: Clause) -> None:
        """Set the tense of what is said by the tense of saying it."""
        if clause.tense in ("past", "perfect", "progressive"):
            clause.object.tense = self.rng.choice(["past", "past", "conditional"])
        elif clause.object.tense == "progressive":
            clause.object.tense = "past"
        if clause.object.tense != "past":
            clause.object.time = None
        if clause.object.tense != "present":
            clause.object.frequency = None

    def state(self, subject: Thing | None = None, **given) -> Clause:
        """Draw a copular clause: something has a property."""
        subject = subject or self.common(
            ["person", "animal", "vehicle", "building", "garment", "furniture"], modified=0.1
        )
        noun = subject.concept if subject.entity is None else "student"
        adjectives = new_adjectives(noun, subject.adjectives)
        adjective = self.rng.choice(adjectives or ["strange"])
        tense = self.rng.choice(["past", "past", "present"])
        clause = Clause("be", subject, adjective, tense=tense)
        clause.intensity = self.rng.choice([None, None, None, "very", "really"])
        if clause.object in ABSOLUTE:
            clause.intensity = None
        clause.negated = self.chance(0.15)
        for key, value in given.items():
            setattr(clause, key, value)
        return clause

    def again(self, thing: Thing, det: str = "pronoun") -> Thing:
        """Mention the same individual again: by a pronoun, or by a bare definite."""
        return Thing(
            thing.concept, det, thing.many, gender=thing.gender, ref=thing.ref, entity=thing.entity
        )

    def complex(self) -> Clause:
        """Draw the clause of a sentence of any form, sometimes with coreference inside it."""
        kind = self.rng.random()
        if kind < 0.45:
            return self.simple()
        if kind < 0.55:
            return self.state()
        if kind < 0.65:
            return self.simple("x")
        if kind < 0.8:
            clause = self.simple("c")
            if self.chance(0.6):
                clause.object.subject = self.again(clause.subject)
            return clause
        if kind < 0.93:
            return self.with_adjunct()
        return self.with_owned_object()

    def with_adjunct(self) -> Clause:
        """Draw a clause with another that begins with because, when, after, before or
        although."""
        rng = self.rng
        clause = self.simple("itt", depth=0, tense="past", place=None)
        subject = self.again(clause.subject) if self.chance(0.6) else None
        human = clause.subject.entity == "PERSON" or lex.is_a(clause.subject.concept, "person")
        verbs = lex.FRAMES[rng.choice("it")]
        verb = rng.choice([verb for verb in verbs if "person" in lex.VERB[verb].subjects])
        if human or subject is None:
            adjunct = self.clause(
                verb, depth=0, subject=subject, tense="past", time=None, frequency=None
            )
        else:
            adjunct = self.state(subject, tense="past")
        conjunction = rng.choice(["because", "when", "after", "before", "although"])
        clause.adjunct = (conjunction, adjunct)
        clause.frequency = None
        return clause

    def with_owned_object(self) -> Clause:
        """Draw a clause in which a person, where it is one, owns the object."""
        clause = self.simple("t", depth=0)
        obj = clause.object
        is_common = obj.entity is None and obj.concept not in lex.MASS
        if is_common and clause.subject.entity == "PERSON" and not lex.is_a(obj.concept, "person"):
            owner = self.again(clause.subject)
            clause.object = replace(obj, det="the", plural=False, owner=owner)
        return clause
