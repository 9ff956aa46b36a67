"""Corpora to pretrain on: documents of sentences."""

from pathlib import Path

from bertshift.data.text_file import read_lines
from bertshift.errors import UserError


def read_documents(path: Path) -> list[list[str]]:
    """Read the documents of a corpus file: one sentence a line, blank lines between documents."""
    documents: list[list[str]] = [[]]
    try:
        for line in read_lines(path):
            if sentence := line.strip():
                documents[-1].append(sentence)
            elif documents[-1]:
                documents.append([])
    except FileNotFoundError:
        raise UserError(
            f"there is no corpus {path}; name a text file with one sentence a line and blank lines"
            " between documents."
        ) from None
    documents = [document for document in documents if document]
    if not documents:
        raise UserError(
            f"the corpus {path} is empty; it needs one sentence a line, blank lines between"
            " documents."
        )
    return documents
