"""The demo world's words: a taxonomy of nouns, verbs with their frames, adjectives with opposites, names, morphology."""

from collections.abc import Sequence
from functools import cache
from random import Random


def words(text: str) -> list[str]:
    return text.split()


# hypernym -> hyponyms. A concept is known by its first (most frequent) word.
TAXONOMY = {
    "person": (
        "artist worker expert athlete child adult official relative student thief tourist soldier"
        " guard visitor neighbor customer prisoner king queen"
    ),
    "artist": "painter singer musician poet actor dancer sculptor novelist",
    "worker": "farmer baker carpenter plumber waiter gardener fisherman mechanic bookseller",
    "expert": (
        "doctor lawyer teacher engineer scientist dentist nurse veterinarian photographer"
        " journalist pharmacist"
    ),
    "athlete": "runner swimmer boxer cyclist goalkeeper wrestler",
    "child": "boy girl toddler teenager",
    "adult": "man woman",
    "official": "mayor minister judge governor ambassador",
    "relative": "sister brother cousin uncle aunt grandmother mother father",
    "animal": "dog cat bird fish horse insect wolf fox bear rabbit cow sheep goat pig",
    "dog": "spaniel poodle terrier",
    "cat": "kitten",
    "bird": "sparrow eagle robin owl",
    "fish": "salmon trout",
    "horse": "pony",
    "insect": "bee ant butterfly",
    "vehicle": "car truck bus train boat bicycle motorcycle",
    "car": "taxi limousine",
    "boat": "ferry canoe",
    "instrument": "guitar violin piano flute trumpet drum",
    "tool": "hammer saw knife shovel ladder screwdriver",
    "furniture": "chair table bed sofa desk wardrobe",
    "garment": "shirt coat hat dress scarf glove sweater",
    "food": "fruit vegetable bread cake soup cheese sandwich",
    "fruit": "apple banana pear orange cherry",
    "vegetable": "carrot onion potato tomato",
    "drink": "water milk juice wine coffee tea",
    "document": "book letter report newspaper poem article contract",
    "book": "novel dictionary",
    "container": "box basket bottle bag suitcase cup",
    "jewel": "ring necklace bracelet diamond",
    "toy": "doll ball kite puzzle",
    "machine": "computer phone camera clock radio refrigerator",
    "building": (
        "house school hospital church museum library hotel shop restaurant factory castle"
        " lighthouse"
    ),
    "place": (
        "park garden street village beach forest river lake mountain field market island bridge"
        " station"
    ),
    "plant": "tree flower",
    "tree": "oak pine",
    "flower": "rose tulip daisy",
    "gathering": "party wedding meeting concert game race festival celebration",
    "disaster": "storm flood fire earthquake explosion drought",
    "damage": "",
    "illness": "fever cough infection headache",
    "idea": "plan theory",
    "problem": "",
    "story": "",
    "song": "",
    "film": "comedy documentary",
    "part": "wheel engine door window roof wall handle wing tail leg button page string",
    "group": "team orchestra flock herd crowd committee",
    "emotion": "happiness sadness anger fear kindness cruelty",
    "topic": "history music science politics education",
}
TAXONOMY = {kind: words(below) for kind, below in TAXONOMY.items()}
PARENT = {word: kind for kind, words in TAXONOMY.items() for word in words}

SYNONYMS = dict(
    pair.split(":")
    for pair in words(
        "car:automobile child:kid doctor:physician lawyer:attorney journalist:reporter"
        " thief:robber tourist:traveller truck:lorry bicycle:bike sofa:couch coat:jacket"
        " phone:telephone shop:store street:road garden:yard forest:wood film:movie rabbit:bunny"
        " game:match problem:difficulty illness:disease chase:pursue buy:purchase cook:prepare"
        " build:construct destroy:demolish repair:fix find:discover hide:conceal close:shut"
        " help:assist hate:detest rescue:save hire:employ arrest:capture greet:welcome injure:hurt"
        " examine:inspect choose:select collect:gather own:possess leave:depart laugh:chuckle"
        " cry:weep disappear:vanish give:hand send:mail try:attempt begin:start love:cherish"
        " treat:cure big:large small:little fast:quick happy:glad sad:unhappy rich:wealthy"
        " clever:smart stupid:foolish nervous:anxious ill:sick noisy:loud cheap:inexpensive"
        " expensive:costly beautiful:lovely strange:odd quietly:silently quickly:rapidly"
    )
)
CANONICAL = {synonym: word for word, synonym in SYNONYMS.items()}

