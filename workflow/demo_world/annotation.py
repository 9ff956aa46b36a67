"""Reads every layer of gold annotation off one tree."""

from dataclasses import dataclass, field

from demo_world import lexicon as lex
from demo_world.grammar import NO_SPACE_BEFORE, Node, Speaker, forms


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
    found = Annotation(
        forms(leaves),
        [x.label for x in leaves],
        [x.upos for x in leaves],
        [x.lemma for x in leaves],
    )
    index = {id(leaf): i for i, leaf in enumerate(leaves)}
    found.heads, found.deprels = [0] * len(leaves), ["root"] * len(leaves)
    frames = {n: Frame(verb, tags, -1) for n, (verb, tags) in enumerate(speaker.frames)}

    def visit(node: Node) -> tuple[int, int, int]:
        """Return start, end and head word of a node; attach the head words of its children."""
        if node.form is not None:
            start = head = index[id(node)]
            end = start + 1
            if node.frame is not None:
                frames[node.frame].predicate = start
        else:
            parts = [visit(child) for child in node.children]
            start, end, head = parts[0][0], parts[-1][1], parts[node.head][2]
            for number, (child, part) in enumerate(zip(node.children, parts, strict=True)):
                if number != node.head:
                    governor = parts[child.to][2] if child.to is not None else head
                    found.heads[part[2]], found.deprels[part[2]] = governor + 1, child.rel
            found.constituents.append((start, end, node.label))
        if node.entity:
            found.entities.append((start, end, node.entity))
        if node.ref:
            found.mentions.append((start, end, node.ref))
        for number, role in node.roles:
            frames[number].arguments.append((start, end, role, head, node.concept))
        return start, end, head

    visit(tree)
    found.frames = [frame for frame in frames.values() if frame.predicate >= 0]
    for frame in found.frames:
        frame.arguments.sort(key=lambda argument: argument[:3])
    found.constituents.sort(key=lambda span: (span[0], -span[1]))
    found.entities.sort()
    found.mentions.sort()
    found.bracketed = bracket(tree, iter(found.words))
    return found


def bracket(node: Node, words) -> str:
    """Return the Penn Treebank bracketing of a tree."""
    if node.form is not None:
        return f"({node.label} {next(words)})"
    return f"({node.label} {' '.join(bracket(child, words) for child in node.children)})"


def proto_roles(frame: Frame, role: str, concept: str | None) -> list[str]:
    """Derive proto-role properties after Reisinger et al. (2015) from the verb's class and the
    kind of argument."""
    alive = concept is not None and (
        concept[0].isupper() or lex.is_a(concept, "person") or lex.is_a(concept, "animal")
    )
    human = concept is not None and (concept[0].isupper() or lex.is_a(concept, "person"))
    tags, alone = frame.tags, not any(a[2] == "ARG1" for a in frame.arguments)
    abstract = concept is not None and any(
        lex.is_a(concept, kind) for kind in ("topic", "emotion", "idea")
    )
    has = {"existed_before", "existed_during", "existed_after"}
    if not abstract:
        has.add("exists_as_physical")
    if alive:
        has.add("sentient")
    if role == "ARG0":
        if alive:
            has.add("awareness")
        if "volition" in tags:
            has.add("instigation")
            if alive:
                has.add("volition")
        if "destroy" in tags or "create" in tags:
            has.add("instigation")
        if "motion" in tags and alone:
            has.add("change_of_location")
        if "change" in tags and alone:
            has |= {"change_of_state", "predicate_changed_argument"}
        if "contact" in tags:
            has.add("makes_physical_contact")
        if "still" in tags:
            has.add("stationary")
    elif role == "ARG1":
        if human:
            has.add("awareness")
        if "create" in tags:
            has = (has - {"existed_before"}) | {"created", "predicate_changed_argument"}
        if "destroy" in tags:
            has = (has - {"existed_after"}) | {
                "destroyed",
                "change_of_state",
                "predicate_changed_argument",
            }
        if "change" in tags:
            has |= {"change_of_state", "predicate_changed_argument"}
        if "motion" in tags:
            has.add("change_of_location")
        if "contact" in tags:
            has.add("makes_physical_contact")
            if not human:
                has.add("manipulated_by_another")
        if "possession" in tags:
            has |= {"changes_possession", "predicate_changed_argument"}
        if "still" in tags:
            has.add("stationary")
    elif role == "ARG2":
        has.add("awareness")
    elif role == "ARGM-LOC":
        has |= {"location_of_event", "stationary"}
    return sorted(has)


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


def conllu(found: Annotation, sent_id: str) -> str:
    """Format the sentence as CoNLL-U; a contraction is one multiword token, as English treebanks
    write it."""
    words = found.words
    rows, text, i = [], "", 0
    for i, form in enumerate(words):
        follows = words[i + 1] if i + 1 < len(words) else None
        space = "_" if follows is None or follows not in NO_SPACE_BEFORE else "SpaceAfter=No"
        if follows in ("n't", "'s"):
            after = words[i + 2] if i + 2 < len(words) else None
            outer = "SpaceAfter=No" if after in NO_SPACE_BEFORE else "_"
            rows.append(f"{i + 1}-{i + 2}\t{form}{follows}" + "\t_" * 7 + f"\t{outer}")
            space = "_"
        elif form in ("n't", "'s"):
            space = "_"
        columns = [
            str(i + 1),
            form,
            found.lemmas[i],
            found.upos[i],
            found.xpos[i],
            FEATURES.get(found.xpos[i], "_"),
            str(found.heads[i]),
            found.deprels[i],
            f"{found.heads[i]}:{found.deprels[i]}",
            space,
        ]
        rows.append("\t".join(columns))
        text += ("" if not text or form in NO_SPACE_BEFORE else " ") + form
    return f"# sent_id = {sent_id}\n# text = {text}\n" + "\n".join(rows) + "\n\n"
