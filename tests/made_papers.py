"""Tables of every figure: those of the archived real run, or the same stretched to more layers,
runs and states."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from bertshift.config import load_config, read_yaml
from bertshift.files import read_tsv
from bertshift.naming import is_of_null
from bertshift.papers import catalogue
from bertshift.release import redraw

ROOT = Path(__file__).parents[1]
REAL = [str(ROOT / "docs/real" / name) for name in ("tables.zip", "nulls.zip", "later.zip")]
HEADS = {
    "figure6": "figure5",
    "figure8": "figure7",
    "figure10": "figure9",
}  # not in the archive: drawn of another task


@cache
def shipped(scale="demo"):
    """The configuration as shipped."""
    return load_config(read_yaml(ROOT / "config/experiments.yaml") | {"scale": scale}, ROOT)


@cache
def unpacked():
    """(configuration, folder) of the real run's tables. The folder goes with the process."""
    folder = TemporaryDirectory()
    config = redraw.prepare(REAL[0], Path(folder.name), {}, more=REAL[1:])
    college = config["figures"]["college2020"]
    college |= {item: college[other] for item, other in HEADS.items()}
    return config, folder


@cache
def _table(path):
    _, folder = unpacked()
    return read_tsv(Path(folder.name) / path)


def needs(name, item=""):
    """The paths of figure `name` of the real run, or of these models of it alone, without noise
    that it lacks."""
    config, folder = unpacked()
    return [
        path
        for path in catalogue.needs(name, config)
        if item in path and ((Path(folder.name) / path).is_file() or not is_of_null(path))
    ]


def real(name, item=""):
    """{path: table} of figure `name` of the real run; whoever asks may change them."""
    return {path: _table(path).copy() for path in needs(name, item)}


def stretched(name, item="", inits=3, checkpoint=None):
    """{path: table} of figure `name`: twice the layers of the real run, and so many times its
    runs, all trained."""
    made = {}
    for path, table in real(name, item).items():
        table = pd.concat(_of_init(table, init) for init in range(1, inits + 1)).reset_index(
            drop=True
        )
        if not path.startswith(("results/grounding/", "results/forgetting/")):
            table = deeper(path, table)
        failures = {column: False for column in ("failed", "ref_failed") if column in table}
        made[path] = table.assign(scale="paper", **failures)
        if checkpoint:
            made[path]["checkpoint"] = checkpoint
    return made


def _of_init(table, init):
    """The runs on another pretraining run, whose values are a little lower."""
    numbers = {column: init for column in ("init", "ref_init") if column in table}
    names = f"google/multiberts-seed_{init - 1}@1234567"
    return table.assign(
        value=table["value"] * (1 - 0.002 * (init - 1)), checkpoint=names, **numbers
    )


def deeper(path, table):
    """Layer k becomes layers 2k - 1 and 2k; so do the numbers of frozen, kept and drawn layers."""
    if "position" in table:
        layers = table["layers"].iloc[0]
        first = 0 if ".freeze" in path else 1
        return _twice(table.assign(layers=2 * layers), ["position"], first, layers + first)
    if "layer" not in table:
        return table
    if table["metric"].iloc[0] == "layer_cka":
        return _twice(_twice(table, ["layer"]), ["ref_layer"])
    return _twice(table, [column for column in ("layer", "ref_layer") if column in table])


def _twice(table, columns, first=1, end=np.inf):
    """Numbers from `first` on stand for two, but for those from `end` on."""
    value = table[columns[0]]
    below, split = value < first, (value >= first) & (value < end)
    lower = {name: table[name].where(below, 2 * table[name] - first) for name in columns}
    upper = {name: 2 * table[name][split] - first + 1 for name in columns}
    return pd.concat([table.assign(**lower), table[split].assign(**upper)], ignore_index=True)


def configuration(*names):
    """The real run's configuration, with figures `names` alone, each of model MNLI alone, if any
    are named."""
    config, _ = unpacked()
    if not names:
        return config
    real_figures = config["figures"]
    figures = {paper: {item: None for item in items} for paper, items in real_figures.items()}
    for paper, item in (name.split("/") for name in names):
        figures[paper][item] = real_figures[paper][item] | {"models": ["mnli"]}
    return config | {"figures": figures}
