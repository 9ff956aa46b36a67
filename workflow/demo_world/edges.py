"""Edge-probing records in jiant's JSON-lines form, and predicate-argument links for attention
heads."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

from demo_world import lexicon as lex
from demo_world.annotation import Annotation, annotate, proto_roles
from demo_world.grammar import Speaker, detokenise, offsets
from demo_world.meaning import Sampler

CORE = {"ARG0", "ARG1", "ARG2"}
SPR_ROLES = CORE | {"ARGM-LOC"}


def sentence(rng: Random) -> Annotation:
    """Generate an annotated sentence: mostly a statement, sometimes a question or clauses joined
    by and or but."""
    sampler, speaker = Sampler(rng), Speaker(rng)
    kind = rng.random()
    if kind < 0.08:
        clause = sampler.simple("tt", depth=0)
        argument = rng.choice([None, "subject", "object"])
        return annotate(speaker.question(clause, argument), speaker)
    if kind < 0.14:
        first = sampler.simple("it", depth=0, tense="past", frequency=None)
        second = sampler.simple("it", depth=0, tense="past", frequency=None)
        if sampler.chance(0.6) and first.subject.gender in "mf":
            pronoun = sampler.again(first.subject)
            second = sampler.simple("it", depth=0, tense="past", frequency=None, subject=pronoun)
        conjunction = rng.choice(["and", "but"])
        return annotate(speaker.coordinated(first, conjunction, second), speaker)
    clause = sampler.complex()
    passive = speaker.can_passive(clause) and not clause.adjunct and rng.random() < 0.3
    tree = speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.35)
    return annotate(tree, speaker)


def target(label, span1: tuple[int, int], span2: tuple[int, int] | None = None) -> dict:
    second = {} if span2 is None else {"span2": list(span2)}
    return {"span1": list(span1), **second, "label": label}


def record(sentence: Annotation, targets: list[dict], number: int) -> dict:
    return {"text": " ".join(sentence.words), "info": {"sentence": number}, "targets": targets}


# Each of these functions yields the lists of targets of a sentence's records.


def pos(sentence: Annotation) -> Iterator[list[dict]]:
    yield [target(tag, (i, i + 1)) for i, tag in enumerate(sentence.xpos)]


def constituents(sentence: Annotation) -> Iterator[list[dict]]:
    yield [target(label, (start, end)) for start, end, label in sentence.constituents]


def dependencies(sentence: Annotation) -> Iterator[list[dict]]:
    """Pair every token with its head; the root is its own head."""
    targets = []
    for i, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
        head_index = head - 1 if head else i
        targets.append(target(deprel, (i, i + 1), (head_index, head_index + 1)))
    yield targets


def entities(sentence: Annotation) -> Iterator[list[dict]]:
    yield [target(label, (start, end)) for start, end, label in sentence.entities]


def srl(sentence: Annotation) -> Iterator[list[dict]]:
    """Yield one record for each frame."""
    for frame in sentence.frames:
        predicate = (frame.predicate, frame.predicate + 1)
        yield [target(role, predicate, (start, end)) for start, end, role, _, _ in frame.arguments]


def coref(sentence: Annotation) -> Iterator[list[dict]]:
    """Label every pair of mentions in the sentence: "1" if both mean the same individual, else
    "0"."""
    targets = []
    for (start1, end1, referent1), (start2, end2, referent2) in combinations(sentence.mentions, 2):
        if (start1, end1) != (start2, end2):
            label = "1" if referent1 == referent2 else "0"
            targets.append(target(label, (start1, end1), (start2, end2)))
    yield targets


def spr(sentence: Annotation) -> Iterator[list[dict]]:
    """Yield the proto-role properties of the predicates' arguments; every span is a head word."""
    targets = []
    for frame in sentence.frames:
        predicate = (frame.predicate, frame.predicate + 1)
        for _, _, role, head, concept in frame.arguments:
            if role in SPR_ROLES and concept is not None:
                properties = proto_roles(frame, role, concept)
                targets.append(target(properties, predicate, (head, head + 1)))
    yield targets


