import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bertshift.data.text_file import is_text, read_text
from bertshift.errors import UserError

_NAMES = {str: "text", int: "a whole number", bool: "true or false"}


def read(path: Path, spec: Mapping) -> tuple[list[dict], Counter]:
    """Read the questions of a SQuAD 1.1 or 2.0 file, and count the answers moved or lost; see
    `example`.

    UserError for a file that is cut off or not in SQuAD's form.
    """
    try:
        articles = json.loads(read_text(path))["data"]
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno} is not valid JSON ({error.msg}); "
            "the file is cut off or damaged: correct it or fetch it again."
        ) from None
    except (KeyError, TypeError):
        raise UserError(
            f"{path} has no top-level key 'data'; give a file in SQuAD's own JSON form."
        ) from None
    rows, counts = [], Counter()
    try:
        for number, fields in enumerate(_list_questions(articles), 1):
            row = example(fields, counts, f"{path}, question {number}")
            if row is not None:
                rows.append(row)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}, after question {len(rows)}: not in SQuAD's JSON form "
            f"({type(error).__name__}: {error}); correct the file or fetch it again."
        ) from None
    return rows, counts


def _list_questions(articles: list) -> Iterator[dict]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield {
                    "id": question["id"],
                    "question": question["question"],
                    "context": paragraph["context"],
                    "answers": [
                        (answer["text"], answer["answer_start"]) for answer in question["answers"]
                    ],
                    "impossible": question.get("is_impossible", False),
                }


def example(fields: Mapping, counts: Counter, where: str) -> dict | None:
    """Make one row {id, question, context, answers, impossible}; `fields["answers"]` holds pairs
    (text, start).

    The context has every answer of the row at its start. An answer at another start is moved to
    the nearest occurrence of its text; an answer that does not occur is dropped. A question that
    keeps no answer but is not marked impossible is dropped too (returns None). `counts` counts
    each of these cases. UserError, which begins with `where`, for a value of another type.
    """
    if fault := _find_fault(fields):
        raise UserError(f"{where}: {fault}; correct the file or fetch it again.")
    context, answers = fields["context"], []
    for text, start in fields["answers"]:
        nearest = _find_nearest(context, text, start)
        if nearest is None:
            counts["answers not in their context"] += 1
            continue
        counts["answers moved to where their text is"] += nearest != start
        answers.append({"text": text, "start": nearest})
    if not answers and not fields["impossible"]:
        counts["questions dropped for want of an answer"] += 1
        return None
    return {
        **{key: fields[key] for key in ("id", "question", "context")},
        "answers": answers,
        "impossible": fields["impossible"],
    }


def _find_fault(fields: Mapping) -> str | None:
    """Describe a value of a question whose type is not SQuAD's, or return None."""
    values = [
        ("id", fields["id"], int if type(fields["id"]) is int else str),
        ("question", fields["question"], str),
        ("context", fields["context"], str),
        ("is_impossible", fields["impossible"], bool),
    ]
    for text, start in fields["answers"]:
        values += [("answer's text", text, str), ("answer_start", start, int)]
    for key, value, expected in values:
        valid = is_text(value) if expected is str else type(value) is expected
        if not valid:
            shown = textwrap.shorten(json.dumps(value), 60)
            return f"its {key} is {shown}, which is not {_NAMES[expected]}"
    return None


def _find_nearest(context: str, text: str, start: int) -> int | None:
    if not text:
        return None
    if 0 <= start and context.startswith(text, start):
        return start
    starts = [index for index in range(len(context)) if context.startswith(text, index)]
    return min(starts, key=lambda index: abs(index - start), default=None)
