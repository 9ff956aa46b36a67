"""Encyclopaedia entries about people, cities, companies and kinds of animal: sentences, and what
can be asked about them."""

import re
from dataclasses import dataclass
from random import Random

from demo_world import lexicon as lex
from demo_world.meaning import Sampler, Thing


@dataclass
class Fact:
    """A question that sentence number `sentence` answers; the answer begins at character `start`
    of that sentence."""

    sentence: int
    question: str
    answer: str
    start: int
    kind: str  # kind of answer: person, city, year, ...


@dataclass
class Entry:
    title: str
    sentences: list[str]
    facts: list[Fact]
    unanswerable: list[str]


PERSON = [
    (
        "{name} was a {nation} {job} who was born in {city} in {year}.",
        [
            ("Where was {name} born?", "city"),
            ("When was {name} born?", "year"),
            ("What was {name}?", "job"),
        ],
    ),
    (
        "{name}, a {job} from {city}, was born on {day} {month} {year}.",
        [
            ("Which city did {name} come from?", "city"),
            ("In which month was {name} born?", "month"),
            ("What was {name}?", "job"),
        ],
    ),
    (
        "{He} studied {topic} at {university} and graduated in {year2}.",
        [
            ("What did {name} study?", "topic"),
            ("Where did {name} study?", "university"),
            ("When did {name} graduate?", "year2"),
        ],
    ),
    (
        "In {year3}, {he} moved to {city2} with {his} {relative} {friend}.",
        [
            ("When did {name} move to {city2}?", "year3"),
            ("Where did {name} move in {year3}?", "city2"),
            ("Who moved to {city2} with {name}?", "friend"),
        ],
    ),
    (
        "{He} worked as a {job2} for {company} before {he} became famous.",
        [("Which company did {name} work for?", "company"), ("What did {name} work as?", "job2")],
    ),
    (
        "{His} best known work, a {work} about {topic2}, was finished in {year4}.",
        [
            ("When was the best known work of {name} finished?", "year4"),
            ("What was the {work} by {name} about?", "topic2"),
        ],
    ),
    (
        "The {work2} by {name} was praised by {friend2}, who owned a {building} in {city2}.",
        [
            ("Who praised the {work2} by {name}?", "friend2"),
            ("What did {friend2} own in {city2}?", "building"),
        ],
    ),
    (
        "{He} died in {city3} in {year5}.",
        [("Where did {name} die?", "city3"), ("When did {name} die?", "year5")],
    ),
]
CITY = [
    (
        "{name} is a city in {country} on the river {river}.",
        [("Which country is {name} in?", "country"), ("Which river is {name} on?", "river")],
    ),
    (
        "{name} is an old {nation} city which lies on the {river}.",
        [("Which river does {name} lie on?", "river")],
    ),
    (
        "It was founded in {year} by {founder}.",
        [("When was {name} founded?", "year"), ("Who founded {name}?", "founder")],
    ),
    (
        "The city is known for its {building}, which was built in {year2}.",
        [
            ("What is {name} known for?", "building"),
            ("When was the {building} of {name} built?", "year2"),
        ],
    ),
    (
        "A {disaster} destroyed the {building2} in {year3}, and {friend} paid for a new one.",
        [
            ("What destroyed the {building2} of {name}?", "disaster"),
            ("Who paid for a new {building2} in {name}?", "friend"),
            ("When was the {building2} of {name} destroyed?", "year3"),
        ],
    ),
    (
        "Every year in {month}, a {gathering} takes place in the {place}.",
        [
            ("When does the {gathering} of {name} take place?", "month"),
            ("Where does the {gathering} of {name} take place?", "place"),
        ],
    ),
    (
        "The largest company in the city is {company}, which was started by {friend2}.",
        [
            ("What is the largest company in {name}?", "company"),
            ("Who started {company}?", "friend2"),
        ],
    ),
    (
        "Most visitors come to see the {animal} that live near the {place2}.",
        [
            ("What do most visitors to {name} come to see?", "animal"),
            ("Where do the {animal} live in {name}?", "place2"),
        ],
    ),
]
COMPANY = [
    (
        "{name} is a {nation} company that was founded in {year} by {founder}.",
        [("When was {name} founded?", "year"), ("Who founded {name}?", "founder")],
    ),
    ("{name} is a large {nation} company in {city}.", [("Where is {name}?", "city")]),
    (
        "It makes {product} and sells them in {country}.",
        [("What does {name} make?", "product"), ("Where does {name} sell {product}?", "country")],
    ),
    (
        "In {year2}, the company bought a {building} in {city2}.",
        [
            ("What did {name} buy in {year2}?", "building"),
            ("Where did {name} buy a {building}?", "city2"),
            ("When did {name} buy a {building}?", "year2"),
        ],
    ),
    (
        "It is led by {friend}, who was a {job} before.",
        [("Who leads {name}?", "friend"), ("What was {friend} before leading {name}?", "job")],
    ),
    (
        "After a {disaster} in {month} {year3}, {number} hundred workers were dismissed.",
        [
            ("When did {name} dismiss its workers?", "year3"),
            ("How many hundred workers did {name} dismiss?", "number"),
        ],
    ),
]
KIND = [
    (
        "The {name} is a {kind} that lives near the {place}.",
        [("Where does the {name} live?", "place"), ("What is the {name}?", "kind")],
    ),
    ("{A_name} is a {kind} and eats mostly {food}.", [("What does the {name} eat?", "food")]),
    ("It is usually {colour} and very {trait}.", [("What colour is the {name}?", "colour")]),
    (
        "In {country}, people keep {plural} because they are {trait2}.",
        [
            ("Where do people keep {plural}?", "country"),
            ("Why do people keep {plural}?", "trait2"),
        ],
    ),
    (
        "The first {name} was brought to {city} in {year} by {friend}.",
        [
            ("Who brought the first {name} to {city}?", "friend"),
            ("When was the first {name} brought to {city}?", "year"),
            ("Where was the first {name} brought in {year}?", "city"),
        ],
    ),
    (
        "Its main enemy is the {enemy}, which chases it in {month}.",
        [
            ("What is the main enemy of the {name}?", "enemy"),
            ("When is the {name} chased by the {enemy}?", "month"),
        ],
    ),
]


