"""Pairs that mean the same, nearly the same or something else: paraphrases (MRPC), graded
similarity (STS-B), questions (QQP)."""

from dataclasses import replace
from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Speaker, text_of
from demo_world.meaning import Clause, Sampler, Thing

# Paraphrases


def event(rng: Random, frames: str = "ttttdi") -> Clause:
    """Draw a past event such as newswire reports: with people, things, perhaps a place and a
    time."""
    sampler = Sampler(rng)
    clause = sampler.simple(
        frames, depth=0, tense="past", frequency=None, negated=rng.random() < 0.15
    )
    if isinstance(clause.object, Thing) and clause.object.others:
        clause.object.others = ()
    if rng.random() < 0.6:
        clause.place = sampler.where()
    if rng.random() < 0.7:
        clause.time = sampler.when()
    return clause


def reword(rng: Random, clause: Clause, avoid: str | None = None) -> str:
    """Express the clause in other words and another order; try up to four times for another text
    than `avoid`."""
    text = ""
    for _ in range(4):
        speaker = Speaker(rng, synonyms=0.35)
        passive = speaker.can_passive(clause) and rng.random() < 0.5
        text = text_of(speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.5))
        if text != avoid:
            break
    return text


def changes(rng: Random, clause: Clause) -> dict[str, Clause]:
    """Return clauses that differ from `clause` in one thing that matters; each key says what
    differs."""
    sampler, found = Sampler(rng), {}
    subject, obj = clause.subject, clause.object
    if (
        isinstance(obj, Thing)
        and subject.entity != "ORG"
        and obj.gender in "mf"
        and subject.gender in "mf"
    ):
        found["roles"] = replace(clause, subject=obj, object=subject)
    elif clause.recipient and subject.gender in "mf":
        found["roles"] = replace(clause, subject=clause.recipient, recipient=subject)
    for side, thing in (("subject", subject), ("object", obj), ("recipient", clause.recipient)):
        if isinstance(thing, Thing) and (other := another(sampler, thing)):
            found[side] = replace(clause, **{side: other})
    if (
        isinstance(obj, Thing)
        and obj.concept not in lex.MASS
        and obj.det in ("the", "two", "three")
    ):
        if obj.det == "the":
            found["number"] = replace(clause, object=replace(obj, plural=not obj.plural))
        else:
            found["number"] = replace(
                clause,
                object=replace(obj, det=rng.choice([n for n in lex.NUMBERS if n != obj.det])),
            )
    verbs = [v for v in lex.FRAMES[lex.VERB[clause.verb].frame] if related(v, clause)]
    if verbs:
        found["verb"] = replace(clause, verb=rng.choice(verbs), manner=None)
    found["negation"] = replace(clause, negated=not clause.negated)
    if clause.place:
        found["place"] = replace(clause, place=different(sampler.where, clause.place))
    if clause.time:
        found["time"] = replace(clause, time=different(sampler.when, clause.time))
    return found


def different(draw, old):
    new = draw()
    while new == old or (isinstance(new, tuple) and new[1].concept == old[1].concept):
        new = draw()
    return new


def related(verb: str, clause: Clause) -> bool:
    """Tell whether another verb, neither hypernym nor hyponym, fits the same subject and
    object."""
    entry = lex.VERB[verb]
    if (
        verb in (clause.verb, lex.VERB_PARENT.get(clause.verb))
        or lex.VERB_PARENT.get(verb) == clause.verb
    ):
        return False
    fits = [(clause.subject, entry.subjects)]
    if isinstance(clause.object, Thing):
        fits.append((clause.object, entry.objects))
    return all(
        any(
            kind in (lex.ancestors(thing.concept) if thing.entity is None else ("person",))
            for kind in kinds
        )
        for thing, kinds in fits
    )