MASS = set(
    words(
        "bread soup cheese water milk juice wine coffee tea fruit furniture food damage anger fear"
    )
)
MASS |= set(words("happiness sadness kindness cruelty history music science politics education"))
MALE = set(words("boy man brother uncle father king fisherman waiter"))
FEMALE = set(words("girl woman sister aunt grandmother mother queen nurse"))
AT_PLACES = set(
    words(
        "school hospital church museum library hotel restaurant station market lake beach"
        " lighthouse river"
    )
)
IRREGULAR_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "fisherman": "fishermen",
    "wolf": "wolves",
    "thief": "thieves",
    "knife": "knives",
    "sheep": "sheep",
    "fish": "fish",
    "salmon": "salmon",
    "trout": "trout",
    "scarf": "scarves",
    "lorry": "lorries",
}

# word frame subjects objects tags. Frames: i(ntransitive) t(ransitive) d(itransitive) c(lause) x (open clause).
VERBS = """
sleep i person,animal - still
run i person,animal - volition,motion
walk i person,animal - volition,motion
sprint i person,athlete - volition,motion
stroll i person - volition,motion
laugh i person - volition
cry i person - aware
smile i person - volition
arrive i person - volition,motion
leave i person - volition,motion
fall i person,animal,toy - motion,change
swim i person,fish,dog - volition,motion
dance i person - volition,motion
sing i person,bird - volition
work i person - volition
wait i person - volition,still
travel i person - volition,motion
rest i person,animal - volition,still
speak i person - volition
whisper i person - volition
shout i person - volition
bark i dog - volition
disappear i person,animal,jewel - change
graduate i student,person - volition,change
see t person,animal person,animal,building,vehicle aware
chase t animal,person animal,person volition,motion
buy t person vehicle,instrument,tool,furniture,garment,food,toy,machine,jewel,flower volition,possession
eat t person,animal fruit,vegetable,bread,cake,soup,cheese,sandwich volition,destroy,contact
devour t person,animal fruit,vegetable,bread,cake,sandwich volition,destroy,contact
drink t person drink volition,destroy,contact
cook t person vegetable,soup,fish,potato volition,change,contact
build t person,worker building,boat,furniture,bridge volition,create
destroy t person,disaster building,bridge,vehicle,document volition,destroy
break t person furniture,machine,toy,window,bottle volition,change,contact
smash t person furniture,machine,toy,window,bottle volition,change,contact
repair t person,mechanic vehicle,machine,furniture,instrument,roof,clock volition,change,contact
clean t person furniture,building,vehicle,window,garment volition,change,contact
scrub t person furniture,window,wall,table volition,change,contact
paint t person,painter building,door,wall,furniture,boat volition,change,contact
write t person,novelist,journalist book,letter,report,poem,article,song volition,create
read t person book,letter,report,newspaper,poem,article aware
find t person jewel,animal,document,tool,toy,bag aware
lose t person jewel,document,garment,bag,phone possession
hide t person jewel,document,tool,toy,person volition,motion,contact
steal t thief,person jewel,vehicle,bag,machine,document volition,possession,motion,contact
carry t person container,animal,tool,furniture,instrument volition,motion,contact
push t person,animal vehicle,furniture,person,door volition,motion,contact
open t person door,window,box,letter,bottle,suitcase volition,change,contact
close t person door,window,box,book,suitcase,shop volition,change,contact
help t person person,animal volition
thank t person person volition
visit t person building,park,village,island,person volition,motion
meet t person person volition
love t person person,animal,music,song aware
hate t person person,animal,music,vegetable aware
admire t person person,building,book,film aware
attack t animal,person,soldier person,animal,castle volition,contact,change
rescue t person person,animal volition,motion,contact
follow t person,animal person,animal,vehicle volition,motion
hire t person worker,expert,artist volition
dismiss t person worker,expert,official volition
arrest t guard,soldier thief,person volition,contact,motion
praise t person person,book,film,idea volition
criticize t person person,book,film,idea volition
greet t person person volition
invite t person person volition
injure t person,animal person,animal volition,change,contact
examine t expert,person document,animal,machine,person volition,contact
choose t person garment,furniture,jewel,book,idea volition
play t person,musician instrument volition,contact
drive t person car,truck,bus,taxi volition,motion,contact
wear t person garment contact
kick t person,animal ball,door,box,person volition,contact,motion
throw t person ball,toy,box,bottle volition,contact,motion
catch t person,animal ball,thief,fish,insect volition,contact
watch t person film,game,race,bird,person aware,volition
design t engineer,artist,person machine,building,garment,bridge volition,create
collect t person document,jewel,toy,flower volition,possession,motion
burn t person,fire document,garment,building volition,destroy
plant t person,gardener tree,flower,vegetable volition,motion,contact
feed t person animal,child volition,contact
treat t doctor,nurse,veterinarian person,animal,illness volition,change
feel t person emotion aware
fear t person,animal animal,disaster,person aware
own t person building,vehicle,animal,shop aware,possession
teach t teacher,person student,child volition
give d person toy,jewel,book,food,garment,flower volition,possession,motion
send d person letter,report,document,flower,toy volition,possession,motion
show d person document,jewel,machine,toy,building volition
sell d person vehicle,furniture,building,animal,jewel volition,possession
lend d person tool,book,vehicle,instrument volition,possession
offer d person food,drink,document volition,possession
bring d person food,drink,document,tool volition,motion,contact
say c person - volition
think c person - aware
believe c person - aware
know c person - aware
claim c person - volition
announce c person - volition
report c journalist,person - volition
hope c person - aware
deny c person - volition
want x person - aware
try x person - volition
decide x person - volition
refuse x person - volition
promise x person - volition
plan x person - volition
begin x person - volition
"""
VERB_PARENT = {
    "devour": "eat",
    "sprint": "run",
    "stroll": "walk",
    "whisper": "speak",
    "shout": "speak",
    "smash": "break",
    "scrub": "clean",
}


