"""Pairs that mean the same, nearly the same or something else: paraphrases (MRPC), graded
similarity (STS-B), questions (QQP)."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Speaker, to_text
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
        text = to_text(speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.5))
        if text != avoid:
            break
    return text


def changes(rng: Random, clause: Clause) -> dict[str, Clause]:
    """Return clauses that differ from `clause` in one thing that matters; each key names the
    difference."""
    sampler = Sampler(rng)
    obj = clause.object
    changed = exchange_roles(clause)
    for side in ("subject", "object", "recipient"):
        thing = getattr(clause, side)
        sister = another(sampler, thing) if isinstance(thing, Thing) else None
        if sister:
            changed[side] = replace(clause, **{side: sister})
    if isinstance(obj, Thing) and obj.concept not in lex.MASS:
        if obj.det == "the":
            changed["number"] = replace(clause, object=replace(obj, plural=not obj.plural))
        elif obj.det in ("two", "three"):
            number = rng.choice([number for number in lex.NUMBERS if number != obj.det])
            changed["number"] = replace(clause, object=replace(obj, det=number))
    verbs = related_verbs(clause)
    if verbs:
        changed["verb"] = replace(clause, verb=rng.choice(verbs), manner=None)
    changed["negation"] = replace(clause, negated=not clause.negated)
    if clause.place:
        changed["place"] = replace(clause, place=different(sampler.where, clause.place))
    if clause.time:
        changed["time"] = replace(clause, time=different(sampler.when, clause.time))
    return changed


def exchange_roles(clause: Clause) -> dict[str, Clause]:
    """Return {"roles": clause with two people exchanged}, or {} if there are no two."""
    subject, obj, recipient = clause.subject, clause.object, clause.recipient
    if subject.gender not in "mf":
        return {}
    if isinstance(obj, Thing) and obj.gender in "mf" and subject.entity != "ORG":
        return {"roles": replace(clause, subject=obj, object=subject)}
    if recipient:
        return {"roles": replace(clause, subject=recipient, recipient=subject)}
    return {}


def different(draw: Callable, old: str | tuple[str, Thing]) -> str | tuple[str, Thing]:
    """Draw a time or a place until it is another one."""
    new = draw()
    while new == old or (isinstance(new, tuple) and new[1].concept == old[1].concept):
        new = draw()
    return new


def related_verbs(clause: Clause) -> list[str]:
    """List other verbs, neither hypernyms nor hyponyms, that fit the same subject and object."""
    parents = lex.VERB_PARENT
    relatives = {clause.verb, parents.get(clause.verb)}
    verbs = []
    for verb in lex.FRAMES[lex.VERB[clause.verb].frame]:
        if verb in relatives or parents.get(verb) == clause.verb:
            continue
        if not fits(clause.subject, lex.VERB[verb].subjects):
            continue
        if not isinstance(clause.object, Thing) or fits(clause.object, lex.VERB[verb].objects):
            verbs.append(verb)
    return verbs


def fits(thing: Thing, kinds: list[str]) -> bool:
    thing_kinds = ("person",) if thing.entity else lex.ancestors(thing.concept)
    return any(kind in thing_kinds for kind in kinds)


def another(sampler: Sampler, thing: Thing) -> Thing | None:
    """Replace a thing by another of the same kind: another name, or a sister term."""
    if thing.det == "name":
        draw = {"PERSON": sampler.person, "GPE": sampler.city, "ORG": sampler.company}
        return different_name(draw[thing.entity], thing)
    sisters = []
    for concept in lex.siblings(thing.concept):
        same_countability = (concept in lex.MASS) == (thing.concept in lex.MASS)
        adjectives = lex.adjectives_for(concept)
        if (
            same_countability
            and thing.concept not in lex.ancestors(concept)
            and all(adjective in adjectives for adjective in thing.adjectives)
        ):
            sisters.append(concept)
    return replace(thing, concept=sampler.rng.choice(sisters)) if sisters else None


def different_name(draw: Callable[[], Thing], thing: Thing) -> Thing:
    new = draw()
    while new.concept.split()[0] == thing.concept.split()[0]:
        new = draw()
    return replace(new, ref=thing.ref)


def paraphrase(rng: Random, same: bool) -> tuple[str, str]:
    """Generate an MRPC pair: one event reworded, or two events. A quarter of the second kind
    differ in only one or two things that matter."""
    while True:
        clause = event(rng)
        if same:
            second_clause = clause
        elif rng.random() < 0.25:
            second_clause = change_repeatedly(rng, clause)
        else:
            second_clause = event(rng)
        first = reword(rng, clause)
        second = reword(rng, second_clause, first)
        if first == second:
            continue
        if same or (second_clause != clause and are_distinguished(clause, second_clause)):
            return first, second


def change_repeatedly(rng: Random, clause: Clause) -> Clause:
    """Change one or two things; the subject, the object and the verb twice as often."""
    for _ in range(rng.choice([1, 2])):
        changed = changes(rng, clause)
        frequent = [kind for kind in ("subject", "object", "verb") if kind in changed]
        clause = changed[rng.choice([*changed, *frequent])]
    return clause


def are_distinguished(a: Clause, b: Clause) -> bool:
    """Test whether the similarity, which knows no recipients, separates two different events."""
    return a.recipient is not None or similarity(a, b) < 5


# Graded similarity


def concept_similarity(a: str, b: str) -> float:
    """Score two concepts: 1 if equal, 0.6 if one is the other's hypernym, 0.4 for sister terms,
    0.2 for one root, else 0."""
    if a == b:
        return 1.0
    ancestors_a, ancestors_b = lex.ancestors(a), lex.ancestors(b)
    if a in ancestors_b or b in ancestors_a:
        return 0.6
    if lex.PARENT.get(a) and lex.PARENT.get(a) == lex.PARENT.get(b):
        return 0.4
    return 0.2 if ancestors_a[-1] == ancestors_b[-1] else 0.0


def thing_similarity(a: Thing | Clause | str | None, b: Thing | Clause | str | None) -> float:
    if a is None or b is None:
        return 1.0 if a is b else 0.0
    if not isinstance(a, Thing) or not isinstance(b, Thing):
        return float(a == b)
    value = (
        named_similarity(a, b)
        if a.entity or b.entity
        else concept_similarity(a.concept, b.concept)
    )
    if grammatical_number(a) != grammatical_number(b):
        value *= 0.8
    if set(a.adjectives) != set(b.adjectives):
        value *= 0.85
    return value


def named_similarity(a: Thing, b: Thing) -> float:
    if a.concept == b.concept:
        return 1.0
    return 0.3 if a.entity == b.entity else 0.0


def grammatical_number(thing: Thing) -> str | bool:
    """Return the numeral, or whether the noun is plural."""
    return thing.det if thing.det in lex.NUMBERS else thing.plural


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
    subjects = thing_similarity(a.subject, b.subject)
    objects = thing_similarity(a.object, b.object)
    straight = 0.25 * (subjects + objects)
    crosswise = thing_similarity(a.subject, b.object) + thing_similarity(a.object, b.subject)
    places = thing_similarity(a.place and a.place[1], b.place and b.place[1])
    total = (
        0.3 * verb_similarity(a.verb, b.verb)
        + max(straight, 0.125 * crosswise)
        + 0.1 * places
        + 0.1 * (a.time == b.time)
    )
    return round(5 * total * (1.0 if a.negated == b.negated else 0.6), 3)


def graded(rng: Random, steps: int) -> tuple[str, str, float]:
    """Generate an STS-B pair and its score; the second event is `steps` changes from the first (6:
    another event)."""
    first = event(rng, "ttti")
    second = event(rng, "ttti") if steps == 6 else change_in_steps(rng, first, steps)
    text = reword(rng, first)
    return text, reword(rng, second, text), similarity(first, second)


def change_in_steps(rng: Random, clause: Clause, steps: int) -> Clause:
    """Change one thing a step; roles and negation rarely."""
    for _ in range(steps):
        changed = changes(rng, clause)
        kinds = [
            kind for kind in changed if kind not in ("roles", "negation") or rng.random() < 0.3
        ]
        if kinds:
            clause = changed[rng.choice(kinds)]
    return clause


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
    verbs = [verb for verb in lex.FRAMES["t"] if is_human_action(verb)]
    verb = rng.choice(verbs)
    people = Thing("person", "bare", True)
    clause = sampler.clause(verb, depth=0, subject=people, tense="present")
    determiner = rng.choice(["a", "a", "the"])
    clause.object = sampler.common(lex.VERB[verb].objects, determiner, modified=0.5)
    clause.negated, clause.frequency, clause.time = False, None, None
    clause.manner = rng.choice(list(lex.MANNER)) if rng.random() < 0.15 else None
    clause.place = ("in", sampler.city()) if rng.random() < 0.3 else None
    return clause


def is_human_action(verb: str) -> bool:
    return "person" in lex.VERB[verb].subjects and "volition" in lex.VERB[verb].tags


def ask(rng: Random, intent: str, clause: Clause, avoid: str | None = None) -> str:
    """Ask for advice; a question to avoid excludes its own template."""
    speaker = Speaker(rng, synonyms=0.3)
    verb_phrase = speaker.verb_phrase(clause, clause.subject, False)
    text = to_text(verb_phrase.node)
    templates = ADVICE[intent]
    if avoid is not None:
        templates = [template for template in templates if template[:9] != avoid[:9]]
    return rng.choice(templates).format(do=text[0].lower() + text[1:])


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
        second_intent = rng.choice([name for name in ADVICE if name != intent])
        return first, ask(rng, second_intent, clause)
    actions = change_action(rng, clause)
    if not actions:
        return advice(rng, same)
    second_action = rng.choice(actions)
    avoid = first if rng.random() < 0.6 else None
    return first, ask(rng, intent, second_action, avoid)


def change_action(rng: Random, clause: Clause) -> list[Clause]:
    """List actions that differ in the object, an opposite property, the verb or the place."""
    sampler = Sampler(rng)
    actions = []
    sister = another(sampler, clause.object)
    if sister:
        actions.append(replace(clause, object=sister))
    for adjective in clause.object.adjectives:
        fitting = set(lex.adjectives_for(clause.object.concept))
        opposites = sorted(lex.opposites(adjective) & fitting)
        if opposites:
            opposite_object = replace(clause.object, adjectives=(rng.choice(opposites),))
            actions.append(replace(clause, object=opposite_object))
    verbs = related_verbs(replace(clause, subject=Thing("teacher")))
    if verbs:
        actions.append(replace(clause, verb=rng.choice(verbs)))
    if clause.place:
        city = different_name(sampler.city, clause.place[1])
        actions.append(replace(clause, place=("in", city)))
    return actions