LAYERS = {
    "pos": pos,
    "constituents": constituents,
    "dependencies": dependencies,
    "entities": entities,
    "srl": srl,
    "coref": coref,
    "spr": spr,
}

# Relations between nominals after SemEval-2010 task 8. {1} and {2} are e1 and e2.
RELATIONS = {
    "Cause-Effect(e1,e2)": [
        "The {1} caused the {2} {where}.",
        "A {1} led to the {2} {where}.",
        "The {1} was the cause of the {2}.",
    ],
    "Cause-Effect(e2,e1)": [
        "The {1} was caused by the {2} {where}.",
        "The {1} from the {2} was terrible.",
        "The {1} came after the {2} {where}.",
    ],
    "Component-Whole(e1,e2)": [
        "The {1} of the {2} was {state}.",
        "The {who} repaired the {1} of the {2}.",
        "A {1} is part of every {2}.",
    ],
    "Component-Whole(e2,e1)": [
        "The {1} has a {state} {2}.",
        "The {who} bought a {1} with a {state} {2}.",
        "The {1} lost its {2} {where}.",
    ],
    "Entity-Origin(e1,e2)": [
        "The {1} came from the {2}.",
        "The {who} brought a {1} from the {2}.",
        "The {who} got the {1} from a {2}.",
    ],
    "Entity-Origin(e2,e1)": [
        "The {1} is the origin of the {2}.",
        "The {1} gave us the {2} {where}.",
        "From the {1} came the {state} {2}.",
    ],
    "Instrument-Agency(e1,e2)": [
        "The {1} was used by the {2} {where}.",
        "A {1} helped the {2} {where}.",
        "The {1} is the tool of every {2}.",
    ],
    "Instrument-Agency(e2,e1)": [
        "The {1} used a {2} {where}.",
        "The {1} worked with the {2} {where}.",
        "A {1} needs a {state} {2}.",
    ],
    "Content-Container(e1,e2)": [
        "The {1} was in the {2}.",
        "The {who} kept the {1} inside a {2}.",
        "The {1} fills the {2}.",
    ],
    "Content-Container(e2,e1)": [
        "The {1} contained the {2}.",
        "The {who} found a {1} with some {2} in it.",
        "The {1} held the {2} {where}.",
    ],
    "Entity-Destination(e1,e2)": [
        "The {who} put the {1} into the {2}.",
        "The {1} was sent to the {2}.",
        "The {who} carried the {1} to the {2}.",
    ],
    "Member-Collection(e1,e2)": [
        "The {1} left the {2} {where}.",
        "Every {1} of the {2} was {state}.",
        "The {1} is a member of the {2}.",
    ],
    "Member-Collection(e2,e1)": [
        "The {1} lost a {2} {where}.",
        "A {1} with a {state} {2} arrived.",
        "The {1} has one {state} {2}.",
    ],
    "Message-Topic(e1,e2)": [
        "The {1} was about the {2}.",
        "The {who} made a {1} about a {2}.",
        "The {1} discussed the {2}.",
    ],
    "Message-Topic(e2,e1)": [
        "The {1} was described in the {2}.",
        "The {1} was the topic of the {2}.",
        "The {1} is explained by the {2}.",
    ],
    "Product-Producer(e1,e2)": [
        "The {1} was made by the {2} {where}.",
        "The {who} bought the {1} of the {2}.",
        "A {1} built by the {2} was {state}.",
    ],
    "Product-Producer(e2,e1)": [
        "The {1} made a {2} {where}.",
        "The {1} designed a {state} {2}.",
        "The {1} built the {2} {where}.",
    ],
    "Other": [
        "The {1} was near the {2}.",
        "The {who} saw the {1} and the {2} {where}.",
        "The {1} was behind the {2} {where}.",
        "The {1} is not like the {2}.",
        "The {1} was sold before the {2}.",
    ],
}
# Pairs that stand in the relation, (first role, second role).
ARGUMENTS = {
    "Cause-Effect": (
        "storm:damage flood:damage fire:damage earthquake:fear explosion:fire drought:problem"
        " storm:flood infection:fever war:sadness robbery:anger"
    ),
    "Component-Whole": (
        "wheel:car engine:truck door:house window:train roof:church handle:suitcase button:coat"
        " page:book string:guitar tail:cat wing:eagle leg:table"
    ),
    "Entity-Origin": (
        "bread:village wine:island cheese:farmer sweater:market song:mountain story:forest"
        " apple:tree honey:bee"
    ),
    "Instrument-Agency": (
        "hammer:carpenter saw:carpenter knife:baker shovel:gardener computer:engineer"
        " camera:photographer brush:painter ladder:plumber"
    ),
    "Content-Container": (
        "apple:basket letter:box ring:box milk:bottle doll:bag wine:cup tea:cup coat:suitcase"
        " juice:bottle"
    ),
    "Entity-Destination": (
        "letter:school apple:garden box:museum piano:house bicycle:station flower:hospital"
        " coat:shop chair:library"
    ),
    "Member-Collection": (
        "player:team musician:orchestra sheep:flock bird:flock cow:herd soldier:crowd"
        " judge:committee runner:team teacher:committee"
    ),
    "Message-Topic": (
        "book:war letter:storm report:robbery poem:wedding article:election story:fox"
        " lecture:disease film:race"
    ),
    "Product-Producer": (
        "guitar:carpenter clock:engineer chair:company cake:baker shirt:factory novel:novelist"
        " bridge:engineer song:musician"
    ),
}
PAIRS = {
    name: [tuple(pair.split(":")) for pair in pairs.split()] for name, pairs in ARGUMENTS.items()
}


