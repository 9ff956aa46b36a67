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
    pronoun, my or who/what (asked for)."""

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


def preposition(place: str) -> str:
    if place in lex.AT_PLACES:
        return "at"
    return "on" if place in ("street", "beach", "field", "island", "bridge", "mountain") else "in"


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


class Sampler:
    """Draws things and clauses from the lexicon. Every draw comes from `rng`."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.refs = count(1)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def noun(self, kinds: Sequence[str]) -> str:
        return lex.skewed(self.rng, lex.ranked(self.rng.choice(kinds)))

    def gender_of(self, noun: str) -> str:
        if noun in lex.MALE or noun in lex.FEMALE:
            return "m" if noun in lex.MALE else "f"
        return self.rng.choice("mf") if lex.is_a(noun, "person") else "n"

    def person(self, full: float = 0.2) -> Thing:
        """Draw a person by name: first name, or first and last name."""
        gender = self.rng.choice("mf")
        name = lex.skewed(self.rng, lex.FEMALE_NAMES if gender == "f" else lex.MALE_NAMES)
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
        if noun in lex.MASS:
            det = "the" if det in (None, "a") else det
            if det in ("every", "no", "most") or det in lex.NUMBERS:
                det = "some"
        det = det or self.rng.choice(["the"] * 5 + ["a"] * 4 + ["two", "some", "three"])
        many = det in lex.NUMBERS or det == "most" or (det == "some" and noun not in lex.MASS)
        if det == "the" and noun not in lex.MASS and self.chance(0.2):
            many = True
        thing = Thing(noun, det, many, gender=self.gender_of(noun), ref=next(self.refs))
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
        rng = self.rng
        if "person" in kinds and self.chance(0.35):
            thing = self.person()
        else:
            thing = self.common(kinds)
            if depth and lex.is_a(thing.concept, "person") and self.chance(0.1):
                thing.place = ("from", self.city())
            elif depth and not lex.is_a(thing.concept, "topic") and self.chance(0.08):
                where = self.common(["place"], "the", 0.2)
                thing.place = (rng.choice([preposition(where.concept), "near"]), where)
            elif depth and self.chance(0.1):
                thing.relative = self.relative(thing)
            elif (
                depth
                and self.chance(0.08)
                and not lex.is_a(thing.concept, "person")
                and not thing.plural
            ):
                thing.owner, thing.det, thing.plural = self.person(0.1), "the", False
        if depth and self.chance(0.06):
            thing.relative = None
            thing.others = (
                self.thing(
                    [lex.ancestors(thing.concept)[-1] if thing.entity is None else "person"], 0
                ),
            )
        return thing

    def relative(self, thing: Thing) -> Clause | None:
        """Draw a clause about `thing` in which `thing` is the subject or the object."""
        if self.chance(0.6):
            verbs = self.verbs_with("subjects", thing.concept, "ti")
            if verbs:
                return replace(
                    self.clause(self.rng.choice(verbs), depth=0, subject=thing),
                    subject=None,
                    time=None,
                )
        verbs = [v for v in self.verbs_with("objects", thing.concept, "t")]
        if verbs:
            clause = self.clause(
                self.rng.choice(verbs), depth=0, subject=self.person(0), object=thing
            )
            return replace(clause, object=None, time=None)
        return None

    def verbs_with(self, side: str, noun: str, frames: str) -> list[str]:
        kinds = lex.ancestors(noun)
        return [
            v.lemma
            for v in lex.VERB.values()
            if v.frame in frames and any(k in kinds for k in getattr(v, side))
        ]

    def where(self) -> tuple[str, Thing]:
        if self.chance(0.35):
            return ("in", self.city())
        place = self.common(["place", "place", "building"], "the", 0.2)
        place.plural = False
        return (self.rng.choice([preposition(place.concept)] * 3 + ["near"]), place)

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
        return self.clause(lex.skewed(self.rng, lex.FREQUENT[self.rng.choice(frames)]), **given)

    def clause(
        self, verb: str, depth: int = 1, subject: Thing | None = None, object=None, **given
    ) -> Clause:
        """Draw a clause with this verb and with arguments that fit the verb's frame."""
        entry = lex.VERB[verb]
        if subject is None:
            firm = verb in COMPANY_VERBS and self.chance(0.15)
            subject = self.company() if firm else self.thing(entry.subjects, depth)
        clause = Clause(verb, subject)
        if entry.frame in "td":
            clause.object = object or self.thing(entry.objects, depth)
            while (
                object is None
                and isinstance(clause.object, Thing)
                and clause.object.concept == subject.concept
            ):
                clause.object = self.thing(entry.objects, depth)
        if entry.frame == "d":
            clause.recipient = self.thing(["person"], 0)
            while clause.recipient.concept == subject.concept:
                clause.recipient = self.thing(["person"], 0)
            if clause.object.det in ("name", "my"):
                clause.object = self.common(entry.objects)
        if entry.frame == "c":
            clause.object = object or self.simple("itt", depth=0)
        if entry.frame == "x":
            verbs = self.verbs_with("subjects", "teacher", "ttti")
            verbs = [lemma for lemma in verbs if "volition" in lex.VERB[lemma].tags]
            inner = object or self.clause(self.rng.choice(verbs), depth=0, subject=subject)
            clause.object = replace(
                inner,
                subject=subject,
                tense="infinitive",
                negated=False,
                time=None,
                frequency=None,
            )
        simple = entry.frame in "it" and depth
        clause.tense = self.rng.choice(
            ["past"] * 6
            + ["present", "present", "future", "perfect", "progressive", "can", "must"]
        )
        if clause.tense == "progressive" and ("aware" in entry.tags or entry.frame == "c"):
            clause.tense = "past"
        if entry.frame in "it" and "volition" in entry.tags and self.chance(0.12):
            clause.manner = self.rng.choice(list(lex.MANNER))
        if simple and self.chance(0.25):
            clause.place = self.where()
        if clause.tense == "past" and depth and self.chance(0.2):
            clause.time = self.when()
        elif clause.tense == "present":
            clause.frequency = self.rng.choice(lex.FREQUENCY) if self.chance(0.5) else None
        clause.negated = clause.frequency is None and self.chance(0.1)
        for key, value in given.items():
            setattr(clause, key, value)
        if entry.frame == "c":
            self.concord(clause)
        return clause

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
        choices = [
            a
            for a in lex.adjectives_for(noun)
            if a not in lex.MATERIALS and a not in subject.adjectives
        ]
        clause = Clause(
            "be",
            subject,
            self.rng.choice(choices or ["strange"]),
            tense=self.rng.choice(["past", "past", "present"]),
        )
        clause.intensity = self.rng.choice([None, None, None, "very", "really"])
        if clause.object in (
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
        ):
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
        rng, kind = self.rng, self.rng.random()
        if kind < 0.45:
            clause = self.simple()
        elif kind < 0.55:
            clause = self.state()
        elif kind < 0.65:
            clause = self.simple("x")
        elif kind < 0.8:
            clause = self.simple("c")
            inner = clause.object
            if self.chance(0.6):
                inner.subject = self.again(clause.subject)
        elif kind < 0.93:
            clause = self.simple("itt", depth=0, tense="past", place=None)
            subject = self.again(clause.subject) if self.chance(0.6) else None
            agent = clause.subject.entity == "PERSON" or lex.is_a(clause.subject.concept, "person")
            verb = rng.choice(
                [v for v in lex.FRAMES[rng.choice("it")] if "person" in lex.VERB[v].subjects]
            )
            if agent or subject is None:
                second = self.clause(
                    verb, depth=0, subject=subject, tense="past", time=None, frequency=None
                )
            else:
                second = self.state(subject, tense="past")
            clause.adjunct = (
                rng.choice(["because", "when", "after", "before", "although"]),
                second,
            )
            clause.frequency = None
        else:
            clause = self.simple("t", depth=0)
            target = clause.object
            owned = (
                isinstance(target, Thing)
                and target.entity is None
                and target.concept not in lex.MASS
            )
            if (
                owned
                and clause.subject.entity == "PERSON"
                and not lex.is_a(target.concept, "person")
            ):
                clause.object = replace(
                    target, det="the", plural=False, owner=self.again(clause.subject)
                )
        return clause