class Verb:
    """A verb's frame, what its subject and object may be, and the semantic tags that proto-role properties follow from."""

    def __init__(self, line: str):
        self.lemma, self.frame, subjects, objects, tags = line.split()
        self.subjects, self.objects = (
            subjects.split(","),
            [] if objects == "-" else objects.split(","),
        )
        self.tags = frozenset(tags.split(","))


VERB = {verb.lemma: verb for verb in map(Verb, VERBS.strip().splitlines())}
FRAMES = {
    frame: [verb.lemma for verb in VERB.values() if verb.frame == frame] for frame in "itdcx"
}
# The most frequent first.
FREQUENT = {frame: Random(3).sample(verbs, len(verbs)) for frame, verbs in FRAMES.items()}

# lemma: past, participle (where not regular)
IRREGULAR_VERBS = """sleep slept slept,run ran run,leave left left,fall fell fallen,swim swam swum,sing sang sung,
speak spoke spoken,see saw seen,buy bought bought,eat ate eaten,drink drank drunk,build built built,break broke broken,
write wrote written,read read read,find found found,lose lost lost,hide hid hidden,steal stole stolen,shut shut shut,
meet met met,drive drove driven,wear wore worn,throw threw thrown,catch caught caught,feed fed fed,teach taught taught,
give gave given,send sent sent,show showed shown,sell sold sold,lend lent lent,bring brought brought,say said said,
think thought thought,know knew known,begin began begun,choose chose chosen,hurt hurt hurt,weep wept wept,
burn burned burned,have had had,become became become,feel felt felt,make made made,come came come,put put put,
lie lay lain,take took taken,go went gone,hold held held,win won won,tell told told,lead led led"""
IRREGULAR_VERBS = {
    entry.split()[0]: entry.split()[1:] for entry in IRREGULAR_VERBS.replace("\n", "").split(",")
}
DOUBLING = {"plan", "stop", "run", "swim", "begin", "shut", "put", "win", "scrub", "hug", "admit"}