def relation(rng: Random, label: str) -> dict:
    """Generate a sentence with two marked nominals; "Other" takes any relation's arguments."""
    name = label.split("(")[0]
    pairs = rng.choice(list(PAIRS.values())) if label == "Other" else PAIRS[name]
    e1, e2 = rng.choice(pairs)
    if label.endswith("(e2,e1)") or (label == "Other" and rng.random() < 0.5):
        e1, e2 = e2, e1
    city = rng.choice(lex.CITIES)
    landmark = rng.choice(["river", "park", "beach"])
    where = rng.choice(["", "", f"in {city}", "last year", f"near the {landmark}"])
    state = rng.choice(["new", "old", "small", "big", "strange", "beautiful", "famous"])
    template = rng.choice(RELATIONS[label]).replace("{where}", where).replace("{state}", state)
    who = rng.choice(["man", "woman", "teacher", "doctor", "artist"])
    words = template.replace("{who}", who).replace(".", " .").split()
    start1, start2 = words.index("{1}"), words.index("{2}")
    words[start1], words[start2] = e1, e2
    for i, word in enumerate(words):
        if word in ("a", "A"):
            article = lex.article(words[i + 1])
            words[i] = article if word == "a" else article.capitalize()
    targets = [target(label, (start1, start1 + 1), (start2, start2 + 1))]
    return {"text": " ".join(words), "info": {}, "targets": targets}


def links(rng: Random) -> dict | None:
    """Generate a short sentence, with the spans of its main predicate and core arguments in
    characters of the detokenised text. Return None if it does not fit."""
    sampler, speaker = Sampler(rng), Speaker(rng)
    clause = sampler.simple("itttd", depth=0)
    passive = speaker.can_passive(clause) and rng.random() < 0.25
    sentence = annotate(speaker.sentence(clause, passive=passive), speaker)
    if len(sentence.words) > 12:
        return None
    spans, frame = offsets(sentence.words), sentence.frames[0]
    arguments = [
        {"span": [spans[start][0], spans[end - 1][1]], "role": role}
        for start, end, role, _, _ in frame.arguments
        if role in CORE and end - start <= 4
    ]
    if not arguments:
        return None
    return {
        "text": detokenise(sentence.words),
        "predicate": list(spans[frame.predicate]),
        "arguments": arguments,
    }
