"""`python -m bertshift.page FOLDER`: the page of figures that lie in one folder as `<paper>_<item>.png` and `.tsv`, beside
their `claims.tsv` and `experiments.yaml`; it becomes `FOLDER/index.html`. For docs/real, with PYTHONPATH=workflow."""

import sys
from pathlib import Path

import pandas as pd
import yaml

from bertshift.config import load_config, merge, read_yaml
from bertshift.figures.numbers import VALUES
from bertshift.files import read_tsv, write_text
from bertshift.page import data
from bertshift.page.render import render
from bertshift.papers.catalogue import FIGURES, ROOMS
from bertshift.requests.figures import models_of

PACKAGE = Path(__file__).parents[1]


def page_of(folder: Path) -> str:
    """Of older tables as far as they go: without costs, and without the tables of two models."""
    root = PACKAGE.parents[1]
    # As --configfile takes it: only what differs from the shipped configuration.
    changed = read_yaml(folder / "experiments.yaml")
    config = load_config(merge(read_yaml(root / "config/experiments.yaml"), changed), root)
    published = {
        paper: yaml.safe_load((PACKAGE / f"papers/{paper}/published.yaml").read_text(encoding="utf-8"))
        for paper in ROOMS
    }
    figures = []
    for name, shown in FIGURES.items():
        paper, item = name.split("/")
        file = folder / f"{paper}_{item}"
        if file.with_suffix(".png").exists():
            listed = config["figures"].get(paper, {}).get(item)
            entry = {
                "name": name,
                "file": file.name,
                "endings": [
                    ending for ending in ("tsv", "pdf", "png") if file.with_suffix(f".{ending}").exists()
                ],
                "models": models_of(config, name) if listed else [],
                "tables": [],
                "options": ["--configfile", str(folder / "experiments.yaml")],
            }
            tsv = file.with_suffix(".tsv")
            table = read_tsv(tsv) if tsv.exists() else pd.DataFrame(columns=VALUES)
            figures.append(
                data.figure(entry, table, shown.shows, published, file.with_suffix(".png"), folder / "logs")
            )
    return render(data.page(figures, read_tsv(folder / "claims.tsv"), published, {}, {}))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_text(folder / "index.html", page_of(folder))
