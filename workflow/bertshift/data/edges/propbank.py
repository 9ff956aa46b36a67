from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bertshift.data.edges import skeletons
from bertshift.data.edges.brackets import constituent_targets, frame_targets, tag_targets
from bertshift.data.edges.records import Split, record
from bertshift.data.text_file import numbered_blocks, read_lines
from bertshift.errors import UserError

COLUMNS = 7  # at least


def read(task: str, files: Mapping[str, Path]) -> dict[str, Split]:
    """Read the tags, constituents or arguments that PropBank gives the English Web Treebank.

    files["skeletons"] is an archive of PropBank's release, in which words are blanked.
    files["train"], "dev" and "test" are UD's CoNLL-U files, which have the words. Without
    skeletons these three hold both joined, in columns separated by tabs: sentence id, index, word,
    tag, parse bit, lemma, roleset, one for each frame.
    """
    documents = skeletons.read_documents(files["skeletons"]) if "skeletons" in files else None
    return {
        split: _read_split(task, path, documents)
        for split, path in files.items()
        if split != "skeletons"
    }


def _read_split(task: str, path: Path, documents: Mapping | None) -> Split:
    records, source, irregular = [], Counter(), Counter()
    if documents is None:
        sentences = _read_sentences(path)
    else:
        sentences = skeletons.join(path, documents, irregular)
    for where, rows in sentences:
        ids, _, words, tags, bits, _, _, *frames = zip(*rows, strict=True)
        source.update(sentences=1, tokens=len(words))
        if task == "srl":
            target_lists = frame_targets(frames, where, irregular)
            source["frames"] += len(target_lists)
        elif task == "pos":
            target_lists = [tag_targets(tags)]
        else:
            target_lists = [constituent_targets(bits, where)]
        for targets in target_lists:
            records.append(record(task, where, words, targets, sentence=ids[0]))
    return Split(records, source, irregular)


def _read_sentences(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    for first, lines in numbered_blocks(read_lines(path)):
        rows = [line.split("\t") for line in lines]
        sentence = rows[0][0]
        width = max(len(rows[0]), COLUMNS)
        for index, row in enumerate(rows):
            if row[:2] != [sentence, str(index)] or len(row) != width:
                raise UserError(
                    f"{path}:{first + index} is not word {index} of the sentence {sentence}"
                    f" in {width} columns; fetch the file again."
                )
        yield f"{path}:{first}", rows
