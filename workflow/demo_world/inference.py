"""Entailment between quantified sentences, decided from meaning by monotonicity (MNLI, RTE).

A statement has the form Q A B: quantifier, restriction (a kind with properties), predicate. "some"
is upward monotone in A and B, "every" downward in A and upward in B, "no" downward in both; kinds
are never empty.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

from demo_world import lexicon as lex
from demo_world.documents import Discourse
from demo_world.grammar import Speaker, to_text
from demo_world.meaning import Clause, Sampler, Thing
from demo_world.paraphrases import another, different, related_verbs

ENTAILMENT, CONTRADICTION, NEUTRAL = "entailment", "contradiction", "neutral"


def below(a: str, b: str) -> bool:
    """Test whether concept a is b or a kind of b."""
    return b in lex.ancestors(a)


def adjective_below(a: str, b: str) -> bool:
    return a == b or lex.ADJECTIVE_PARENT.get(a) == b


def adjectives_below(a: Thing, b: Thing) -> bool:
    """Test whether a has every property of b."""
    return all(any(adjective_below(x, y) for x in a.adjectives) for y in b.adjectives)


def thing_below(a: Thing, b: Thing) -> bool:
    """Test whether what is an a (with its modifiers) is always a b (with its modifiers)."""
    if a.det == "name" or b.det == "name":
        return a.det == b.det and a.concept == b.concept
    if a.plural != b.plural or (a.plural and a.det != b.det):
        return False
    return restriction_below(a, b)


def restriction_below(a: Thing, b: Thing) -> bool:
    """Test whether every a is a b, for subjects of quantifiers: only kind and properties count."""
    return below(a.concept, b.concept) and adjectives_below(a, b)


def predicate_below(a: Clause, b: Clause) -> bool:
    """Test whether who does a (negation aside) always does b."""
    if a.verb == "be" or b.verb == "be":
        return (
            a.verb == b.verb
            and adjective_below(a.object, b.object)
            and b.intensity in (None, a.intensity)
        )
    return (
        b.verb in (a.verb, lex.VERB_PARENT.get(a.verb))
        and object_below(a.object, b.object)
        and place_below(a.place, b.place)
        and b.time in (None, a.time)
        and b.manner in (None, a.manner)
    )


def object_below(a: Thing | None, b: Thing | None) -> bool:
    if not isinstance(b, Thing):
        return True
    return isinstance(a, Thing) and thing_below(a, b)


def place_below(a: tuple[str, Thing] | None, b: tuple[str, Thing] | None) -> bool:
    if b is None:
        return True
    return a is not None and a[0] == b[0] and thing_below(a[1], b[1])


def predicate_excludes(a: Clause, b: Clause) -> bool:
    """Test whether nobody does both a and b, negation aside."""
    return a.verb == b.verb == "be" and b.object in lex.opposites(a.object)


def relation(p: Clause, h: Clause) -> str | None:
    """Decide the relation of premise p to hypothesis h; None where English speakers would argue
    (another definite subject)."""
    if p.subject.det in DEFINITE:
        return definite_relation(p, h) if h.subject.det == p.subject.det else None
    if h.subject.det in DEFINITE:
        return None
    return quantified_relation(p, h)


def definite_relation(p: Clause, h: Clause) -> str | None:
    if not thing_below(p.subject, h.subject):
        arguable = thing_below(h.subject, p.subject) and p.negated != h.negated
        return None if arguable else NEUTRAL
    up, down = predicate_below(p, h), predicate_below(h, p)
    if p.negated and h.negated:
        return ENTAILMENT if down else NEUTRAL
    if p.negated:
        return CONTRADICTION if down else NEUTRAL
    if up:
        return CONTRADICTION if h.negated else ENTAILMENT
    if predicate_excludes(p, h):
        return ENTAILMENT if h.negated else CONTRADICTION
    return NEUTRAL


def quantified_relation(p: Clause, h: Clause) -> str | None:
    """Decide the relation of "Q A B" to "Q' A' B'"."""
    up, down = predicate_below(p, h), predicate_below(h, p)
    excludes = predicate_excludes(p, h)
    wider = restriction_below(p.subject, h.subject)  # A is below A'
    narrower = restriction_below(h.subject, p.subject)
    some_common = wider or narrower
    match p.subject.det, h.subject.det:
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
QUANTIFIERS = ["every", "some", "no"]
ANY = ["name", "name", "the", "the", "every", "some", "no"]


def statement(rng: Random, dets: list[str]) -> Clause:
    """Draw a premise in the past, whose subject has one of these determiners (or a name)."""
    sampler = Sampler(rng)
    det = rng.choice(dets)
    clause = draw_state(sampler) if rng.random() < 0.2 else draw_action(sampler)
    subject = clause.subject
    subject.others, subject.plural = (), False
    if det == "name" and lex.is_a(subject.concept, "person"):
        clause.subject = sampler.person()
    elif subject.concept in lex.MASS or det == "name":
        subject.det = "the"
    else:
        subject.det = det
    return clause


def draw_state(sampler: Sampler) -> Clause:
    """Draw a property of a thing that neither has it by name nor has an opposite one."""
    kinds = ["person", "animal", "vehicle", "building", "garment"]
    subject = sampler.common(kinds, "the", modified=0.3)
    intensity = sampler.rng.choice([None, None, "very"])
    clause = sampler.state(subject, tense="past", negated=False, intensity=intensity)
    if clause.object in lex.ADJECTIVE_PARENT:
        clause.intensity = None
    redundant = lex.opposites(clause.object) | {clause.object}
    if redundant.intersection(subject.adjectives):
        subject.adjectives = ()
    return clause


def draw_action(sampler: Sampler) -> Clause:
    rng = sampler.rng
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
    return clause


Edit = Callable[[], Clause]


def edits(rng: Random, clause: Clause) -> list[Edit]:
    """List ways to make another statement from this one; frequent ones occur several times."""
    sampler = Sampler(rng)
    subject = clause.subject
    options = edit_thing(sampler, clause, "subject")
    if isinstance(clause.object, Thing):
        options += edit_thing(sampler, clause, "object")
    if isinstance(clause.object, str):
        options += edit_property(sampler, clause)
    else:
        options += edit_circumstance(clause, "place", sampler.where)
        options += edit_circumstance(clause, "time", sampler.when)
        options += edit_verb(rng, clause)
    if subject.det in QUANTIFIERS:
        dets = [det for det in QUANTIFIERS if det != subject.det]
        options += [lambda: replace(clause, subject=replace(subject, det=rng.choice(dets)))] * 4
    else:
        options += [lambda: replace(clause, negated=not clause.negated)] * 4
    return options


def edit_thing(sampler: Sampler, clause: Clause, side: str) -> list[Edit]:
    """List ways to replace the subject or the object."""
    rng, thing = sampler.rng, getattr(clause, side)
    things: list[Thing] = []
    if thing.det == "name":
        if side == "object" or rng.random() < 0.4:
            things.append(another(sampler, thing))
    else:
        hypernyms = hypernyms_with_plural(thing)
        if hypernyms and thing.concept not in lex.MASS:
            concept = rng.choice(fitting_kinds(hypernyms, thing) or hypernyms[:1])
            things += [replace(thing, concept=concept)] * 3
        hyponyms = lex.TAXONOMY.get(thing.concept)
        if hyponyms:
            things += [replace(thing, concept=rng.choice(hyponyms))] * 3
        sister = another(sampler, thing) if side == "object" else None
        if sister:
            things.append(sister)
        adjectives = lex.adjectives_for(thing.concept)
        if thing.adjectives:
            things += [replace(thing, adjectives=())] * 2
        elif adjectives:
            things += [replace(thing, adjectives=(rng.choice(adjectives),))] * 2
    return [partial(replace, clause, **{side: new}) for new in things]


def hypernyms_with_plural(thing: Thing) -> list[str]:
    return [kind for kind in lex.ancestors(thing.concept)[1:] if kind not in lex.MASS]


def fitting_kinds(kinds: list[str], thing: Thing) -> list[str]:
    """List the kinds that can have all properties of the thing."""
    return [kind for kind in kinds if set(thing.adjectives) <= set(lex.adjectives_for(kind))]


def edit_property(sampler: Sampler, clause: Clause) -> list[Edit]:
    """List ways to say another property of the subject."""
    rng, options = sampler.rng, []
    opposites = sorted(lex.opposites(clause.object))
    if opposites:
        options += [lambda: replace(clause, object=rng.choice(opposites), intensity=None)] * 6
    options.append(
        lambda: sampler.state(clause.subject, tense="past", negated=clause.negated, intensity=None)
    )
    if clause.intensity:
        options += [lambda: replace(clause, intensity=None)] * 2
    elif clause.object not in lex.ADJECTIVE_PARENT:
        options += [lambda: replace(clause, intensity="very")] * 2
    return options


def edit_circumstance(clause: Clause, name: str, draw: Callable) -> list[Edit]:
    """List ways to drop, replace or add the place or the time."""
    old = getattr(clause, name)
    if not old:
        return [lambda: replace(clause, **{name: draw()})]
    drop: Edit = lambda: replace(clause, **{name: None})
    return [drop, drop, lambda: replace(clause, **{name: different(draw, old)})]


def edit_verb(rng: Random, clause: Clause) -> list[Edit]:
    """List ways to replace the verb by a wider, a narrower or a related one."""
    options: list[Edit] = []
    if clause.verb in lex.VERB_PARENT:
        options += [lambda: replace(clause, verb=lex.VERB_PARENT[clause.verb])] * 3
    narrower = [verb for verb, wide in lex.VERB_PARENT.items() if wide == clause.verb]
    for verbs in (narrower, related_verbs(clause)):
        if verbs:
            options.append(lambda verbs=verbs: replace(clause, verb=rng.choice(verbs)))
    return options


def generalised(rng: Random, clause: Clause) -> Clause:
    """Move the subject or object of the clause one or more steps up the taxonomy, where it can
    be."""
    side = rng.choice(["subject", "subject", "object"])
    thing = getattr(clause, side)
    if not isinstance(thing, Thing) or thing.det == "name" or thing.concept in lex.MASS:
        return clause
    kinds = fitting_kinds(hypernyms_with_plural(thing), thing)
    if not kinds:
        return clause
    return replace(clause, **{side: replace(thing, concept=rng.choice(kinds))})


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


def speak(rng: Random, clause: Clause) -> str:
    speaker = Speaker(rng, synonyms=0.2)
    quantified = clause.subject.det in QUANTIFIERS
    can_passive = speaker.can_passive(clause) and not quantified and not clause.negated
    passive = can_passive and rng.random() < 0.25
    time_first = rng.random() < 0.4 and not quantified
    return to_text(speaker.sentence(clause, passive=passive, time_first=time_first))


def inference(rng: Random, label: str) -> tuple[str, str]:
    """Draw a premise and a hypothesis of MNLI."""
    while True:
        premise, hypothesis = pair(rng, label)
        first, second = speak(rng, premise), speak(rng, hypothesis)
        if premise != hypothesis or (first != second and rng.random() < 0.3):
            return first, second


def recognition(rng: Random, label: str) -> tuple[str, str]:
    """Draw a text and a hypothesis of RTE: two or three sentences, of which one decides about the
    hypothesis."""
    wanted = ENTAILMENT if label == ENTAILMENT else rng.choice([NEUTRAL, NEUTRAL, CONTRADICTION])
    premise, hypothesis = pair(rng, wanted, DEFINITE)
    while premise == hypothesis:
        premise, hypothesis = pair(rng, wanted, DEFINITE)
    if wanted == NEUTRAL and rng.random() < 0.8:
        # Most neutral hypotheses follow from another premise, so that a hypothesis alone does not
        # look odd.
        _, unrelated = pair(rng, ENTAILMENT, DEFINITE)
        if relation(premise, unrelated) in (NEUTRAL, None):
            hypothesis = unrelated
    sentences = tell_context(rng, premise, hypothesis)
    position = rng.randrange(len(sentences) + 1)
    sentences.insert(position, speak(rng, premise))
    return " ".join(sentences), speak(rng, hypothesis)


def tell_context(rng: Random, premise: Clause, hypothesis: Clause) -> list[str]:
    """Generate one or two sentences with other verbs, some about the premise's subject."""
    sampler, discourse = Sampler(rng), Discourse(rng)
    sentences = []
    for _ in range(rng.choice([1, 2])):
        is_person = lex.is_a(premise.subject.concept, "person")
        subject = premise.subject if rng.random() < 0.5 and is_person else None
        verbs = lex.FRAMES[rng.choice("it")]
        verb = rng.choice([v for v in verbs if v not in (premise.verb, hypothesis.verb)])
        if "person" not in lex.VERB[verb].subjects:
            subject = None
        clause = sampler.clause(verb, depth=0, subject=subject, tense="past", frequency=None)
        sentences.append(discourse.tell(clause) if subject is None else speak(rng, clause))
    return sentences
