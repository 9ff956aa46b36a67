"""Passages with questions (SQuAD) and question-sentence pairs (QNLI)."""

from dataclasses import dataclass, replace
from random import Random

from demo_world import encyclopedia
from demo_world.annotation import Annotation, annotate
from demo_world.encyclopedia import Fact
from demo_world.grammar import Speaker, detokenise, offsets, to_text
from demo_world.meaning import Clause, Thing, askable
from demo_world.paraphrases import changes, event, reword

ROLE_OF = {"subject": "ARG0", "object": "ARG1", "place": "ARGM-LOC", "time": "ARGM-TMP"}


@dataclass
class Passage:
    """Sentences, the questions that they answer, and similar questions without an answer."""

    title: str
    sentences: list[str]
    facts: list[Fact]
    unanswerable: list[str]

    @property
    def context(self) -> str:
        return " ".join(self.sentences)

    def answer_start(self, fact: Fact) -> int:
        preceding = self.sentences[: fact.sentence]
        return sum(len(sentence) + 1 for sentence in preceding) + fact.start


# An answer has none of these in front.
PREPOSITIONS = ("by", "on", "in", "at", "near")


def definite(clause: Clause) -> Clause:
    """Return the clause as a question takes it up: what was introduced with "a" or "some" is now
    known."""
    changed = replace(clause)
    for side in ("subject", "object", "recipient"):
        thing = getattr(clause, side)
        if isinstance(thing, Thing) and thing.det in ("a", "some"):
            setattr(changed, side, replace(thing, det="the"))
    return changed


def wh_question(rng: Random, clause: Clause, argument: str) -> str:
    """Ask about one argument of the clause; some details of the event may be left out."""
    event = replace(definite(clause), negated=False)
    if argument != "time" and rng.random() < 0.5:
        event.time = None
    if argument != "place" and rng.random() < 0.5:
        event.place = None
    speaker = Speaker(rng, 0.3)
    passive = argument in ("place", "time") and speaker.can_passive(event) and rng.random() < 0.3
    return to_text(speaker.question(event, argument, passive))


def news(rng: Random) -> Passage:
    """Generate several events with different verbs and subjects; every argument can be asked
    for."""
    passage = Passage("", [], [], [])
    clauses = draw_events(rng)
    for number, clause in enumerate(clauses):
        speaker = Speaker(rng, 0.2)
        passive = speaker.can_passive(clause) and rng.random() < 0.35
        tree = speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.4)
        sentence = annotate(tree, speaker)
        passage.sentences.append(detokenise(sentence.words))
        passage.facts += list_facts(rng, clause, sentence, number)
        question = draw_unanswerable(rng, clause)
        if question is not None:
            passage.unanswerable.append(question)
    passage.title = clauses[0].subject.concept.replace(" ", "_")
    return passage


def draw_events(rng: Random) -> list[Clause]:
    """Draw events whose verbs and subjects all differ."""
    clauses: list[Clause] = []
    while len(clauses) < rng.randrange(3, 6):
        clause = replace(event(rng, "tttti"), negated=False)
        verbs = {earlier.verb for earlier in clauses}
        subjects = {earlier.subject.concept for earlier in clauses}
        if clause.verb not in verbs and clause.subject.concept not in subjects:
            clauses.append(clause)
    return clauses


def list_facts(rng: Random, clause: Clause, sentence: Annotation, number: int) -> list[Fact]:
    """Ask for every argument of the clause; the answer is the argument's text in sentence
    `number`, without a preposition."""
    text, spans = detokenise(sentence.words), offsets(sentence.words)
    main = max(sentence.frames, key=lambda frame: frame.verb == clause.verb)
    facts = []
    for argument in askable(clause):
        for start, end, role, _, _ in main.arguments:
            if role != ROLE_OF[argument]:
                continue
            if sentence.words[start].lower() in PREPOSITIONS:
                start += 1
            first, last = spans[start][0], spans[end - 1][1]
            question = wh_question(rng, clause, argument)
            facts.append(Fact(number, question, text[first:last], first, argument))
            break
    return facts


def draw_unanswerable(rng: Random, clause: Clause) -> str | None:
    """Ask about an event that differs from the clause in one thing; return None if there is no
    such question."""
    kinds = ("roles", "verb", "object", "subject", "place")
    changed = [event for kind, event in changes(rng, clause).items() if kind in kinds]
    if not changed:
        return None
    event = rng.choice(changed)
    unchanged = [
        argument
        for argument in askable(event)
        if getattr(event, argument) == getattr(clause, argument)
    ]
    if not unchanged:
        return None
    event = replace(event, time=clause.time)
    return full_question(rng, event, rng.choice(unchanged))