def another(sampler: Sampler, thing: Thing) -> Thing | None:
    """Replace a thing by another of the same kind: another name, or a sister term."""
    if thing.det == "name":
        make = {"PERSON": sampler.person, "GPE": sampler.city, "ORG": sampler.company}[
            thing.entity
        ]
        return different_name(make, thing)
    choices = [
        s for s in lex.siblings(thing.concept) if (s in lex.MASS) == (thing.concept in lex.MASS)
    ]
    choices = [s for s in choices if thing.concept not in lex.ancestors(s)]
    if thing.adjectives:
        choices = [s for s in choices if all(a in lex.adjectives_for(s) for a in thing.adjectives)]
    return replace(thing, concept=sampler.rng.choice(choices)) if choices else None


def different_name(make, thing: Thing) -> Thing:
    new = make()
    while new.concept.split()[0] == thing.concept.split()[0]:
        new = make()
    return replace(new, ref=thing.ref)


def paraphrase(rng: Random, same: bool) -> tuple[str, str]:
    """Generate an MRPC pair: one event reworded, or two events. A quarter of the second kind
    differ in only one or two things that matter."""
    while True:
        clause = event(rng)
        other = clause if same or rng.random() < 0.25 else event(rng)
        if not same and other is clause:
            for _ in range(rng.choice([1, 2])):
                found = changes(rng, other)
                other = found[
                    rng.choice(
                        [
                            *found,
                            *(kind for kind in ("subject", "object", "verb") if kind in found),
                        ]
                    )
                ]
        first = reword(rng, clause)
        second = reword(rng, other, first)
        differs = other != clause and (clause.recipient or similarity(clause, other) < 5)
        if first != second and (same or differs):
            return first, second


# Graded similarity


def concept_similarity(a: str, b: str) -> float:
    """Score two concepts: 1 if equal, 0.6 if one is the other's hypernym, 0.4 for sister terms,
    0.2 for one root, else 0."""
    if a == b:
        return 1.0
    up, other = lex.ancestors(a), lex.ancestors(b)
    if a in other or b in up:
        return 0.6
    if lex.PARENT.get(a) and lex.PARENT.get(a) == lex.PARENT.get(b):
        return 0.4
    return 0.2 if up[-1] == other[-1] else 0.0


def thing_similarity(a, b) -> float:
    if a is None or b is None:
        return 1.0 if a is b else 0.0
    if not isinstance(a, Thing) or not isinstance(b, Thing):
        return float(a == b)
    if a.entity or b.entity:
        value = 1.0 if a.concept == b.concept else 0.3 if a.entity == b.entity else 0.0
    else:
        value = concept_similarity(a.concept, b.concept)
    same = (a.det in lex.NUMBERS, a.det if a.det in lex.NUMBERS else a.plural) == (
        b.det in lex.NUMBERS,
        b.det if b.det in lex.NUMBERS else b.plural,
    )
    return (
        value * (1.0 if same else 0.8) * (1.0 if set(a.adjectives) == set(b.adjectives) else 0.85)
    )


def verb_similarity(a: str, b: str) -> float:
    if a == b:
        return 1.0
    if lex.VERB_PARENT.get(a) == b or lex.VERB_PARENT.get(b) == a:
        return 0.6
    shared = lex.VERB[a].tags & lex.VERB[b].tags - {"volition"}
    return 0.25 if shared and lex.VERB[a].frame == lex.VERB[b].frame else 0.0


def similarity(a: Clause, b: Clause) -> float:
    """Compute the similarity of two events (without recipients) in [0, 5].

    5 * (0.3 verb + 0.25 subject + 0.25 object + 0.1 place + 0.1 time) * (0.6 if one is negated and
    the other is not); subject and object compare crosswise at half value where that is more (roles
    exchanged).
    """
    straight = 0.25 * (
        thing_similarity(a.subject, b.subject) + thing_similarity(a.object, b.object)
    )
    crossed = 0.125 * (
        thing_similarity(a.subject, b.object) + thing_similarity(a.object, b.subject)
    )
    place = thing_similarity(a.place and a.place[1], b.place and b.place[1])
    total = (
        0.3 * verb_similarity(a.verb, b.verb)
        + max(straight, crossed)
        + 0.1 * place
        + 0.1 * (a.time == b.time)
    )
    return round(5 * total * (1.0 if a.negated == b.negated else 0.6), 3)


