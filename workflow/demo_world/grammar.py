"""From meaning to annotated trees: one tree gives words, tags, constituents, dependencies,
mentions and roles.

A node knows its head child and the relation of every other child to it, so that the dependency
tree is read off the constituents (cf. Collins' head rules, but chosen by the grammar rather than
guessed) and is projective by construction.
"""

from collections.abc import Sequence
from random import Random

from demo_world import lexicon as lex
from demo_world.meaning import Clause, Thing

UPOS = {
    "DT": "DET",
    "NN": "NOUN",
    "NNS": "NOUN",
    "NNP": "PROPN",
    "NNPS": "PROPN",
    "JJ": "ADJ",
    "JJR": "ADJ",
    "JJS": "ADJ",
    "CD": "NUM",
    "PRP": "PRON",
    "WP": "PRON",
    "WDT": "PRON",
    "EX": "PRON",
    "IN": "ADP",
    "TO": "PART",
    "POS": "PART",
    "RB": "ADV",
    "WRB": "ADV",
    "MD": "AUX",
    "CC": "CCONJ",
    "VB": "VERB",
    "VBD": "VERB",
    "VBG": "VERB",
    "VBN": "VERB",
    "VBP": "VERB",
    "VBZ": "VERB",
    "UH": "INTJ",
} | {"PRP$": "PRON", ".": "PUNCT", ",": "PUNCT", "``": "PUNCT", "''": "PUNCT"}
PRONOUNS = {
    "m": ("he", "him", "his", "himself"),
    "f": ("she", "her", "her", "herself"),
    "n": ("it", "it", "its", "itself"),
    "p": ("they", "them", "their", "themselves"),
}
MODALS = {
    "future": "will",
    "can": "can",
    "must": "must",
    "may": "may",
    "should": "should",
    "could": "could",
    "conditional": "would",
}
CONTRACTED = {"will": "wo", "can": "ca"}  # wo n't, ca n't


class Node:
    """A constituent or, with a `form`, a word.

    head: index of the head child. rel: UD relation to the parent's head word. to: index of the
    sibling whose head word governs this child instead. roles: [(frame, role)]. frame: number of
    the frame this word is the predicate of.
    """

    __slots__ = (
        "children",
        "concept",
        "entity",
        "form",
        "frame",
        "head",
        "label",
        "lemma",
        "ref",
        "rel",
        "roles",
        "to",
        "upos",
    )

    def __init__(
        self, label, children=(), head=0, rel="dep", form=None, lemma=None, upos=None, to=None
    ):
        self.label, self.children, self.head, self.rel, self.to = (
            label,
            list(children),
            head,
            rel,
            to,
        )
        self.form, self.lemma, self.upos = form, lemma or form, upos or UPOS.get(label)
        self.ref, self.entity, self.concept, self.roles, self.frame = 0, None, None, (), None

    def leaves(self) -> "list[Node]":
        if self.form is not None:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


def word(
    tag: str,
    form: str,
    rel: str = "dep",
    lemma: str | None = None,
    upos: str | None = None,
    to=None,
) -> Node:
    return Node(tag, (), 0, rel, form, lemma, upos, to)


def phrase(label: str, head: int, *children: Node, rel: str = "dep") -> Node:
    return Node(label, children, head, rel)


def related(node: Node, rel: str, to: int | None = None) -> Node:
    node.rel, node.to = rel, to
    return node