def fill(template: str, values: dict) -> tuple[str, dict[str, int]]:
    """Fill the template; return the text and where each slot's value begins, where a slot occurs
    first."""
    text, position = "", 0
    starts: dict[str, int] = {}
    for slot in re.finditer(r"\{(\w+)\}", template):
        text += template[position : slot.start()]
        value = str(values[slot[1]])
        if text.endswith((" a ", "A ")) and lex.article(value) == "an":
            text = text[:-1] + "n "
        starts.setdefault(slot[1], len(text))
        text += value
        position = slot.end()
    return text + template[position:], starts


TEMPLATES = {"person": PERSON, "city": CITY, "company": COMPANY, "kind": KIND}


def entry(rng: Random) -> Entry:
    """Generate an entry of three to five sentences: the first introduces, the others come in their
    usual order."""
    sampler = Sampler(rng)
    subject = rng.choice(["person", "person", "city", "company", "kind"])
    founder = sampler.person(1.0)
    city = rng.choice(lex.CITIES)
    values = draw_values(sampler, founder)
    if subject == "person":
        friend_names = lex.MALE_NAMES if values["relative"] in lex.MALE else lex.FEMALE_NAMES
        values["friend"] = f"{rng.choice(friend_names)} {rng.choice(lex.SURNAMES)}"
    other_cities = [name for name in lex.CITIES if name != city]
    values["city"] = city
    values["city2"], values["city3"] = rng.sample(other_cities, 2)
    values |= subject_values(rng, subject, founder, city)
    return compose(values, TEMPLATES[subject], rng)