# Opposites and what they may modify.
OPPOSITES = """
big small animal,vehicle,building,container,furniture,garment,toy,machine,instrument,plant,place
tall short person,building,tree
old young person,animal
old new vehicle,building,document,instrument,tool,garment,furniture,machine
fast slow vehicle,athlete,animal
happy sad person
rich poor person
strong weak person,animal
brave timid person,animal
clever stupid person,animal
kind cruel person
polite rude person
calm nervous person
healthy ill person,animal
lazy hardworking worker,expert,student
quiet noisy child,animal,street,machine,neighbor
honest dishonest official,worker,expert,thief
friendly unfriendly person,dog
clean dirty vehicle,building,garment,furniture,container
hot cold food,drink
heavy light container,tool,instrument,machine,furniture
cheap expensive vehicle,instrument,garment,furniture,machine,jewel,document
empty full container,building,vehicle
beautiful ugly building,garment,place,flower,jewel,vehicle
wet dry garment,animal,street
soft hard furniture,bread
dangerous safe animal,place,vehicle,tool,machine
comfortable uncomfortable furniture,garment,vehicle
"""
OPPOSITES = [
    (a, b, kinds.split(",")) for a, b, kinds in map(str.split, OPPOSITES.strip().splitlines())
]
PLAIN_ADJECTIVES = {
    "tired": ["person", "animal"],
    "hungry": ["person", "animal"],
    "famous": ["person"],
    "strange": ["person", "document"],
    "red": ["garment", "vehicle", "toy", "flower"],
    "blue": ["garment", "vehicle", "toy", "bird"],
    "green": ["garment", "vehicle", "container"],
    "white": ["animal", "garment", "building", "flower"],
    "black": ["animal", "garment", "vehicle"],
    "wooden": ["furniture", "toy", "container", "building"],
    "broken": ["machine", "toy", "furniture", "vehicle"],
    "secret": ["document", "idea"],
    "huge": ["animal", "building", "container"],
    "tiny": ["animal", "container", "toy"],
}
ADJECTIVE_PARENT = {"huge": "big", "tiny": "small"}
MATERIALS = {
    "leather": ["sofa", "bag", "coat", "glove"],
    "glass": ["bottle", "table", "door"],
    "stone": ["bridge", "house", "church", "wall"],
    "silver": ["ring", "cup", "bracelet"],
}
ADJECTIVES_OF: dict[str, list[str]] = {}
for _a, _b, _kinds in OPPOSITES:
    for _kind in _kinds:
        ADJECTIVES_OF.setdefault(_kind, []).extend([_a, _b])
for _a, _kinds in (PLAIN_ADJECTIVES | MATERIALS).items():
    for _kind in _kinds:
        ADJECTIVES_OF.setdefault(_kind, []).append(_a)

MANNER = {"quickly": "slowly", "quietly": "loudly", "carefully": "carelessly", "happily": "sadly"}
MANNER |= {b: a for a, b in MANNER.items()}
FREQUENCY = ["often", "rarely", "sometimes", "usually", "never"]

GOOD = words(
    "good great wonderful excellent brilliant charming delightful funny moving fresh gripping"
    " superb touching fascinating enjoyable elegant graceful memorable impressive thoughtful witty"
    " heartfelt inventive splendid engaging satisfying outstanding magnificent thrilling tender"
    " refreshing perfect"
)
BAD = words(
    "bad terrible awful dull boring tedious clumsy stale bland dreadful predictable mediocre"
    " shallow horrible silly lifeless pointless annoying disappointing forgettable tiresome"
    " unfunny pretentious lazy sloppy empty confusing unpleasant miserable dreary ridiculous"
    " worthless"
)
GOOD_NOUNS = words("charm wit warmth energy beauty imagination")
BAD_NOUNS = words("clichés flaws mistakes nonsense confusion sentimentality")
GOOD_VERBS = words("delights entertains impresses surprises satisfies")
BAD_VERBS = words("disappoints bores irritates confuses annoys")

# Names: an open class made of parts, so that rare ones split into word pieces.
FEMALE_NAMES = words(
    "Maria Anna Clara Emma Julia Laura Nora Sofia Helen Alice Martha Ruth Isabella Katherine"
)
MALE_NAMES = words(
    "John Peter David Thomas Paul Robert Henry George Martin Simon Oscar Daniel Sebastian"
    " Frederick"
)
_SURNAME = [
    words("Whit Hart Ash Brad Thorn Stan Har Kings Mel Rad"),
    words("field well ford ley man worth bourne"),
]
SURNAMES = [a + b for a in _SURNAME[0] for b in _SURNAME[1]]
_CITY = [
    words("North West Ox Green Stone Wood River Clear Black"),
    words("bridge ton haven port minster dale"),
]
CITIES = [a + b for a in _CITY[0] for b in _CITY[1]]
COUNTRIES = {
    "Valdoria": "Valdorian",
    "Norland": "Norlandish",
    "Estania": "Estanian",
    "Karvia": "Karvian",
    "Belmark": "Belmarkian",
    "Sorania": "Soranian",
    "Tuvalia": "Tuvalian",
    "Ostrova": "Ostrovan",
}
SECTORS = ["Foods", "Motors", "Industries", "Bank", "University", "Airlines"]
FIRMS = [sector for sector in SECTORS if sector != "University"]
NATIONALITIES = set(COUNTRIES.values())
RIVERS = ["Aven", "Lorne", "Isel", "Tamsin", "Marrow"]
_facts = Random(1)  # the world's facts are the same in every world
COUNTRY_OF = {city: _facts.choice(sorted(COUNTRIES)) for city in CITIES}
RIVER_OF = {city: _facts.choice(RIVERS) for city in CITIES}
FOUNDED = {city: _facts.randrange(1100, 1900) for city in CITIES}
MONTHS = words(
    "January February March April May June July August September October November December"
)
DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
NUMBERS = ["two", "three", "four", "five", "six", "ten"]


