"""The page as text, from the files that a request names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from bertshift.files import read_json, read_tsv
from bertshift.page import data
from bertshift.page.pairs import pairs
from bertshift.page.render import render
from bertshift.rows.table import Table


def make(
    entries: Sequence[Mapping], files: Mapping[str, str | Sequence[str]], run: Path = Path()
) -> str:
    """Make the page. `entries` and `files` are settings and inputs of the rule `gallery`; `run` is
    the folder that has `results/` and `logs/`."""
    published = {}
    for file in files["published"]:
        values = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        published[values["paper"]["key"]] = values
    figures = []
    for entry, table, caption, image in zip(
        entries, files["figures"], files["captions"], files["images"], strict=True
    ):
        rows = read_tsv(run / table)
        text = (run / caption).read_text(encoding="utf-8")
        figures.append(data.figure(entry, rows, text, published, run / image, run / "logs"))
    claims = read_tsv(run / files["claims"])
    tables = {path: Table.read(run / path) for path in files["tables"]}
    examples = {Path(file).stem: read_json(run / file) for file in files["examples"]}
    return render(data.page(figures, claims, published, pairs(tables), examples))
