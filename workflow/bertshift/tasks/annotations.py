"""Tags and trees for running text, made by models that were fine-tuned on a treebank."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertshift.data.words import sentence_bounds, word_spans
from bertshift.errors import UserError
from bertshift.models.biaffine import DependencyParser
from bertshift.models.family import longest_input
from bertshift.models.heads import TokenClassifier, load_task_model
from bertshift.models.tokenizer import load_tokenizer
from bertshift.tasks.dependency_parsing import UNREAD, DependencyParsing
from bertshift.tasks.inference import best_device
from bertshift.tasks.tagging import Tagging

TEXTS = ("text_a", "text_b")
UNKNOWN = {"upos": "_", "heads": UNREAD[0], "deprels": UNREAD[1]}


def annotate(rows: Sequence[Mapping], tagger: Path, parser: Path) -> list[dict]:
    """Annotate each word of each stimulus: rows {"id", "text_a": {...}, perhaps "text_b": {...}}.

    A text is {"start", "end" (characters), "words", "upos", "heads" (a word of the text from 1; 0:
    root, -1: not read), "deprels"}, one entry a word (`word_spans`); sentences (`sentence_bounds`)
    are parsed one by one. `tagger` and `parser` are folders of fine-tuned models. UserError where
    one holds something else.
    """
    known = {text: _unread(text) for row in rows for text in _texts(row).values()}
    parts = [
        (one, slice(*bounds)) for one in known.values() for bounds in sentence_bounds(one["words"])
    ]
    sentences = [{key: one[key][part] for key in ("words", *UNKNOWN)} for one, part in parts]
    tags = _predicted(tagger, TokenClassifier, Tagging, sentences)
    parses = _predicted(parser, DependencyParser, DependencyParsing, sentences)
    for (one, part), upos, parse in zip(parts, tags, parses, strict=True):
        heads, deprels = zip(*parse.arcs, strict=True)
        heads = [head + part.start if head > 0 else head for head in heads]
        one["upos"][part], one["heads"][part], one["deprels"][part] = upos, heads, deprels
    return [
        {"id": row["id"]} | {key: known[text] for key, text in _texts(row).items()} for row in rows
    ]


def describe(folders: Iterable[Path], scores: Iterable[Mapping]) -> str:
    """Name annotators and dev scores: `upos init1_seed1 (accuracy 0.953), dep init1_seed1 (las_ud
    0.871)`."""
    return ", ".join(
        f"{folder.parent.name} {folder.name} ({each['metric']}"
        f" {each['scores'][each['metric']]:.3f})"
        for folder, each in zip(folders, scores, strict=True)
    )


def _texts(row: Mapping) -> dict[str, str]:
    return {part: row[part] for part in TEXTS if row.get(part) is not None}


def _unread(text: str) -> dict:
    """Cut a text into words of which nothing else is known yet."""
    spans = word_spans(text)
    places = {
        "start": [start for start, _ in spans],
        "end": [end for _, end in spans],
        "words": [text[slice(*span)] for span in spans],
    }
    return places | {key: [value] * len(spans) for key, value in UNKNOWN.items()}


def _predicted(folder: Path, kind: type, task: type, sentences: Sequence[dict]) -> list:
    model = load_task_model(folder).to(best_device())
    if not isinstance(model, kind):
        raise UserError(
            f"{folder} is a {type(model).__name__}, not a {kind.__name__}; under 'annotators' name"
            " a task of kind tags for tags and one of kind dependencies for trees."
        )
    applied = task(str(folder), "annotations", (), longest_input(model.encoder), model.labels)
    return applied.predict(model, sentences, load_tokenizer(folder))
