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
    analyses = {}
    for row in rows:
        for text in _list_texts(row).values():
            analyses[text] = _split_words(text)
    parts, sentences = [], []
    for analysis in analyses.values():
        for bounds in sentence_bounds(analysis["words"]):
            words = slice(*bounds)
            parts.append((analysis, words))
            sentences.append({key: analysis[key][words] for key in ("words", *UNKNOWN)})
    tags = _predict(tagger, TokenClassifier, Tagging, sentences)
    parses = _predict(parser, DependencyParser, DependencyParsing, sentences)
    for (analysis, words), upos, parse in zip(parts, tags, parses, strict=True):
        analysis["upos"][words] = upos
        analysis["heads"][words] = [
            head + words.start if head > 0 else head for head, _ in parse.arcs
        ]
        analysis["deprels"][words] = [label for _, label in parse.arcs]
    annotated = []
    for row in rows:
        of_texts = {key: analyses[text] for key, text in _list_texts(row).items()}
        annotated.append({"id": row["id"], **of_texts})
    return annotated


def describe(folders: Iterable[Path], scores: Iterable[Mapping]) -> str:
    """Name annotators and dev scores: `upos init1_seed1 (accuracy 0.953), dep init1_seed1 (las_ud
    0.871)`."""
    descriptions = []
    for folder, record in zip(folders, scores, strict=True):
        metric = record["metric"]
        score = record["scores"][metric]
        descriptions.append(f"{folder.parent.name} {folder.name} ({metric} {score:.3f})")
    return ", ".join(descriptions)


def _list_texts(row: Mapping) -> dict[str, str]:
    return {part: row[part] for part in TEXTS if row.get(part) is not None}


def _split_words(text: str) -> dict:
    """Split a text into words, whose tags and heads are still unknown."""
    spans = word_spans(text)
    return {
        "start": [start for start, _ in spans],
        "end": [end for _, end in spans],
        "words": [text[start:end] for start, end in spans],
        **{key: [value] * len(spans) for key, value in UNKNOWN.items()},
    }


def _predict(folder: Path, kind: type, task: type, sentences: Sequence[dict]) -> list:
    model = load_task_model(folder).to(best_device())
    if not isinstance(model, kind):
        raise UserError(
            f"{folder} is a {type(model).__name__}, not a {kind.__name__}; under 'annotators' name"
            " a task of kind tags for tags and one of kind dependencies for trees."
        )
    annotator = task(str(folder), "annotations", (), longest_input(model.encoder), model.labels)
    return annotator.predict(model, sentences, load_tokenizer(folder))
