"""Reads every layer of gold annotation off one tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from demo_world import lexicon as lex
from demo_world.grammar import NO_SPACE_BEFORE, Node, Speaker, detokenise, forms


@dataclass
class Annotation:
    """A sentence's gold layers. Spans are half-open pairs of word indices."""

    words: list[str]
    xpos: list[str]
    upos: list[str]
    lemmas: list[str]
    heads: list[int] = field(default_factory=list)  # 1-based, 0 is the root
    deprels: list[str] = field(default_factory=list)
    constituents: list[tuple[int, int, str]] = field(default_factory=list)
    entities: list[tuple[int, int, str]] = field(default_factory=list)
    mentions: list[tuple[int, int, int]] = field(default_factory=list)  # start, end, referent
    frames: list["Frame"] = field(default_factory=list)
    bracketed: str = ""


@dataclass
class Frame:
    """A predicate and its arguments: (start, end, role, head word, concept)."""

    verb: str
    tags: frozenset
    predicate: int
    arguments: list[tuple[int, int, str, int, str | None]] = field(default_factory=list)


def annotate(tree: Node, speaker: Speaker) -> Annotation:
    """Annotate a tree that `speaker` made (the speaker keeps the frames' verbs)."""
    leaves = tree.leaves()
    annotation = Annotation(
        forms(leaves),
        [leaf.label for leaf in leaves],
        [leaf.upos for leaf in leaves],
        [leaf.lemma for leaf in leaves],
        heads=[0] * len(leaves),
        deprels=["root"] * len(leaves),
    )
    frames = [Frame(verb, tags, -1) for verb, tags in speaker.frames]
    index = {id(leaf): i for i, leaf in enumerate(leaves)}

    def visit(node: Node) -> tuple[int, int, int]:
        """Return start, end and head word of a node; attach the head words of its children."""
        if node.form is not None:
            start = head = index[id(node)]
            end = start + 1
            if node.frame is not None:
                frames[node.frame].predicate = start
        else:
            spans = [visit(child) for child in node.children]
            start, end = spans[0][0], spans[-1][1]
            head_words = [child_head for _, _, child_head in spans]
            head = head_words[node.head]
            for number, child in enumerate(node.children):
                if number != node.head:
                    governor = head if child.to is None else head_words[child.to]
                    annotation.heads[head_words[number]] = governor + 1
                    annotation.deprels[head_words[number]] = child.rel
            annotation.constituents.append((start, end, node.label))
        if node.entity:
            annotation.entities.append((start, end, node.entity))
        if node.ref:
            annotation.mentions.append((start, end, node.ref))
        for number, role in node.roles:
            frames[number].arguments.append((start, end, role, head, node.concept))
        return start, end, head

    visit(tree)
    annotation.frames = [frame for frame in frames if frame.predicate >= 0]
    for frame in annotation.frames:
        frame.arguments.sort(key=lambda argument: argument[:3])
    annotation.constituents.sort(key=lambda span: (span[0], -span[1]))
    annotation.entities.sort()
    annotation.mentions.sort()
    annotation.bracketed = bracket(tree, iter(annotation.words))
    return annotation


def bracket(node: Node, words: Iterator[str]) -> str:
    """Return the Penn Treebank bracketing of a tree."""
    if node.form is not None:
        return f"({node.label} {next(words)})"
    children = [bracket(child, words) for child in node.children]
    return f"({node.label} {' '.join(children)})"


def proto_roles(frame: Frame, role: str, concept: str | None) -> list[str]:
    """Derive proto-role properties after Reisinger et al. (2015) from the verb's class and the
    kind of argument."""
    named = concept is not None and concept[0].isupper()
    human = named or is_any(concept, ("person",))
    alive = human or is_any(concept, ("animal",))
    properties = {"existed_before", "existed_during", "existed_after"}
    if not is_any(concept, ("topic", "emotion", "idea")):
        properties.add("exists_as_physical")
    if alive:
        properties.add("sentient")
    if role == "ARG0":
        return sorted(properties | agent_properties(frame, alive))
    if role == "ARG1":
        if "create" in frame.tags:
            properties.remove("existed_before")
        if "destroy" in frame.tags:
            properties.remove("existed_after")
        return sorted(properties | patient_properties(frame.tags, human))
    if role == "ARG2":
        properties.add("awareness")
    elif role == "ARGM-LOC":
        properties |= {"location_of_event", "stationary"}
    return sorted(properties)


