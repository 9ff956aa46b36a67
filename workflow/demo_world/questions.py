"""Passages with questions (SQuAD) and question-sentence pairs (QNLI)."""

from dataclasses import dataclass, replace
from random import Random

from demo_world import encyclopedia
from demo_world.annotation import annotate
from demo_world.encyclopedia import Fact
from demo_world.grammar import Speaker, detokenise, offsets, text_of
from demo_world.meaning import Clause, Thing
from demo_world.paraphrases import changes, event, reword

ROLE_OF = {"subject": "ARG0", "object": "ARG1", "place": "ARGM-LOC", "time": "ARGM-TMP"}


@dataclass
class Passage:
    """Sentences, what can be asked about them, and questions that look as if they could be but
    cannot be answered."""

    title: str
    sentences: list[str]
    facts: list[Fact]
    unanswerable: list[str]

    @property
    def context(self) -> str:
        return " ".join(self.sentences)

    def answer_start(self, fact: Fact) -> int:
        return sum(len(s) + 1 for s in self.sentences[: fact.sentence]) + fact.start


def definite(clause: Clause) -> Clause:
    """Return the clause as a question takes it up: what was introduced with "a" or "some" is now
    known."""
    changed = replace(clause)
    for side in ("subject", "object", "recipient"):
        thing = getattr(clause, side)
        if isinstance(thing, Thing) and thing.det in ("a", "some"):
            setattr(changed, side, replace(thing, det="the"))
    return changed


def askable(clause: Clause) -> list[str]:
    found = ["subject"]
    if isinstance(clause.object, Thing) and not clause.recipient:
        found.append("object")
    return found + (["place"] if clause.place else []) + (["time"] if clause.time else [])


def wh_question(rng: Random, clause: Clause, asked: str) -> str:
    """Ask about one argument of the clause; some details of the event may be left out."""
    known = replace(definite(clause), negated=False)
    if asked != "time" and rng.random() < 0.5:
        known.time = None
    if asked != "place" and rng.random() < 0.5:
        known.place = None
    speaker = Speaker(rng, 0.3)
    passive = asked in ("place", "time") and speaker.can_passive(known) and rng.random() < 0.3
    return text_of(speaker.question(known, asked, passive))


def news(rng: Random) -> Passage:
    """Generate several events with different verbs and subjects; every argument can be asked
    for."""
    passage = Passage("", [], [], [])
    clauses: list[Clause] = []
    while len(clauses) < rng.randrange(3, 6):
        clause = replace(event(rng, "tttti"), negated=False)
        if all(
            clause.verb != other.verb and clause.subject.concept != other.subject.concept
            for other in clauses
        ):
            clauses.append(clause)
    for number, clause in enumerate(clauses):
        speaker = Speaker(rng, 0.2)
        passive = speaker.can_passive(clause) and rng.random() < 0.35
        tree = speaker.sentence(clause, passive=passive, time_first=rng.random() < 0.4)
        found = annotate(tree, speaker)
        passage.sentences.append(detokenise(found.words))
        spans = offsets(found.words)
        main = max(found.frames, key=lambda frame: frame.verb == clause.verb)
        for asked in askable(clause):
            for start, end, role, _, _ in main.arguments:
                if role != ROLE_OF[asked]:
                    continue
                if (
                    found.words[start].lower() in ("by", "on", "in", "at", "near")
                    and asked != "place"
                    or (
                        asked == "place"
                        and found.words[start].lower() in ("in", "at", "on", "near")
                    )
                ):
                    start += 1
                answer = passage.sentences[-1][spans[start][0] : spans[end - 1][1]]
                passage.facts.append(
                    Fact(number, wh_question(rng, clause, asked), answer, spans[start][0], asked)
                )
                break
        found_changes = [
            v
            for k, v in changes(rng, clause).items()
            if k in ("roles", "verb", "object", "subject", "place")
        ]
        if found_changes:
            other = rng.choice(found_changes)
            kinds = [k for k in askable(other) if getattr(other, k) == getattr(clause, k)]
            if kinds:
                known = replace(other, time=clause.time)
                passage.unanswerable.append(full_question(rng, known, rng.choice(kinds)))
    passage.title = clauses[0].subject.concept.replace(" ", "_")
    return passage


def full_question(rng: Random, clause: Clause, asked: str) -> str:
    return text_of(Speaker(rng, 0.3).question(definite(clause), asked))


def passage(rng: Random) -> Passage:
    if rng.random() < 0.5:
        return news(rng)
    entry = encyclopedia.entry(rng)
    return Passage(entry.title, entry.sentences, entry.facts, entry.unanswerable)


def squad(rng: Random, questions: int, references: int) -> tuple[dict, dict]:
    """Generate SQuAD 1.1 and 2.0 of the same passages, with `questions` answerable questions. Each
    of these has `references` answers."""
    seen: set[str] = set()
    first, second, asked = [], [], 0
    while asked < questions:
        page = passage(rng)
        if page.context in seen:
            continue
        seen.add(page.context)
        facts = rng.sample(page.facts, min(len(page.facts), 4, questions - asked))
        asked += len(facts)
        answerable, impossible = [], []
        for fact in facts:
            answer = {"answer_start": page.answer_start(fact), "text": fact.answer}
            answerable.append(
                {
                    "answers": variants(answer, references),
                    "question": fact.question,
                    "id": identity(rng),
                }
            )
        for question in rng.sample(
            page.unanswerable, min(len(page.unanswerable), max(1, len(facts) // 2))
        ):
            impossible.append(
                {"question": question, "id": identity(rng), "answers": [], "is_impossible": True}
            )
        paragraph = {"context": page.context, "qas": answerable}
        first.append({"title": page.title, "paragraphs": [paragraph]})
        both = [qa | {"is_impossible": False} for qa in answerable] + impossible
        second.append(
            {"title": page.title, "paragraphs": [{"context": page.context, "qas": both}]}
        )
    return {"data": first, "version": "1.1"}, {"data": second, "version": "v2.0"}


def variants(answer: dict, references: int) -> list[dict]:
    """Repeat the answer as several annotators mark it: the last one leaves the article out."""
    result = [dict(answer) for _ in range(references)]
    text = answer["text"]
    for article in ("the ", "a ", "an ", "The ", "A ", "An "):
        if references > 1 and text.startswith(article):
            result[-1] = {
                "answer_start": answer["answer_start"] + len(article),
                "text": text[len(article) :],
            }
    return result


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
            others = [i for i in range(len(page.sentences)) if i != fact.sentence]
            others = [
                i
                for i in others
                if not any(
                    f.sentence == i and f.kind == fact.kind and f.question == fact.question
                    for f in page.facts
                )
            ]
            return fact.question, page.sentences[rng.choice(others)]
        clause = event(rng, "tttti")
        clause.negated = False
        asked = rng.choice(askable(clause))
        question = wh_question(rng, clause, asked)
        if answers:
            return question, reword(rng, clause)
        options = []
        if asked in ("place", "time"):
            options += [replace(clause, **{asked: None})] * 2
        options += [v for k, v in changes(rng, clause).items() if k in ("verb", "roles")]
        options += [
            v for k, v in changes(rng, clause).items() if k in ("subject", "object") and k != asked
        ]
        if options:
            return question, reword(rng, rng.choice(options))
