"""From meaning to annotated trees: one tree gives words, tags, constituents, dependencies,
mentions and roles.

A node knows its head child and the relation of every other child to it, so that the dependency
tree is read off the constituents (cf. Collins' head rules, but chosen by the grammar rather than
guessed) and is projective by construction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from demo_world import lexicon as lex
from demo_world.meaning import Clause, Thing

TAGS_OF_UPOS = {
    "DET": "DT",
    "NOUN": "NN NNS",
    "PROPN": "NNP NNPS",
    "ADJ": "JJ JJR JJS",
    "NUM": "CD",
    "PRON": "PRP PRP$ WP WDT EX",
    "ADP": "IN",
    "PART": "TO POS",
    "ADV": "RB WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "INTJ": "UH",
    "PUNCT": ". , `` ''",
}
UPOS = {tag: upos for upos, tags in TAGS_OF_UPOS.items() for tag in tags.split()}
# Subject, object, possessive and reflexive form.
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
ADJUNCT_ROLES = {"because": "ARGM-CAU", "although": "ARGM-ADV"}
NEVER_PASSIVE = ("own", "wear", "hate", "watch", "lose")


# Forms of "do" that support a negation or a question, by the tag of the main verb.
DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}


@dataclass(slots=True, eq=False)
class Node:
    """A constituent or, with a `form`, a word.

    head: index of the head child
    rel: UD relation to the parent's head word
    to: index of the sibling whose head word governs this child instead
    roles: [(frame, role)]
    frame: number of the frame this word is the predicate of
    """

    label: str
    children: "list[Node]" = field(default_factory=list)
    head: int = 0
    rel: str = "dep"
    form: str | None = None
    lemma: str | None = None
    upos: str | None = None
    to: int | None = None
    ref: int = 0
    entity: str | None = None
    concept: str | None = None
    roles: tuple[tuple[int, str], ...] = ()
    frame: int | None = None

    def leaves(self) -> "list[Node]":
        if self.form is not None:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    def head_word(self) -> "Node":
        node = self
        while node.form is None:
            node = node.children[node.head]
        return node


def word(
    tag: str,
    form: str,
    rel: str = "dep",
    lemma: str | None = None,
    upos: str | None = None,
    to: int | None = None,
) -> Node:
    return Node(tag, [], 0, rel, form, lemma or form, upos or UPOS.get(tag), to)


def phrase(label: str, head: int, *children: Node, rel: str = "dep") -> Node:
    return Node(label, list(children), head, rel)


def with_role(node: Node, frame: int, role: str) -> Node:
    """Add a role to the node and return it."""
    node.roles = (*node.roles, (frame, role))
    return node


class Auxiliary(NamedTuple):
    form: str
    tag: str
    lemma: str


class VerbPhrase(NamedTuple):
    """A verb phrase, its frame, and what the clause around it needs: the subject's roles and, in
    a question, the words before the subject."""

    node: Node
    frame: int
    subject_roles: tuple[tuple[int, str], ...]
    fronted: Sequence[Node] = ()


def pronoun_forms(thing: Thing) -> tuple[str, str, str, str]:
    return PRONOUNS["p" if thing.many else thing.gender]


def inflect_be(tag: str, subject: Thing) -> str:
    if tag == "VBD" and subject.many:
        return "were"
    return lex.inflect("be", tag)


def auxiliary_node(auxiliary: Auxiliary, is_passive: bool) -> Node:
    rel = "aux:pass" if is_passive else "aux"
    return word(auxiliary.tag, auxiliary.form, rel, auxiliary.lemma, upos="AUX")


def negation_node(negation: str) -> Node:
    return word("RB", negation, "advmod", "not", "PART")


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
            node = Node("NP", [word("NNP", form, "compound") for form in words], len(words) - 1)
        else:
            node = Node("NP", [word("NNP", form, "flat") for form in words], 0)
        node.entity = thing.entity
        return node

    def noun_phrase(self, thing: Thing, rel: str = "dep", case: int = 0) -> Node:
        """Build a noun phrase; `case` picks a pronoun's form: 0 subject, 1 object, 3 reflexive."""
        if thing.det in ("who", "what", "which"):
            return self.wh_phrase(thing, rel)
        if thing.det == "pronoun":
            forms = pronoun_forms(thing)
            node = phrase("NP", 0, word("PRP", forms[case], lemma=forms[0]))
        elif thing.det == "name":
            node = self.name(thing)
        else:
            node = self.common(thing)
        if thing.place:
            preposition, where = thing.place
            node = phrase("NP", 0, node, self.prepositional(preposition, where, "nmod"))
        if thing.relative:
            node = phrase("NP", 0, node, self.relative(thing, node))
        for conjunct in thing.others:
            conjunction = word("CC", "and", "cc", to=2)
            node = phrase("NP", 0, node, conjunction, self.noun_phrase(conjunct, "conj", case))
        node.rel, node.ref, node.concept = rel, thing.ref, thing.concept
        return node

    def common(self, thing: Thing) -> Node:
        modifiers = self.determiner(thing)
        modifiers += [self.modifier(adjective) for adjective in thing.adjectives]
        form = self.say(thing.concept)
        noun = word("NNS", lex.plural(form), lemma=form) if thing.plural else word("NN", form)
        return Node("NP", [*modifiers, noun], len(modifiers))

    def determiner(self, thing: Thing) -> list[Node]:
        if thing.owner:
            return [self.possessive(thing.owner)]
        if thing.det == "my":
            return [word("PRP$", "my", "nmod:poss", lemma="I")]
        if thing.det in lex.NUMBERS:
            number = word("CD", thing.det, "nummod")
            number.entity = "CARDINAL"
            return [number]
        if thing.det == "most":
            return [word("JJS", "most", "amod")]
        if thing.det == "bare":
            return []
        return [word("DT", thing.det, "det")]

    def modifier(self, adjective: str) -> Node:
        if adjective in lex.MATERIALS:
            return word("NN", adjective, "compound")
        if adjective in lex.NATIONALITIES:
            node = word("JJ", adjective, "amod")
            node.entity = "NORP"
            return node
        return word("JJ", self.say(adjective), "amod")

    def possessive(self, owner: Thing) -> Node:
        if owner.det == "pronoun":
            forms = pronoun_forms(owner)
            node = word("PRP$", forms[2], "nmod:poss", lemma=forms[0])
        else:
            node = self.noun_phrase(owner)
            mark = word("POS", "'s", "case")
            if any(child.form is None for child in node.children):
                node = phrase("NP", 0, node, mark)
            else:
                node.children.append(mark)
            node.rel = "nmod:poss"
        node.ref, node.concept = owner.ref, owner.concept
        return node

    def wh_phrase(self, thing: Thing, rel: str) -> Node:
        if thing.det == "which":
            determiner = word("WDT", "which", "det", upos="DET")
            return phrase("WHNP", 1, determiner, word("NN", thing.concept), rel=rel)
        return phrase("WHNP", 0, word("WP", thing.det), rel=rel)

    def relative(self, thing: Thing, antecedent: Node) -> Node:
        """Build the relative clause of a thing, whose own noun phrase is `antecedent`."""
        clause = thing.relative
        if clause.subject is None:
            human = thing.gender in "mf" and thing.entity in (None, "PERSON")
            pronoun = word("WP", "who", upos="PRON") if human else word("WDT", "that", upos="PRON")
            gap = Thing(thing.concept, "gap", thing.plural, entity=thing.entity)
            verb_phrase = self.verb_phrase(clause, gap, passive=False)
            role, rel = "ARG0", "nsubj"
            body = phrase("S", 0, verb_phrase.node)
        else:
            pronoun = word("WDT", "that", upos="PRON")
            verb_phrase = self.verb_phrase(clause, clause.subject, passive=False)
            role, rel = "ARG1", "obj"
            subject = self.noun_phrase(clause.subject, "nsubj")
            subject.roles = (*subject.roles, *verb_phrase.subject_roles)
            body = phrase("S", 1, subject, verb_phrase.node)
        with_role(antecedent, verb_phrase.frame, role)
        antecedent.concept = thing.concept
        relative_pronoun = phrase("WHNP", 0, pronoun, rel=rel)
        with_role(relative_pronoun, verb_phrase.frame, "R-" + role)
        return phrase("SBAR", 1, relative_pronoun, body, rel="acl:relcl")

    def prepositional(self, preposition: str, thing: Thing, rel: str = "obl") -> Node:
        object_node = self.noun_phrase(thing, case=1)
        node = phrase("PP", 1, word("IN", preposition, "case"), object_node, rel=rel)
        node.concept = thing.concept
        return node

    def temporal(self, text: str) -> Node:
        """Build a phrase of time with its DATE: "on Monday", "in March", "yesterday", "last
        week"."""
        words = text.split()
        if text == "yesterday":
            date = phrase("NP", 0, word("NN", text), rel="obl:unmarked")
        elif words[0] == "last":
            last, noun = word("JJ", "last", "amod"), word("NN", words[1])
            date = phrase("NP", 1, last, noun, rel="obl:unmarked")
        else:
            tag = "CD" if words[1].isdigit() else "NNP"
            date = phrase("NP", 0, word(tag, words[1]))
            date.children += [word("CD", year, "nmod:unmarked") for year in words[2:]]
        date.entity = "DATE"
        if date.rel == "obl:unmarked":
            return date
        return phrase("PP", 1, word("IN", words[0], "case"), date, rel="obl")

    # Verb phrases

    def add_frame(self, verb: str, tags: frozenset) -> int:
        """Add a frame and return its number."""
        self.frames.append((verb, tags))
        return len(self.frames) - 1

    def negation(self, auxiliary: str) -> tuple[str, str]:
        """Return the auxiliary as it is before its negation, and the negation: ("wo", "n't") or
        ("will", "not")."""
        if auxiliary in ("am", "may", "to") or self.rng.random() >= self.contractions:
            return auxiliary, "not"
        return CONTRACTED.get(auxiliary, auxiliary), "n't"

    def plan_auxiliaries(
        self, clause: Clause, subject: Thing, passive: bool
    ) -> tuple[list[Auxiliary], str, str | None]:
        """Return auxiliaries, main verb's tag and negation, in agreement with the subject."""
        auxiliaries, main = self.plan_tense(clause, subject)
        if passive:
            auxiliaries.append(Auxiliary(inflect_be(main, subject), main, "be"))
            main = "VBN"
        negation = None
        if clause.negated:
            if not auxiliaries and clause.verb != "be":
                auxiliaries, main = [Auxiliary(DO[main], main, "do")], "VB"
            if auxiliaries:
                form, negation = self.negation(auxiliaries[0].form)
                auxiliaries[0] = auxiliaries[0]._replace(form=form)
        return auxiliaries, main, negation

    def plan_tense(self, clause: Clause, subject: Thing) -> tuple[list[Auxiliary], str]:
        """Return the auxiliaries of the clause's tense, and the tag of the verb after them."""
        if clause.tense == "infinitive":
            return [Auxiliary("to", "TO", "to")], "VB"
        if clause.tense in MODALS:
            modal = MODALS[clause.tense]
            return [Auxiliary(modal, "MD", modal)], "VB"
        if clause.tense == "perfect":
            plural, singular = Auxiliary("have", "VBP", "have"), Auxiliary("has", "VBZ", "have")
            return [plural if subject.many else singular], "VBN"
        if clause.tense == "progressive" and clause.verb != "be":
            return [Auxiliary(inflect_be("VBD", subject), "VBD", "be")], "VBG"
        if clause.tense == "present":
            return [], "VBP" if subject.many else "VBZ"
        return [], "VBD"

    def wrap(
        self,
        inner: Node,
        auxiliaries: Sequence[Auxiliary],
        negation: str | None,
        frame: int,
        passive: bool,
    ) -> Node:
        """Wrap a verb phrase in auxiliaries, (VP aux (VP aux ... inner)); the innermost one stays
        the head."""
        for number, auxiliary in reversed(list(enumerate(auxiliaries))):
            innermost = number == len(auxiliaries) - 1
            node = auxiliary_node(auxiliary, passive and innermost)
            if auxiliary.form == "to":
                node.rel, node.upos = "mark", "PART"
            if auxiliary.tag == "MD":
                with_role(node, frame, "ARGM-MOD")
            children = [node, inner]
            if number == 0 and negation:
                children.insert(1, with_role(negation_node(negation), frame, "ARGM-NEG"))
            inner = Node("VP", children, len(children) - 1, inner.rel)
        return inner

    def adverb(self, form: str, frame: int, role: str) -> Node:
        node = phrase("ADVP", 0, word("RB", form), rel="advmod")
        return with_role(node, frame, role)

    def verb_phrase(
        self,
        clause: Clause,
        subject: Thing,
        passive: bool,
        gap: str | None = None,
        inverted: bool = False,
    ) -> VerbPhrase:
        """Build the verb phrase; a question leaves its `gap` out, and splits the first auxiliary
        off if `inverted`."""
        if clause.verb == "be":
            return self.copular_phrase(clause, subject, inverted)
        frame = self.add_frame(clause.verb, lex.VERB[clause.verb].tags)
        auxiliaries, main, negation = self.plan_auxiliaries(clause, subject, passive)
        if inverted and not auxiliaries:
            auxiliaries, main = [Auxiliary(DO[main], main, "do")], "VB"
        lemma = self.say(clause.verb)
        verb = word(main, lex.inflect(lemma, main), lemma=lemma)
        verb.frame = frame
        children = [verb]
        subject_roles = ((frame, "ARG1" if passive else "ARG0"),)
        if passive:
            children += self.passive_complements(clause, frame, gap)
        elif isinstance(clause.object, Thing):
            children += self.objects(clause, frame, gap)
        elif isinstance(clause.object, Clause) and lex.VERB[clause.verb].frame == "x":
            inner = self.verb_phrase(clause.object, subject, passive=False)
            infinitive = phrase("S", 0, inner.node, rel="xcomp")
            children.append(with_role(infinitive, frame, "ARG1"))
            subject_roles = (*subject_roles, *inner.subject_roles)
        elif isinstance(clause.object, Clause):
            children.append(with_role(self.complement_clause(clause.object), frame, "ARG1"))
        before = []
        if clause.frequency:
            before.append(self.adverb(clause.frequency, frame, "ARGM-TMP"))
        if clause.manner:
            manner = self.adverb(self.say(clause.manner), frame, "ARGM-MNR")
            if len(children) > 2 or self.rng.random() < 0.3:
                before.append(manner)
            else:
                children.append(manner)
        children += self.adjuncts(clause, frame, gap)
        inner = Node("VP", [*before, *children], len(before))
        if not inverted:
            node = self.wrap(inner, auxiliaries, negation, frame, passive)
            return VerbPhrase(node, frame, subject_roles)
        first, *rest = auxiliaries
        fronted = [auxiliary_node(first, passive and not rest)]
        if negation:
            fronted.append(negation_node(negation))
        node = self.wrap(inner, rest, None, frame, passive)
        return VerbPhrase(node, frame, subject_roles, fronted)

    def passive_complements(self, clause: Clause, frame: int, gap: str | None) -> list[Node]:
        complements = []
        if clause.recipient and gap != "recipient":
            recipient = self.prepositional("to", clause.recipient)
            complements.append(with_role(recipient, frame, "ARG2"))
        if clause.subject and gap != "subject":
            agent = self.prepositional("by", clause.subject, "obl:agent")
            complements.append(with_role(agent, frame, "ARG0"))
        return complements

    def objects(self, clause: Clause, frame: int, gap: str | None) -> list[Node]:
        """Build the object and the recipient: "her the book" or "the book to her"."""
        obj, recipient = clause.object, clause.recipient
        is_pronoun = obj.det == "pronoun"
        double = recipient and gap is None and not is_pronoun and self.rng.random() < 0.5
        reflexive = is_pronoun and obj.ref and clause.subject and obj.ref == clause.subject.ref
        nodes = []
        if double:
            nodes.append(with_role(self.noun_phrase(recipient, "iobj", 1), frame, "ARG2"))
        if gap != "object":
            object_node = self.noun_phrase(obj, "obj", 3 if reflexive else 1)
            nodes.append(with_role(object_node, frame, "ARG1"))
        if recipient and not double and gap != "recipient":
            nodes.append(with_role(self.prepositional("to", recipient), frame, "ARG2"))
        return nodes

    def complement_clause(self, clause: Clause) -> Node:
        """Build a clause that is an object; three in four begin with "that"."""
        body = self.clause(clause)
        if self.rng.random() < 0.75:
            that = word("IN", "that", "mark", upos="SCONJ")
            return phrase("SBAR", 1, that, body, rel="ccomp")
        return phrase("SBAR", 0, body, rel="ccomp")

    def adjuncts(self, clause: Clause, frame: int, gap: str | None) -> list[Node]:
        nodes = []
        if clause.purpose:
            nodes.append(with_role(self.prepositional(*clause.purpose), frame, "ARGM-MNR"))
        if clause.place and gap != "place":
            nodes.append(with_role(self.prepositional(*clause.place), frame, "ARGM-LOC"))
        if clause.time and gap != "time":
            nodes.append(with_role(self.temporal(clause.time), frame, "ARGM-TMP"))
        return nodes

    def copular_phrase(self, clause: Clause, subject: Thing, inverted: bool) -> VerbPhrase:
        frame = self.add_frame("be", frozenset({"still"}))
        subject_roles = ((frame, "ARG1"),)
        predicate = with_role(self.predicate(clause), frame, "ARG2")
        auxiliaries, main, _ = self.plan_auxiliaries(clause, subject, passive=False)
        copula = word(main, inflect_be(main, subject), "cop", "be", "AUX")
        copula.frame = frame
        verb = [copula]
        if clause.negated and not auxiliaries:
            copula.form, negation = self.negation(copula.form)
            verb.append(with_role(negation_node(negation), frame, "ARGM-NEG"))
        complements = [predicate]
        if clause.place:
            place = self.prepositional(*clause.place)
            complements.append(with_role(place, frame, "ARGM-LOC"))
        if inverted:
            return VerbPhrase(Node("VP", complements), frame, subject_roles, verb)
        if clause.frequency:
            verb.append(self.adverb(clause.frequency, frame, "ARGM-TMP"))
        node = Node("VP", [*verb, *complements], len(verb))
        auxiliary_negation = None
        if clause.negated and auxiliaries:
            contracted = auxiliaries[0].form in CONTRACTED.values()
            auxiliary_negation = "n't" if contracted else "not"
        node = self.wrap(node, auxiliaries, auxiliary_negation, frame, False)
        return VerbPhrase(node, frame, subject_roles)

    def predicate(self, clause: Clause) -> Node:
        if isinstance(clause.object, Thing):
            return self.noun_phrase(clause.object, case=1)
        adjective = word("JJ", self.say(clause.object))
        if not clause.intensity:
            return phrase("ADJP", 0, adjective)
        return phrase("ADJP", 1, word("RB", clause.intensity, "advmod"), adjective)

    # Clauses and sentences

    def clause(self, clause: Clause, passive: bool = False) -> Node:
        """Build (S NP VP) without punctuation."""
        topic = clause.object if passive else clause.subject
        verb_phrase = self.verb_phrase(clause, topic, passive)
        subject = self.subject(topic, passive, verb_phrase)
        if clause.adjunct:
            conjunction, adjunct = clause.adjunct
            mark = word("IN", conjunction, "mark", upos="SCONJ")
            node = phrase("SBAR", 1, mark, self.clause(adjunct), rel="advcl")
            role = ADJUNCT_ROLES.get(conjunction, "ARGM-TMP")
            verb_phrase.node.children.append(with_role(node, verb_phrase.frame, role))
        return phrase("S", 1, subject, verb_phrase.node)

    def subject(self, topic: Thing, passive: bool, verb_phrase: VerbPhrase) -> Node:
        node = self.noun_phrase(topic, "nsubj:pass" if passive else "nsubj")
        node.roles = (*node.roles, *verb_phrase.subject_roles)
        return node

    def can_passive(self, clause: Clause) -> bool:
        return (
            clause.verb != "be"
            and lex.VERB[clause.verb].frame in ("t", "d")
            and isinstance(clause.object, Thing)
            and clause.tense != "progressive"
            and clause.subject is not None
            and clause.object.det != "pronoun"
            and clause.subject.det != "pronoun"
            and not clause.object.owner
            and clause.verb not in NEVER_PASSIVE
        )

    def sentence(
        self, clause: Clause, passive: bool = False, time_first: bool = False, mark: str = "."
    ) -> Node:
        """Build a whole sentence, (TOP (S ... .)); `time_first` puts the time before the
        subject."""
        if time_first and clause.time:
            time = self.temporal(clause.time)
            node = self.clause(replace(clause, time=None), passive)
            frame = node.head_word().frame
            if frame is None:
                frame = len(self.frames) - 1
            with_role(time, frame, "ARGM-TMP")
            node.children = [time, word(",", ",", "punct"), *node.children]
            node.head = 3
        else:
            node = self.clause(clause, passive)
        node.children.append(word(".", mark, "punct"))
        return phrase("TOP", 0, node, rel="root")

    def coordinated(self, first: Clause, conjunction: str, second: Clause) -> Node:
        """Join two clauses by a conjunction, (TOP (S (S ...) , but (S ...) .))."""
        first_node, second_node = self.clause(first), self.clause(second)
        second_node.rel = "conj"
        node = phrase(
            "S",
            0,
            first_node,
            word(",", ",", "punct", to=3),
            word("CC", conjunction, "cc", to=3),
            second_node,
            word(".", ".", "punct"),
        )
        return phrase("TOP", 0, node, rel="root")

    def question(self, clause: Clause, argument: str | None = None, passive: bool = False) -> Node:
        """Build a yes/no question, or a wh-question on an argument: subject, object, place, time
        (the gap is left out)."""
        if argument == "subject" and not passive:
            return self.subject_question(clause)
        topic = clause.object if passive else clause.subject
        verb_phrase = self.verb_phrase(clause, topic, passive, argument, inverted=True)
        subject = self.subject(topic, passive, verb_phrase)
        children = [*verb_phrase.fronted, subject, verb_phrase.node]
        inner = Node("SQ", children, len(children) - 1)
        stop = word(".", "?", "punct")
        if argument is None:
            inner.children.append(stop)
            return phrase("TOP", 0, inner, rel="root")
        if argument == "object":
            human = isinstance(clause.object, Thing) and clause.object.gender in "mf"
            wh = phrase("WHNP", 0, word("WP", "who" if human else "what"), rel="obj")
            role = "ARG1"
        elif argument == "place":
            wh = phrase("WHADVP", 0, word("WRB", "where"), rel="advmod")
            role = "ARGM-LOC"
        else:
            wh = phrase("WHADVP", 0, word("WRB", "when"), rel="advmod")
            role = "ARGM-TMP"
        with_role(wh, verb_phrase.frame, role)
        return phrase("TOP", 0, phrase("SBARQ", 1, wh, inner, stop), rel="root")

    def subject_question(self, clause: Clause) -> Node:
        human = clause.subject.gender in "mf"
        wh_subject = Thing("person", "who") if human else Thing("thing", "what")
        verb_phrase = self.verb_phrase(clause, wh_subject, False)
        subject = self.wh_phrase(wh_subject, "nsubj")
        subject.roles = verb_phrase.subject_roles
        inner = phrase("SQ", 0, verb_phrase.node)
        node = phrase("SBARQ", 1, subject, inner, word(".", "?", "punct"))
        return phrase("TOP", 0, node, rel="root")


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
        start = end
        if number > 0 and item not in NO_SPACE_BEFORE:
            start += 1
        end = start + len(item)
        spans.append((start, end))
    return spans


def to_text(tree: Node) -> str:
    return detokenise(forms(tree.leaves()))