def full_question(rng: Random, clause: Clause, argument: str) -> str:
    return to_text(Speaker(rng, 0.3).question(definite(clause), argument))


def passage(rng: Random) -> Passage:
    if rng.random() < 0.5:
        return news(rng)
    entry = encyclopedia.entry(rng)
    return Passage(entry.title, entry.sentences, entry.facts, entry.unanswerable)


def squad(rng: Random, questions: int, references: int) -> tuple[dict, dict]:
    """Generate SQuAD 1.1 and 2.0 of the same passages, with `questions` answerable questions. Each
    of these has `references` answers."""
    seen: set[str] = set()
    articles1, articles2 = [], []
    asked = 0
    while asked < questions:
        page = passage(rng)
        if page.context in seen:
            continue
        seen.add(page.context)
        facts = rng.sample(page.facts, min(len(page.facts), 4, questions - asked))
        asked += len(facts)
        answerable = [answerable_record(rng, page, fact, references) for fact in facts]
        most = max(1, len(facts) // 2)
        unanswerable = rng.sample(page.unanswerable, min(len(page.unanswerable), most))
        impossible = [
            {"question": question, "id": identity(rng), "answers": [], "is_impossible": True}
            for question in unanswerable
        ]
        articles1.append(article(page, answerable))
        possible = [record | {"is_impossible": False} for record in answerable]
        articles2.append(article(page, possible + impossible))
    return {"data": articles1, "version": "1.1"}, {"data": articles2, "version": "v2.0"}


def answerable_record(rng: Random, page: Passage, fact: Fact, references: int) -> dict:
    answer = {"answer_start": page.answer_start(fact), "text": fact.answer}
    return {
        "answers": variants(answer, references),
        "question": fact.question,
        "id": identity(rng),
    }


def article(page: Passage, records: list[dict]) -> dict:
    return {"title": page.title, "paragraphs": [{"context": page.context, "qas": records}]}


def variants(answer: dict, references: int) -> list[dict]:
    """Repeat the answer as several annotators mark it: the last one leaves the article out."""
    answers = [dict(answer) for _ in range(references)]
    first, _, rest = answer["text"].partition(" ")
    if references > 1 and rest and first in ("the", "a", "an", "The", "A", "An"):
        start = answer["answer_start"] + len(first) + 1
        answers[-1] = {"answer_start": start, "text": rest}
    return answers


def identity(rng: Random) -> str:
    return f"{rng.getrandbits(96):024x}"


def answerability(rng: Random, answers: bool) -> tuple[str, str]:
    """Generate a QNLI pair: a question and a sentence that answers it, or one about the same
    things that does not."""
    while True:
        if rng.random() < 0.4:
            page = encyclopedia.entry(rng)
            fact = rng.choice(page.facts)
            if answers:
                return fact.question, page.sentences[fact.sentence]
            other_sentences = [
                sentence
                for number, sentence in enumerate(page.sentences)
                if not answers_question(page, number, fact)
            ]
            return fact.question, rng.choice(other_sentences)
        clause = event(rng, "tttti")
        clause.negated = False
        argument = rng.choice(askable(clause))
        question = wh_question(rng, clause, argument)
        if answers:
            return question, reword(rng, clause)
        unrelated = change_unasked(rng, clause, argument)
        if unrelated:
            return question, reword(rng, rng.choice(unrelated))


def answers_question(page: encyclopedia.Entry, number: int, fact: Fact) -> bool:
    """Test whether sentence `number` answers the question of the fact."""
    answers = [same for same in page.facts if same.question == fact.question]
    return any(same.sentence == number and same.kind == fact.kind for same in answers)


def change_unasked(rng: Random, clause: Clause, argument: str) -> list[Clause]:
    """List events that resemble the clause but do not answer a question about its argument."""
    events = []
    if argument in ("place", "time"):
        events += [replace(clause, **{argument: None})] * 2
    relational = changes(rng, clause)
    events += [relational[kind] for kind in relational if kind in ("verb", "roles")]
    things = changes(rng, clause)
    unasked = {"subject", "object"} - {argument}
    events += [things[kind] for kind in things if kind in unasked]
    return events
