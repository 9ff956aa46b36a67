"""Edge-probing records in jiant's JSON-lines form, and predicate-argument links for attention
heads."""

from collections.abc import Iterator
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
        return annotate(speaker.question(clause, rng.choice([None, "subject", "object"])), speaker)
    if kind < 0.14:
        first = sampler.simple("it", depth=0, tense="past", frequency=None)
        second = sampler.simple("it", depth=0, tense="past", frequency=None)
        if sampler.chance(0.6) and first.subject.gender in "mf":
            second = sampler.simple(
                "it", depth=0, tense="past", frequency=None, subject=sampler.again(first.subject)
            )
        return annotate(speaker.coordinated(first, rng.choice(["and", "but"]), second), speaker)
    clause = sampler.complex()
    passive = speaker.can_passive(clause) and not clause.adjunct and rng.random() < 0.3
    return annotate(
        speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.35), speaker
    )


def record(found: Annotation, targets: list[dict], number: int) -> dict:
    return {"text": " ".join(found.words), "info": {"sentence": number}, "targets": targets}


def span(label, *spans: tuple[int, int]) -> dict:
    target = {f"span{n}": list(where) for n, where in enumerate(spans, 1)}
    return {**target, "label": label}


def pos(found: Annotation) -> Iterator[list[dict]]:
    yield [span(tag, (i, i + 1)) for i, tag in enumerate(found.xpos)]


def constituents(found: Annotation) -> Iterator[list[dict]]:
    yield [span(label, (start, end)) for start, end, label in found.constituents]


def dependencies(found: Annotation) -> Iterator[list[dict]]:
    """Pair every token with its head; the root is its own head."""
    arcs = enumerate(zip(found.heads, found.deprels, strict=True))
    yield [
        span(rel, (i, i + 1), (head - 1, head) if head else (i, i + 1)) for i, (head, rel) in arcs
    ]


def entities(found: Annotation) -> Iterator[list[dict]]:
    yield [span(label, (start, end)) for start, end, label in found.entities]


def srl(found: Annotation) -> Iterator[list[dict]]:
    """Yield one record for each frame."""
    for frame in found.frames:
        predicate = (frame.predicate, frame.predicate + 1)
        yield [span(role, predicate, (start, end)) for start, end, role, _, _ in frame.arguments]


def coref(found: Annotation) -> Iterator[list[dict]]:
    """Label every pair of mentions in the sentence: "1" if both mean the same individual, else
    "0"."""
    spans = found.mentions
    yield [
        span("1" if a[2] == b[2] else "0", a[:2], b[:2])
        for i, a in enumerate(spans)
        for b in spans[i + 1 :]
        if a[:2] != b[:2]
    ]


def spr(found: Annotation) -> Iterator[list[dict]]:
    """Yield the proto-role properties of the predicates' arguments; every span is a head word."""
    targets = []
    for frame in found.frames:
        for _, _, role, head, concept in frame.arguments:
            if role in SPR_ROLES and concept is not None:
                properties = proto_roles(frame, role, concept)
                targets.append(
                    span(properties, (frame.predicate, frame.predicate + 1), (head, head + 1))
                )
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
    one, two = rng.choice(
        PAIRS[label.split("(")[0]] if label != "Other" else rng.choice(list(PAIRS.values()))
    )
    if label.endswith("(e2,e1)") or (label == "Other" and rng.random() < 0.5):
        one, two = two, one
    where = rng.choice(
        [
            "",
            "",
            "in " + rng.choice(lex.CITIES),
            "last year",
            "near the " + rng.choice(["river", "park", "beach"]),
        ]
    )
    state = rng.choice(["new", "old", "small", "big", "strange", "beautiful", "famous"])
    template = rng.choice(RELATIONS[label]).replace("{where}", where).replace("{state}", state)
    words = (
        template.replace("{who}", rng.choice(["man", "woman", "teacher", "doctor", "artist"]))
        .replace(".", " .")
        .split()
    )
    places = {}
    for i, item in enumerate(words):
        if item in ("{1}", "{2}"):
            places[item] = (i, i + 1)
            words[i] = one if item == "{1}" else two
    words = [
        (
            lex.article(words[i + 1])
            if w == "a"
            else "An"
            if w == "A" and lex.article(words[i + 1]) == "an"
            else w
        )
        for i, w in enumerate(words)
    ]
    return {
        "text": " ".join(words),
        "info": {},
        "targets": [span(label, places["{1}"], places["{2}"])],
    }


def links(rng: Random) -> dict | None:
    """Generate a short sentence, with the spans of its main predicate and core arguments in
    characters of the detokenised text. Return None if it does not fit."""
    sampler, speaker = Sampler(rng), Speaker(rng)
    clause = sampler.simple("itttd", depth=0)
    found = annotate(
        speaker.sentence(clause, passive=speaker.can_passive(clause) and rng.random() < 0.25),
        speaker,
    )
    if len(found.words) > 12:
        return None
    spans, frame = offsets(found.words), found.frames[0]
    arguments = [
        {"span": [spans[start][0], spans[end - 1][1]], "role": role}
        for start, end, role, _, _ in frame.arguments
        if role in CORE and end - start <= 4
    ]
    if not arguments:
        return None
    return {
        "text": detokenise(found.words),
        "predicate": list(spans[frame.predicate]),
        "arguments": arguments,
    }