def graded(rng: Random, steps: int) -> tuple[str, str, float]:
    """Generate an STS-B pair and its score; the second event is `steps` changes from the first (6:
    another event)."""
    first = event(rng, "ttti")
    if steps == 6:
        second = event(rng, "ttti")
    else:
        second = first
        for _ in range(steps):
            found = changes(rng, second)
            kinds = [k for k in found if k not in ("roles", "negation") or rng.random() < 0.3]
            second = found[rng.choice(kinds)] if kinds else second
    text = reword(rng, first)
    return text, reword(rng, second, text), similarity(first, second)


# Questions

ADVICE = {
    "how": [
        "How can I {do}?",
        "How do I {do}?",
        "What is the best way to {do}?",
        "Is there an easy way to {do}?",
    ],
    "why": [
        "Why do people {do}?",
        "What is the reason that people {do}?",
        "What makes people {do}?",
    ],
    "where": [
        "Where can I {do}?",
        "What is the best place to {do}?",
        "Is there a good place to {do}?",
    ],
    "cost": [
        "How much does it cost to {do}?",
        "What is the price if I want to {do}?",
        "How much money do I need to {do}?",
    ],
    "time": [
        "How long does it take to {do}?",
        "How much time do I need to {do}?",
        "How many hours does it take to {do}?",
    ],
    "should": ["Should I {do}?", "Is it a good idea to {do}?", "Is it wise to {do}?"],
}


def action(rng: Random) -> Clause:
    sampler = Sampler(rng)
    verbs = [
        v
        for v in lex.FRAMES["t"]
        if "person" in lex.VERB[v].subjects and "volition" in lex.VERB[v].tags
    ]
    clause = sampler.clause(
        rng.choice(verbs), depth=0, subject=Thing("person", "bare", True), tense="present"
    )
    kinds = lex.VERB[clause.verb].objects
    clause.object = sampler.common(kinds, rng.choice(["a", "a", "the"]), modified=0.5)
    clause.negated, clause.frequency, clause.time = False, None, None
    clause.manner = rng.choice(list(lex.MANNER)) if rng.random() < 0.15 else None
    clause.place = ("in", sampler.city()) if rng.random() < 0.3 else None
    return clause


def ask(rng: Random, intent: str, clause: Clause, avoid: str | None = None) -> str:
    speaker = Speaker(rng, synonyms=0.3)
    do, _ = speaker.verb_phrase(clause, clause.subject, False)
    text = text_of(do)
    template = rng.choice([t for t in ADVICE[intent] if avoid is None or t[:9] != avoid[:9]])
    return template.format(do=text[0].lower() + text[1:])


def advice(rng: Random, same: bool) -> tuple[str, str]:
    """Generate a QQP pair: one intention asked twice, or two questions. Some of these differ only
    in what is asked, or in what it is about."""
    clause, intent = action(rng), rng.choice(list(ADVICE))
    first = ask(rng, intent, clause)
    if same:
        return first, ask(rng, intent, clause, avoid=first)
    kind = rng.random()
    if kind < 0.7:
        return first, ask(rng, rng.choice(list(ADVICE)), action(rng))
    if kind < 0.85:
        other = rng.choice([i for i in ADVICE if i != intent])
        return first, ask(rng, other, clause)
    sampler, options = Sampler(rng), []
    if thing := another(sampler, clause.object):
        options.append(replace(clause, object=thing))
    for adjective in clause.object.adjectives:
        against = sorted(lex.opposites(adjective) & set(lex.adjectives_for(clause.object.concept)))
        if against:
            options.append(
                replace(clause, object=replace(clause.object, adjectives=(rng.choice(against),)))
            )
    verbs = [v for v in lex.FRAMES["t"] if related(v, replace(clause, subject=Thing("teacher")))]
    if verbs:
        options.append(replace(clause, verb=rng.choice(verbs)))
    if clause.place:
        options.append(
            replace(clause, place=("in", different_name(sampler.city, clause.place[1])))
        )
    if not options:
        return advice(rng, same)
    return first, ask(
        rng, intent, rng.choice(options), avoid=first if rng.random() < 0.6 else None
    )