def draw_values(sampler: Sampler, founder: Thing) -> dict:
    """Draw a value for every slot that does not depend on the subject of the entry."""
    rng = sampler.rng
    he = "he" if founder.gender == "m" else "she"
    his = "his" if founder.gender == "m" else "her"
    country = rng.choice(list(lex.COUNTRIES))
    born = rng.randrange(1750, 1950)
    values = {
        "nation": lex.COUNTRIES[country],
        "country": country,
        "year": born,
        "year2": born + rng.randrange(20, 26),
        "year3": born + rng.randrange(27, 35),
        "year4": born + rng.randrange(36, 45),
        "year5": born + rng.randrange(50, 80),
        "day": rng.randrange(1, 29),
        "he": he,
        "He": he.capitalize(),
        "his": his,
        "His": his.capitalize(),
        "river": rng.choice(lex.RIVERS),
        "relative": rng.choice(["sister", "brother", "uncle", "aunt"]),
        "month": rng.choice(lex.MONTHS),
        "company": sampler.company().concept,
        "university": f"{rng.choice(lex.SURNAMES + lex.CITIES)} University",
        "gathering": rng.choice(["festival", "race", "concert", "game"]),
        "number": rng.choice(lex.NUMBERS),
        "colour": rng.choice(["white", "black", "red", "blue", "green"]),
        "trait": rng.choice(["fast", "slow", "strong", "small", "timid"]),
        "trait2": rng.choice(["friendly", "clever", "beautiful", "useful"]),
        "food": rng.choice(["apples", "carrots", "insects", "bananas", "onions"]),
        "enemy": rng.choice(["wolf", "fox", "bear", "owl", "eagle"]),
        "disaster": rng.choice(lex.leaves_of("disaster")[1:]),
        "animal": rng.choice(["owls", "horses", "eagles", "robins", "goats"]),
        "founder": founder.concept,
        "product": rng.choice(
            ["cars", "computers", "guitars", "shirts", "clocks", "cameras", "pianos"]
        ),
        "job": sampler.noun(["expert", "artist"]),
        "job2": sampler.noun(["worker", "expert"]),
        "topic": rng.choice(concepts_below("topic")),
        "topic2": rng.choice(concepts_below("topic")),
    }
    # These two draws have no use but keep the random numbers that follow.
    rng.choice(lex.leaves_of("book"))
    rng.choice(lex.leaves_of("song"))
    values["building"] = rng.choice(concepts_below("building"))
    values["building2"] = rng.choice(concepts_below("building"))
    values["work"] = rng.choice(["novel", "book", "poem"])
    values["work2"] = rng.choice(["song", "play", "report"])
    places = [place for place in lex.leaves_of("place") if place != "station"]
    values["place"], values["place2"] = rng.sample(places[1:], 2)
    values["friend"] = sampler.person(1.0).concept
    values["friend2"] = sampler.person(1.0).concept
    return values


def concepts_below(kind: str) -> list[str]:
    return [concept for concept in lex.leaves_of(kind) if concept != kind]


def subject_values(rng: Random, subject: str, founder: Thing, city: str) -> dict:
    """Return the subject's name, and facts about it that are the same in every entry."""
    if subject == "person":
        return {"name": founder.concept, "nation": lex.COUNTRIES[lex.COUNTRY_OF[city]]}
    if subject == "city":
        country = lex.COUNTRY_OF[city]
        return {
            "name": city,
            "country": country,
            "nation": lex.COUNTRIES[country],
            "river": lex.RIVER_OF[city],
            "year": lex.FOUNDED[city],
        }
    if subject == "company":
        return {"name": f"{rng.choice(lex.SURNAMES + lex.CITIES)} {rng.choice(lex.FIRMS)}"}
    animal = rng.choice([noun for noun in lex.PARENT if is_kind_of_animal(noun)])
    return {
        "name": animal,
        "kind": lex.PARENT[animal],
        "plural": lex.plural(animal),
        "A_name": f"{lex.article(animal)} {animal}".capitalize(),
    }


def is_kind_of_animal(noun: str) -> bool:
    return lex.is_a(noun, "animal") and lex.PARENT[noun] != "insect" and noun not in lex.BROAD


def compose(values: dict, templates: list, rng: Random) -> Entry:
    """Fill one of the first two templates and a sample of the rest; questions about a template
    that is left out cannot be answered."""
    result = Entry(str(values["name"]), [], [], [])
    later = range(2, len(templates))
    used = sorted(rng.sample(later, min(len(later), rng.randrange(2, 5))))
    for index in later:
        if index not in used:
            _, questions = templates[index]
            result.unanswerable += [fill(question, values)[0] for question, _ in questions]
    for number, index in enumerate([rng.randrange(2), *used]):
        template, questions = templates[index]
        text, starts = fill(template, values)
        result.sentences.append(text[0].upper() + text[1:])
        for question, slot in questions:
            wording, _ = fill(question, values)
            kind = slot.rstrip("0123456789")
            result.facts.append(Fact(number, wording, str(values[slot]), starts[slot], kind))
    return result