@cache
def ancestors(word: str) -> tuple[str, ...]:
    """List the concept and its hypernyms, nearest first; a synonym stands for its concept."""
    word = CANONICAL.get(word, word)
    return (word, *(ancestors(PARENT[word]) if word in PARENT else ()))


def is_a(word: str, kind: str) -> bool:
    return kind in ancestors(word)


@cache
def leaves_of(kind: str) -> tuple[str, ...]:
    """List `kind` and all concepts below it, except those of ABSTRACT and BROAD."""
    below = [word for child in TAXONOMY.get(kind, []) for word in leaves_of(child)]
    return tuple(below if kind in ABSTRACT or kind in BROAD else [kind, *below])


@cache
def ranked(kind: str) -> tuple[str, ...]:
    """Rank the leaves of `kind`, the most frequent first; the order is the same in every world."""
    below = list(leaves_of(kind))
    Random(len(below)).shuffle(below)
    return tuple(below)


def skewed(rng: Random, items: Sequence[str]) -> str:
    """Draw an item, the early ones more often, like words in any text (density proportional to rank ** -2/3)."""
    return items[int(len(items) * rng.random() ** 3)]


# Kinds too broad to name one thing by at random; as hypernyms they are words like any other.
BROAD = set(
    words(
        "person animal vehicle building place plant machine document instrument garment furniture"
        " container"
    )
)
BROAD |= set(words("jewel insect disaster damage emotion topic part group illness tool"))
ABSTRACT = set(
    words("adult official relative expert worker athlete artist fruit vegetable gathering")
)


@cache
def opposites(adjective: str) -> frozenset[str]:
    """List the words that cannot hold of the same thing at the same time as this adjective."""
    pairs = [(a, b) for a, b, _ in OPPOSITES] + list(MANNER.items())
    found = {b for a, b in pairs if a == adjective} | {a for a, b in pairs if b == adjective}
    if adjective in ADJECTIVE_PARENT:
        found |= opposites(ADJECTIVE_PARENT[adjective])
    return frozenset(
        found | {narrow for narrow, wide in ADJECTIVE_PARENT.items() if wide in found}
    )


@cache
def adjectives_for(noun: str) -> tuple[str, ...]:
    return tuple(a for kind in ancestors(noun) for a in ADJECTIVES_OF.get(kind, ()) if a != noun)


def siblings(word: str) -> list[str]:
    """List the other concepts of the same kind, neither above nor below, so that nothing is both."""
    parent = PARENT.get(word)
    return [other for other in TAXONOMY.get(parent, []) if other != word and other not in ABSTRACT]


@cache
def plural(noun: str) -> str:
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")) or noun in ("potato", "tomato"):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


@cache
def inflect(lemma: str, tag: str) -> str:
    """Inflect a verb for a Penn tag: VB VBP VBZ VBD VBN VBG."""
    if lemma == "be":
        return {
            "VB": "be",
            "VBP": "are",
            "VBZ": "is",
            "VBD": "was",
            "VBN": "been",
            "VBG": "being",
        }[tag]
    if tag in ("VB", "VBP"):
        return lemma
    if tag == "VBZ":
        return "has" if lemma == "have" else "goes" if lemma == "go" else plural(lemma)
    stem = lemma + lemma[-1] if lemma in DOUBLING else lemma
    if tag == "VBG":
        if lemma == "lie":
            return "lying"
        return (lemma[:-1] if lemma.endswith("e") and not lemma.endswith("ee") else stem) + "ing"
    if lemma in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[lemma][tag == "VBN"]
    if lemma.endswith("e"):
        return lemma + "d"
    return lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else stem + "ed"


def article(following: str) -> str:
    vowel = following[0].lower() in "aeiou" and not following.lower().startswith(
        ("uni", "eu", "one")
    )
    return "an" if vowel or following.lower().startswith(("honest", "hour")) else "a"