def is_any(concept: str | None, kinds: tuple[str, ...]) -> bool:
    return concept is not None and any(lex.is_a(concept, kind) for kind in kinds)


def agent_properties(frame: Frame, alive: bool) -> set[str]:
    """Return the properties that a subject has by its verb's class."""
    tags, properties = frame.tags, set()
    intransitive = all(role != "ARG1" for _, _, role, _, _ in frame.arguments)
    if alive:
        properties.add("awareness")
    if tags & {"volition", "destroy", "create"}:
        properties.add("instigation")
    if "volition" in tags and alive:
        properties.add("volition")
    if "motion" in tags and intransitive:
        properties.add("change_of_location")
    if "change" in tags and intransitive:
        properties |= {"change_of_state", "predicate_changed_argument"}
    if "contact" in tags:
        properties.add("makes_physical_contact")
    if "still" in tags:
        properties.add("stationary")
    return properties


def patient_properties(tags: frozenset, human: bool) -> set[str]:
    """Return the properties that an object has by its verb's class."""
    properties = set()
    if human:
        properties.add("awareness")
    if "create" in tags:
        properties |= {"created", "predicate_changed_argument"}
    if "destroy" in tags:
        properties |= {"destroyed", "change_of_state", "predicate_changed_argument"}
    if "change" in tags:
        properties |= {"change_of_state", "predicate_changed_argument"}
    if "motion" in tags:
        properties.add("change_of_location")
    if "contact" in tags:
        properties.add("makes_physical_contact")
        if not human:
            properties.add("manipulated_by_another")
    if "possession" in tags:
        properties |= {"changes_possession", "predicate_changed_argument"}
    if "still" in tags:
        properties.add("stationary")
    return properties


FEATURES = {
    "NN": "Number=Sing",
    "NNS": "Number=Plur",
    "NNP": "Number=Sing",
    "JJ": "Degree=Pos",
    "VB": "VerbForm=Inf",
    "VBG": "VerbForm=Ger",
    "VBN": "Tense=Past|VerbForm=Part",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "CD": "NumType=Card",
    "MD": "VerbForm=Fin",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
}


CLITICS = ("n't", "'s")
NO_SPACE = "SpaceAfter=No"


def conllu(sentence: Annotation, sent_id: str) -> str:
    """Format the sentence as CoNLL-U; a contraction is one multiword token, as English treebanks
    write it."""
    words = sentence.words
    misc = ["_"] * len(words)  # the last column: whether no space follows
    for i, following in enumerate(words[1:]):
        if following in NO_SPACE_BEFORE:
            misc[i] = NO_SPACE
    lines = [f"# sent_id = {sent_id}", f"# text = {detokenise(words)}"]
    for i, form in enumerate(words):
        token_misc = misc[i]
        if form in CLITICS:
            token_misc = "_"
        if i + 1 < len(words) and words[i + 1] in CLITICS:
            contraction = form + words[i + 1]
            lines.append(f"{i + 1}-{i + 2}\t{contraction}" + "\t_" * 7 + f"\t{misc[i + 1]}")
            token_misc = "_"
        tag, head, deprel = sentence.xpos[i], sentence.heads[i], sentence.deprels[i]
        columns = [
            i + 1,
            form,
            sentence.lemmas[i],
            sentence.upos[i],
            tag,
            FEATURES.get(tag, "_"),
            head,
            deprel,
            f"{head}:{deprel}",
            token_misc,
        ]
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"