class Speaker:
    """Puts meanings into words. The options it has (synonyms, contractions, order) are drawn from
    `rng`."""

    def __init__(self, rng: Random, synonyms: float = 0.25, contractions: float = 0.4):
        self.rng, self.synonyms, self.contractions = rng, synonyms, contractions
        self.frames: list[tuple[str, frozenset]] = []

    def say(self, concept: str) -> str:
        if concept in lex.SYNONYMS and self.rng.random() < self.synonyms:
            return lex.SYNONYMS[concept]
        return concept

    # Noun phrases

    def name(self, thing: Thing) -> Node:
        words = thing.concept.split()
        if thing.entity == "ORG":
            node = Node("NP", [word("NNP", w, "compound") for w in words], len(words) - 1)
        else:
            node = Node("NP", [word("NNP", w, "flat") for w in words], 0)
        node.entity = thing.entity
        return node

    def noun_phrase(self, thing: Thing, rel: str = "dep", case: int = 0) -> Node:
        """Build a noun phrase; `case` picks a pronoun's form: 0 subject, 1 object, 3 reflexive."""
        if thing.det == "pronoun":
            form = PRONOUNS["p" if thing.many else thing.gender][case]
            node = phrase(
                "NP", 0, word("PRP", form, lemma=PRONOUNS["p" if thing.many else thing.gender][0])
            )
        elif thing.det in ("who", "what", "which"):
            return self.asked(thing, rel)
        elif thing.det == "name":
            node = self.name(thing)
        else:
            node = self.common(thing)
        if thing.place:
            prep, where = thing.place
            node = phrase("NP", 0, node, self.prepositional(prep, where, "nmod"))
        if thing.relative:
            node = phrase("NP", 0, node, self.relative(thing, node))
        if not thing.others:
            node.ref = thing.ref
        for other in thing.others:
            node = Node(
                "NP", [node, word("CC", "and", "cc", to=2), self.noun_phrase(other, "conj", case)]
            )
        node.rel, node.ref, node.concept = rel, thing.ref, thing.concept
        return node

    def common(self, thing: Thing) -> Node:
        before = []
        if thing.owner:
            before.append(self.possessive(thing.owner))
        elif thing.det == "my":
            before.append(word("PRP$", "my", "nmod:poss", lemma="I"))
        elif thing.det in lex.NUMBERS:
            before.append(word("CD", thing.det, "nummod"))
            before[0].entity = "CARDINAL"
        elif thing.det == "most":
            before.append(word("JJS", "most", "amod"))
        elif thing.det != "bare":
            before.append(word("DT", thing.det, "det"))
        for adjective in thing.adjectives:
            if adjective in lex.MATERIALS:
                before.append(word("NN", adjective, "compound"))
            elif adjective in lex.NATIONALITIES:
                before.append(word("JJ", adjective, "amod"))
                before[-1].entity = "NORP"
            else:
                before.append(word("JJ", self.say(adjective), "amod"))
        form = self.say(thing.concept)
        noun = word("NNS", lex.plural(form), lemma=form) if thing.plural else word("NN", form)
        return Node("NP", [*before, noun], len(before))

    def possessive(self, owner: Thing) -> Node:
        if owner.det == "pronoun":
            form = PRONOUNS["p" if owner.many else owner.gender]
            node = word("PRP$", form[2], "nmod:poss", lemma=form[0])
        else:
            node = self.noun_phrase(owner)
            if node.label == "NP" and any(child.form is None for child in node.children):
                node = phrase("NP", 0, node, word("POS", "'s", "case"), rel="nmod:poss")
            else:
                node.children.append(word("POS", "'s", "case"))
                node.rel = "nmod:poss"
        node.ref, node.concept = owner.ref, owner.concept
        return node

    def asked(self, thing: Thing, rel: str) -> Node:
        if thing.det == "which":
            return Node(
                "WHNP",
                [word("WDT", "which", "det", upos="DET"), word("NN", thing.concept)],
                1,
                rel,
            )
        return phrase("WHNP", 0, word("WP", thing.det), rel=rel)

    def relative(self, thing: Thing, antecedent: Node) -> Node:
        clause = thing.relative
        human = thing.gender in "mf" and thing.entity in (None, "PERSON")
        if clause.subject is None:
            pronoun = word("WP" if human else "WDT", "who" if human else "that", upos="PRON")
            gap = Thing(thing.concept, "gap", thing.plural, entity=thing.entity)
            clause_node, roles = self.verb_phrase(clause, gap, passive=False)
            who, role = phrase("WHNP", 0, pronoun, rel="nsubj"), "ARG0"
            body = Node("S", [clause_node], 0)
        else:
            pronoun = word("WDT", "that", upos="PRON")
            clause_node, roles = self.verb_phrase(clause, clause.subject, passive=False)
            subject = self.noun_phrase(clause.subject, "nsubj")
            subject.roles = (*subject.roles, *roles["subject"])
            who, role = phrase("WHNP", 0, pronoun, rel="obj"), "ARG1"
            body = Node("S", [subject, clause_node], 1)
        frame = roles["frame"]
        antecedent.roles = (*antecedent.roles, (frame, role))
        antecedent.concept = thing.concept
        who.roles = ((frame, "R-" + role),)
        return phrase("SBAR", 1, who, body, rel="acl:relcl")

    def prepositional(self, prep: str, thing: Thing, rel: str = "obl") -> Node:
        node = phrase("PP", 1, word("IN", prep, "case"), self.noun_phrase(thing, case=1), rel=rel)
        node.concept = thing.concept
        return node

    def temporal(self, text: str) -> Node:
        """Build a phrase of time with its DATE: "on Monday", "in March", "yesterday", "last
        week"."""
        words = text.split()
        if text == "yesterday":
            node = phrase("NP", 0, word("NN", text), rel="obl:unmarked")
            node.entity = "DATE"
        elif words[0] == "last":
            node = phrase(
                "NP", 1, word("JJ", "last", "amod"), word("NN", words[1]), rel="obl:unmarked"
            )
            node.entity = "DATE"
        else:
            date = phrase("NP", 0, word("CD" if words[1].isdigit() else "NNP", words[1]))
            if len(words) > 2:
                date.children.append(word("CD", words[2], "nmod:unmarked"))
            date.entity = "DATE"
            node = phrase("PP", 1, word("IN", words[0], "case"), date, rel="obl")
        return node

    # Verb phrases

    def frame(self, verb: str, tags=None) -> int:
        self.frames.append(
            (
                verb,
                (
                    tags
                    if tags is not None
                    else lex.VERB[verb].tags
                    if verb in lex.VERB
                    else frozenset()
                ),
            )
        )
        return len(self.frames) - 1

    def negation(self, auxiliary: str) -> tuple[str, str]:
        """Return the auxiliary as it is before its negation, and the negation: ("wo", "n't") or
        ("will", "not")."""
        if auxiliary in ("am", "may", "to") or self.rng.random() >= self.contractions:
            return auxiliary, "not"
        return CONTRACTED.get(auxiliary, auxiliary), "n't"

    def chain(
        self, clause: Clause, subject: Thing, passive: bool
    ) -> tuple[list[tuple], str, str | None]:
        """Return auxiliaries [(form, tag, lemma)], main verb's tag and negation, in agreement with
        the subject."""
        third, tense = not subject.many, clause.tense
        copular = clause.verb == "be"
        auxiliaries: list[tuple[str, str, str]] = []
        was = "was" if third else "were"
        if tense == "infinitive":
            auxiliaries, main = [("to", "TO", "to")], "VB"
        elif tense in MODALS:
            auxiliaries, main = [(MODALS[tense], "MD", MODALS[tense])], "VB"
        elif tense == "perfect":
            auxiliaries, main = (
                [("has" if third else "have", "VBZ" if third else "VBP", "have")],
                "VBN",
            )
        elif tense == "progressive" and not copular:
            auxiliaries, main = [(was, "VBD", "be")], "VBG"
        elif tense == "present":
            main = "VBZ" if third else "VBP"
        else:
            main = "VBD"
        if passive:
            if auxiliaries:
                auxiliaries.append((lex.inflect("be", main), main, "be"))
            else:
                form = was if main == "VBD" else "is" if third else "are"
                auxiliaries = [(form, main, "be")]
            main = "VBN"
        negation = None
        if clause.negated:
            if not auxiliaries and not copular:
                do = "did" if main == "VBD" else "does" if third else "do"
                auxiliaries, main = [(do, main, "do")], "VB"
            if auxiliaries:
                form, negation = self.negation(auxiliaries[0][0])
                auxiliaries[0] = (form, *auxiliaries[0][1:])
        return auxiliaries, main, negation

    def wrap(
        self,
        inner: Node,
        auxiliaries: Sequence[tuple],
        negation: str | None,
        frame: int,
        passive: bool,
    ) -> Node:
        """Wrap a verb phrase in auxiliaries, (VP aux (VP aux ... inner)); the innermost one stays
        the head."""
        for number, (form, tag, lemma) in reversed(list(enumerate(auxiliaries))):
            rel = "aux:pass" if passive and number == len(auxiliaries) - 1 else "aux"
            aux = word(tag, form, rel, lemma, upos="AUX")
            if form == "to":
                aux.rel, aux.upos = "mark", "PART"
            if tag == "MD":
                aux.roles = ((frame, "ARGM-MOD"),)
            children = [aux, inner]
            if number == 0 and negation:
                neg = word("RB", negation, "advmod", lemma="not", upos="PART")
                neg.roles = ((frame, "ARGM-NEG"),)
                children.insert(1, neg)
            inner = Node("VP", children, len(children) - 1, inner.rel)
        return inner

    def adverb(self, form: str, frame: int, role: str) -> Node:
        node = phrase("ADVP", 0, word("RB", form), rel="advmod")
        node.roles = ((frame, role),)
        return node

    def verb_phrase(
        self,
        clause: Clause,
        subject: Thing,
        passive: bool,
        gap: str | None = None,
        inverted: bool = False,
    ):
        """Build the verb phrase and {"frame": n, "subject": subject's roles, "auxiliary": split
        off if inverted}."""
        if clause.verb == "be":
            return self.copular_phrase(clause, subject, inverted)
        frame = self.frame(clause.verb)
        auxiliaries, main, negation = self.chain(clause, subject, passive)
        if inverted and not auxiliaries:
            do = "did" if main == "VBD" else "does" if main == "VBZ" else "do"
            auxiliaries, main = [(do, main, "do")], "VB"
        lemma = self.say(clause.verb)
        verb = word(main, lex.inflect(lemma, main), lemma=lemma)
        verb.frame = frame
        children = [verb]
        roles = ((frame, "ARG1" if passive else "ARG0"),)
        entry = lex.VERB.get(clause.verb)

        def add(node: Node, role: str) -> None:
            node.roles = (*node.roles, (frame, role))
            children.append(node)

        obj, recipient = clause.object, clause.recipient
        if passive:
            if recipient and gap != "recipient":
                add(self.prepositional("to", recipient), "ARG2")
            if clause.subject and gap != "subject":
                by = self.prepositional("by", clause.subject, "obl:agent")
                add(by, "ARG0")
        elif isinstance(obj, Thing):
            double = recipient and gap is None and obj.det != "pronoun" and self.rng.random() < 0.5
            reflexive = (
                3
                if obj.det == "pronoun"
                and obj.ref
                and clause.subject
                and obj.ref == clause.subject.ref
                else 1
            )
            if double:
                add(self.noun_phrase(recipient, "iobj", 1), "ARG2")
            if gap != "object":
                add(self.noun_phrase(obj, "obj", reflexive), "ARG1")
            if recipient and not double and gap != "recipient":
                add(self.prepositional("to", recipient), "ARG2")
        elif isinstance(obj, Clause) and entry and entry.frame == "x":
            inner, inner_roles = self.verb_phrase(obj, subject, passive=False)
            node = phrase("S", 0, inner, rel="xcomp")
            add(node, "ARG1")
            roles = (*roles, *inner_roles["subject"])
        elif isinstance(obj, Clause):
            body = self.clause(obj)
            if self.rng.random() < 0.75:
                node = phrase(
                    "SBAR", 1, word("IN", "that", "mark", upos="SCONJ"), body, rel="ccomp"
                )
            else:
                node = phrase("SBAR", 0, body, rel="ccomp")
            add(node, "ARG1")
        before = []
        if clause.frequency:
            before.append(self.adverb(clause.frequency, frame, "ARGM-TMP"))
        if clause.manner:
            manner = self.adverb(self.say(clause.manner), frame, "ARGM-MNR")
            if len(children) > 2 or self.rng.random() < 0.3:
                before.append(manner)
            else:
                children.append(manner)
        if clause.purpose:
            add(self.prepositional(*clause.purpose), "ARGM-MNR")
        if clause.place and gap != "place":
            add(self.prepositional(*clause.place), "ARGM-LOC")
        if clause.time and gap != "time":
            add(self.temporal(clause.time), "ARGM-TMP")
        inner = Node("VP", [*before, *children], len(before))
        extra = {"frame": frame, "subject": roles}
        if inverted:
            extra["auxiliary"] = self.front(
                auxiliaries[0], frame, passive and len(auxiliaries) == 1, negation
            )
            return self.wrap(inner, auxiliaries[1:], None, frame, passive), extra
        return self.wrap(inner, auxiliaries, negation, frame, passive), extra

    def front(
        self, auxiliary: tuple, frame: int, passive: bool, negation: str | None
    ) -> list[Node]:
        form, tag, lemma = auxiliary
        node = word(tag, form, "aux:pass" if passive else "aux", lemma, upos="AUX")
        return [node] + ([word("RB", negation, "advmod", "not", "PART")] if negation else [])

    def copular_phrase(self, clause: Clause, subject: Thing, inverted: bool):
        frame = self.frame("be", frozenset({"still"}))
        if isinstance(clause.object, Thing):
            predicate = self.noun_phrase(clause.object, case=1)
        else:
            adjective = word("JJ", self.say(clause.object))
            intensity = [word("RB", clause.intensity, "advmod")] if clause.intensity else []
            predicate = Node("ADJP", [*intensity, adjective], len(intensity))
        predicate.roles = (*predicate.roles, (frame, "ARG2"))
        auxiliaries, main, _ = self.chain(clause, subject, passive=False)
        form = lex.inflect("be", main)
        if main == "VBD" and subject.many:
            form = "were"
        copula = word(main, form, "cop", "be", "AUX")
        copula.frame = frame
        negation = []
        if clause.negated and not auxiliaries:
            copula.form, neg = self.negation(form)
            negation = [word("RB", neg, "advmod", "not", "PART")]
            negation[0].roles = ((frame, "ARGM-NEG"),)
        extra = {"frame": frame, "subject": ((frame, "ARG1"),)}
        tail = []
        if clause.place:
            tail.append(self.prepositional(*clause.place))
            tail[-1].roles = ((frame, "ARGM-LOC"),)
        if inverted:
            extra["auxiliary"] = [copula, *negation]
            return Node("VP", [predicate, *tail], 0), extra
        frequency = [self.adverb(clause.frequency, frame, "ARGM-TMP")] if clause.frequency else []
        body = [copula, *negation, *frequency, predicate, *tail]
        node = Node("VP", body, body.index(predicate))
        auxiliary_negation = None
        if clause.negated and auxiliaries:
            auxiliaries[0] = (auxiliaries[0][0], *auxiliaries[0][1:])
            auxiliary_negation = "not" if auxiliaries[0][0] not in CONTRACTED.values() else "n't"
        return self.wrap(node, auxiliaries, auxiliary_negation, frame, False), extra

    # Clauses and sentences

    def clause(self, clause: Clause, passive: bool = False) -> Node:
        """Build (S NP VP) without punctuation."""
        grammatical = clause.object if passive else clause.subject
        body, extra = self.verb_phrase(clause, grammatical, passive)
        subject = self.noun_phrase(grammatical, "nsubj:pass" if passive else "nsubj")
        subject.roles = (*subject.roles, *extra["subject"])
        children = [subject, body]
        if clause.adjunct:
            conjunction, other = clause.adjunct
            node = phrase(
                "SBAR",
                1,
                word("IN", conjunction, "mark", upos="SCONJ"),
                self.clause(other),
                rel="advcl",
            )
            role = {"because": "ARGM-CAU", "although": "ARGM-ADV"}.get(conjunction, "ARGM-TMP")
            node.roles = ((extra["frame"], role),)
            body.children.append(node)
        return Node("S", children, 1)

    def can_passive(self, clause: Clause) -> bool:
        frame = lex.VERB[clause.verb].frame if clause.verb in lex.VERB else None
        return (
            frame in ("t", "d")
            and isinstance(clause.object, Thing)
            and clause.tense != "progressive"
            and clause.subject is not None
            and clause.object.det != "pronoun"
            and clause.subject.det != "pronoun"
            and not clause.object.owner
            and clause.verb not in ("own", "wear", "hate", "watch", "lose")
        )

    def sentence(
        self, clause: Clause, passive: bool = False, time_first: bool = False, mark: str = "."
    ) -> Node:
        """Build a whole sentence, (TOP (S ... .)); `time_first` puts the time before the
        subject."""
        if time_first and clause.time:
            first = self.temporal(clause.time)
            time, clause.time = clause.time, None
            node = self.clause(clause, passive)
            clause.time = time
            first.roles = ((len(self.frames) - 1, "ARGM-TMP"),)
            self.retarget(first, node)
            node.children = [first, word(",", ",", "punct"), *node.children]
            node.head = 3
        else:
            node = self.clause(clause, passive)
        node.children.append(word(".", mark, "punct"))
        return phrase("TOP", 0, node, rel="root")

    @staticmethod
    def retarget(first: Node, node: Node) -> None:
        """Give a fronted adjunct the frame of the clause's own verb, found along the heads."""
        predicate = node
        while predicate.form is None:
            predicate = predicate.children[predicate.head]
        if predicate.frame is not None:
            first.roles = ((predicate.frame, "ARGM-TMP"),)

    def coordinated(self, first: Clause, conjunction: str, second: Clause) -> Node:
        """Join two clauses by a conjunction, (TOP (S (S ...) , but (S ...) .))."""
        left, right = self.clause(first), self.clause(second)
        return phrase(
            "TOP",
            0,
            Node(
                "S",
                [
                    left,
                    word(",", ",", "punct", to=3),
                    word("CC", conjunction, "cc", to=3),
                    related(right, "conj"),
                    word(".", ".", "punct"),
                ],
                0,
            ),
            rel="root",
        )

    def question(self, clause: Clause, asked: str | None = None, passive: bool = False) -> Node:
        """Build a yes/no question or a wh-question on `asked`: subject, object, place, time (the
        gap is left out)."""
        grammatical = clause.object if passive else clause.subject
        if asked == "subject" and not passive:
            wh = (
                Thing("person", "who") if clause.subject.gender in "mf" else Thing("thing", "what")
            )
            body, extra = self.verb_phrase(clause, wh, False)
            subject = self.asked(wh, "nsubj")
            subject.roles = extra["subject"]
            node = Node("SBARQ", [subject, Node("SQ", [body], 0), word(".", "?", "punct")], 1)
            return phrase("TOP", 0, node, rel="root")
        body, extra = self.verb_phrase(clause, grammatical, passive, asked, inverted=True)
        subject = self.noun_phrase(grammatical, "nsubj:pass" if passive else "nsubj")
        subject.roles = (*subject.roles, *extra["subject"])
        children = [*extra["auxiliary"], subject, body]
        inner = Node("SQ", children, len(children) - 1)
        stop = word(".", "?", "punct")
        if asked is None:
            inner.children.append(stop)
            return phrase("TOP", 0, inner, rel="root")
        frame = extra["frame"]
        if asked == "object":
            human = isinstance(clause.object, Thing) and clause.object.gender in "mf"
            wh = phrase("WHNP", 0, word("WP", "who" if human else "what"), rel="obj")
            wh.roles = ((frame, "ARG1"),)
        else:
            wh = phrase(
                "WHADVP", 0, word("WRB", "where" if asked == "place" else "when"), rel="advmod"
            )
            wh.roles = ((frame, "ARGM-LOC" if asked == "place" else "ARGM-TMP"),)
        return phrase("TOP", 0, Node("SBARQ", [wh, inner, stop], 1), rel="root")


# From trees to text

NO_SPACE_BEFORE = {".", ",", "?", "!", "n't", "'s", ";", ":", "'"}


def forms(leaves: Sequence[Node]) -> list[str]:
    """Spell the words: a becomes an before a vowel, and the first letter becomes a capital."""
    words = [leaf.form for leaf in leaves]
    for i in range(len(words) - 1):
        if words[i] == "a":
            words[i] = lex.article(words[i + 1])
    words[0] = words[0][0].upper() + words[0][1:]
    return words


def detokenise(words: Sequence[str]) -> str:
    text = words[0]
    for item in words[1:]:
        text += item if item in NO_SPACE_BEFORE else " " + item
    return text


def offsets(words: Sequence[str]) -> list[tuple[int, int]]:
    """Compute the character span of every word in the detokenised text."""
    spans, end = [], 0
    for number, item in enumerate(words):
        start = end + (number > 0 and item not in NO_SPACE_BEFORE)
        end = start + len(item)
        spans.append((start, end))
    return spans


def text_of(tree: Node) -> str:
    return detokenise(forms(tree.leaves()))
