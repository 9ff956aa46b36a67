"""Entailment between quantified sentences, decided from meaning by monotonicity (MNLI, RTE).

A statement says that Q individuals of a kind (with properties) do, or do not do, something. For
slots A (restriction) and B (what is said): some A B is upward in both, every A B downward in A and
upward in B, no A B downward in both; kinds are never empty.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from demo_world import lexicon as lex
from demo_world.grammar import Speaker, to_text
from demo_world.meaning import Clause, Sampler, Thing
from demo_world.paraphrases import another, different, related_verbs

ENTAILMENT, CONTRADICTION, NEUTRAL = "entailment", "contradiction", "neutral"


def below(a: str, b: str) -> bool:
    """Test whether concept a is b or a kind of b."""
    return b in lex.ancestors(a)


def adjective_below(a: str, b: str) -> bool:
    return a == b or lex.ADJECTIVE_PARENT.get(a) == b


def thing_below(a: Thing, b: Thing) -> bool:
    """Test whether what is an a (with its modifiers) is always a b (with its modifiers)."""
    if a.det == "name" or b.det == "name":
        return a.det == b.det and a.concept == b.concept
    if not below(a.concept, b.concept) or a.plural != b.plural or (a.plural and a.det != b.det):
        return False
    return all(any(adjective_below(x, y) for x in a.adjectives) for y in b.adjectives)


def restriction_below(a: Thing, b: Thing) -> bool:
    """Test whether every a is a b where both are subjects of quantifiers, of which only kind and
    properties count."""
    return below(a.concept, b.concept) and all(
        any(adjective_below(x, y) for x in a.adjectives) for y in b.adjectives
    )


def predicate_below(a: Clause, b: Clause) -> bool:
    """Test whether who does a (negation aside) always does b."""
    if a.verb == "be" or b.verb == "be":
        return (
            a.verb == b.verb
            and adjective_below(a.object, b.object)
            and b.intensity in (None, a.intensity)
        )
    if b.verb not in (a.verb, lex.VERB_PARENT.get(a.verb)):
        return False
    if isinstance(b.object, Thing) and not (
        isinstance(a.object, Thing) and thing_below(a.object, b.object)
    ):
        return False
    same_place = b.place is None or (
        a.place is not None and a.place[0] == b.place[0] and thing_below(a.place[1], b.place[1])
    )
    return same_place and b.time in (None, a.time) and b.manner in (None, a.manner)


def predicate_excludes(a: Clause, b: Clause) -> bool:
    """Test whether nobody does both a and b, negation aside."""
    return a.verb == b.verb == "be" and b.object in lex.opposites(a.object)


def relation(p: Clause, h: Clause) -> str | None:
    """Decide what premise p says about hypothesis h; None where English speakers would argue
    (another definite subject)."""
    dets = p.subject.det, h.subject.det
    up, down = predicate_below(p, h), predicate_below(h, p)
    excludes = predicate_excludes(p, h)
    if dets[0] in ("name", "the"):
        if dets[1] != dets[0]:
            return None
        same = thing_below(p.subject, h.subject)
        if not same:
            return (
                NEUTRAL
                if not thing_below(h.subject, p.subject) or p.negated == h.negated
                else None
            )
        if not p.negated and not h.negated:
            return ENTAILMENT if up else CONTRADICTION if excludes else NEUTRAL
        if p.negated and h.negated:
            return ENTAILMENT if down else NEUTRAL
        if h.negated:
            return CONTRADICTION if up else ENTAILMENT if excludes else NEUTRAL
        return CONTRADICTION if down else NEUTRAL
    if dets[1] in ("name", "the"):
        return None
    wider = restriction_below(p.subject, h.subject)  # A is below A'
    narrower = restriction_below(h.subject, p.subject)
    some_common = wider or narrower
    match dets:
        case ("some", "some"):
            return ENTAILMENT if wider and up else NEUTRAL
        case ("every", "every"):
            if excludes and some_common:
                return CONTRADICTION
            return ENTAILMENT if narrower and up else NEUTRAL
        case ("every", "some"):
            if excludes and narrower:
                return CONTRADICTION
            return ENTAILMENT if some_common and up else NEUTRAL
        case ("no", "no"):
            return ENTAILMENT if narrower and down else NEUTRAL
        case ("no", "some"):
            return CONTRADICTION if narrower and down else NEUTRAL
        case ("no", "every"):
            return CONTRADICTION if some_common and down else NEUTRAL
        case ("some", "no"):
            return CONTRADICTION if wider and up else NEUTRAL
        case ("every", "no"):
            if excludes and narrower:
                return ENTAILMENT
            return CONTRADICTION if some_common and up else NEUTRAL
        case ("some", "every"):
            return CONTRADICTION if excludes and wider else NEUTRAL
    return None


DEFINITE = ["name", "the"]
ANY = ["name", "name", "the", "the", "every", "some", "no"]


def statement(rng: Random, dets: list[str]) -> Clause:
    """Draw a premise in the past, whose subject has one of these determiners (or a name)."""
    sampler = Sampler(rng)
    det = rng.choice(dets)
    if rng.random() < 0.2:
        subject = sampler.common(
            ["person", "animal", "vehicle", "building", "garment"], "the", modified=0.3
        )
        clause = sampler.state(
            subject, tense="past", negated=False, intensity=rng.choice([None, None, "very"])
        )
        if clause.object in lex.ADJECTIVE_PARENT:
            clause.intensity = None
        if set(subject.adjectives) & (lex.opposites(clause.object) | {clause.object}):
            subject.adjectives = ()
    else:
        verb = lex.skewed(rng, lex.FREQUENT[rng.choice("itt")])
        subject = sampler.common(lex.VERB[verb].subjects, "the", modified=0.35)
        clause = sampler.clause(
            verb, depth=0, subject=subject, tense="past", negated=False, frequency=None
        )
        if isinstance(clause.object, Thing):
            if clause.object.entity is None:
                clause.object = sampler.common(lex.VERB[verb].objects, "a", modified=0.4)
            clause.object.others = ()
        clause.place = sampler.where() if rng.random() < 0.4 else None
        clause.time = sampler.when() if rng.random() < 0.3 else None
    subject.others, subject.plural = (), False
    if det == "name" and lex.is_a(subject.concept, "person"):
        clause.subject = sampler.person()
    elif subject.concept in lex.MASS or det == "name":
        subject.det = "the"
    else:
        subject.det = det
    return clause


def edits(rng: Random, clause: Clause) -> list[Callable[[], Clause]]:
    """List ways to make another statement from this one."""
    sampler, found = Sampler(rng), []
    subject, obj = clause.subject, clause.object
    for side in ("subject", "object"):
        thing = getattr(clause, side)
        if not isinstance(thing, Thing):
            continue

        def put(new: Thing, side=side) -> Callable[[], Clause]:
            return lambda: replace(clause, **{side: new})

        if thing.det == "name":
            if side == "object" or rng.random() < 0.4:
                found.append(put(another(sampler, thing)))
            continue
        up = [k for k in lex.ancestors(thing.concept)[1:] if k not in lex.MASS]
        down = [k for k in lex.TAXONOMY.get(thing.concept, ())]
        if up and thing.concept not in lex.MASS:
            allowed = [
                k for k in up if all(x in lex.adjectives_for(k) for x in thing.adjectives)
            ] or up[:1]
            found += [put(replace(thing, concept=rng.choice(allowed)))] * 3
        if down:
            found += [put(replace(thing, concept=rng.choice(down)))] * 3
        if side == "object" and (new := another(sampler, thing)):
            found.append(put(new))
        if thing.adjectives:
            found += [put(replace(thing, adjectives=()))] * 2
        elif choices := lex.adjectives_for(thing.concept):
            found += [put(replace(thing, adjectives=(rng.choice(choices),)))] * 2
    if isinstance(obj, str):
        against = sorted(lex.opposites(obj))
        if against:
            found += [lambda: replace(clause, object=rng.choice(against), intensity=None)] * 6
        found.append(
            lambda: sampler.state(subject, tense="past", negated=clause.negated, intensity=None)
        )
        if clause.intensity:
            found += [lambda: replace(clause, intensity=None)] * 2
        elif obj not in lex.ADJECTIVE_PARENT:
            found += [lambda: replace(clause, intensity="very")] * 2
    else:
        for field, draw in (("place", sampler.where), ("time", sampler.when)):
            old = getattr(clause, field)
            if old:
                found += [lambda field=field: replace(clause, **{field: None})] * 2
                found.append(
                    lambda field=field, draw=draw, old=old: replace(
                        clause, **{field: different(draw, old)}
                    )
                )
            else:
                found.append(lambda field=field, draw=draw: replace(clause, **{field: draw()}))
        if clause.verb in lex.VERB_PARENT:
            found += [lambda: replace(clause, verb=lex.VERB_PARENT[clause.verb])] * 3
        narrower = [v for v, wide in lex.VERB_PARENT.items() if wide == clause.verb]
        if narrower:
            found.append(lambda: replace(clause, verb=rng.choice(narrower)))
        verbs = related_verbs(clause)
        if verbs:
            found.append(lambda: replace(clause, verb=rng.choice(verbs)))
    if subject.det in ("every", "some", "no"):
        others = [d for d in ("every", "some", "no") if d != subject.det]
        found += [lambda: replace(clause, subject=replace(subject, det=rng.choice(others)))] * 4
    else:
        found += [lambda: replace(clause, negated=not clause.negated)] * 4
    return found


def generalised(rng: Random, clause: Clause) -> Clause:
    """Move the subject or object of the clause one or more steps up the taxonomy, where it can
    be."""
    side = rng.choice(["subject", "subject", "object"])
    thing = getattr(clause, side)
    if not isinstance(thing, Thing) or thing.det == "name" or thing.concept in lex.MASS:
        return clause
    up = [kind for kind in lex.ancestors(thing.concept)[1:] if kind not in lex.MASS]
    fitting = [kind for kind in up if all(a in lex.adjectives_for(kind) for a in thing.adjectives)]
    return (
        replace(clause, **{side: replace(thing, concept=rng.choice(fitting))})
        if fitting
        else clause
    )


def pair(rng: Random, label: str, dets: list[str] = ANY) -> tuple[Clause, Clause]:
    """Draw a premise and a hypothesis with this relation.

    So that a hypothesis alone says little, premises are denied such that hypotheses are denied
    evenly, and general nouns are as usual where nothing follows as where something does.
    """
    while True:
        premise = statement(rng, dets)
        if premise.subject.det in ("name", "the"):
            premise.negated = rng.random() < (0.55 if label == CONTRADICTION else 0.4)
        hypothesis = premise
        if label != ENTAILMENT and rng.random() < 0.4:
            hypothesis = generalised(rng, hypothesis)
        for _ in range(rng.choice([1, 1, 1, 2, 2])):
            hypothesis = rng.choice(edits(rng, hypothesis))()
        if relation(premise, hypothesis) == label:
            return premise, hypothesis


def speak(rng: Random, clause: Clause, synonyms: float = 0.2) -> str:
    speaker = Speaker(rng, synonyms=synonyms)
    quantified = clause.subject.det in ("every", "some", "no")
    passive = (
        speaker.can_passive(clause)
        and not quantified
        and not clause.negated
        and rng.random() < 0.25
    )
    return to_text(
        speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.4 and not quantified)
    )


def inference(rng: Random, label: str) -> tuple[str, str]:
    """Draw a premise and a hypothesis of MNLI."""
    while True:
        premise, hypothesis = pair(rng, label)
        texts = speak(rng, premise), speak(rng, hypothesis)
        if premise != hypothesis or (texts[0] != texts[1] and rng.random() < 0.3):
            return texts


def recognition(rng: Random, label: str) -> tuple[str, str]:
    """Draw a text and a hypothesis of RTE: two or three sentences, of which one decides about the
    hypothesis."""
    from demo_world.documents import Discourse

    wanted = ENTAILMENT if label == ENTAILMENT else rng.choice([NEUTRAL, NEUTRAL, CONTRADICTION])
    premise, hypothesis = pair(rng, wanted, DEFINITE)
    while premise == hypothesis:
        premise, hypothesis = pair(rng, wanted, DEFINITE)
    if wanted == NEUTRAL and rng.random() < 0.8:
        # What follows from another premise, which few pairs teach to tell, and which is no oddity
        # by itself.
        _, other = pair(rng, ENTAILMENT, DEFINITE)
        hypothesis = other if relation(premise, other) in (NEUTRAL, None) else hypothesis
    sampler, discourse = Sampler(rng), Discourse(rng)
    others = []
    for _ in range(rng.choice([1, 2])):
        follow = (
            premise.subject
            if rng.random() < 0.5 and lex.is_a(premise.subject.concept, "person")
            else None
        )
        verb = rng.choice(
            [v for v in lex.FRAMES[rng.choice("it")] if v not in (premise.verb, hypothesis.verb)]
        )
        if follow is not None and "person" not in lex.VERB[verb].subjects:
            follow = None
        clause = sampler.clause(verb, depth=0, subject=follow, tense="past", frequency=None)
        others.append(discourse.tell(clause) if follow is None else speak(rng, clause))
    place = rng.randrange(len(others) + 1)
    sentences = [*others[:place], speak(rng, premise), *others[place:]]
    return " ".join(sentences), speak(rng, hypothesis)
