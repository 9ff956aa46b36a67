import base64
import zlib

import numpy as np
import pytest
from made_papers import ROOT, configuration, real
from made_tables import measured
from PIL import Image

from bertshift.files import read_tsv
from bertshift.measures import MEASURES
from bertshift.page import data
from bertshift.page.pairs import pairs
from bertshift.requests import figures

REAL = ROOT / "docs/real"

# Maps of heads, curves beside published ones, a curve with a null, scores of replicates, another
# family.
NAMES = ["kovaleva2019/figure2", "kovaleva2019/figure5", "kovaleva2019/figure3", "college2020/figure3", "hao2020/figure2",
         "hao2020/figure5", "merchant2020/figure2", "beyond/encoders"]  # fmt: skip
LAYERS, HEADS = 6, 12
SENTENCE = ["[CLS]", "he", "was", "<b>becoming</b>", "agitated", ".", "[SEP]"]


class Made:
    """Figures and tables of the real run, with white pictures."""

    def __init__(self, folder, published):
        self.folder, self.published, config = folder, published, configuration()
        self.figures, self.tables = [], {}
        for name in NAMES:
            tables = real(name)
            (folder / name).parent.mkdir(exist_ok=True)
            Image.new("RGB", (40, 30), "white").save(folder / f"{name}.png")
            entry = {
                "name": name,
                "models": figures.models_of(config, name),
                "tables": list(tables),
            }
            caption = (REAL / f"{name}.txt").read_text(encoding="utf-8")
            self.figures.append((entry, read_tsv(REAL / f"{name}.tsv"), caption))
            self.tables |= {
                path: one
                for path, one in tables.items()
                if MEASURES[figures.measure_of(path)].is_on_page
            }
        claims = read_tsv(REAL / "claims.tsv")
        is_drawn = (claims["paper"] + "/" + claims["figure"]).isin(NAMES)
        self.claims = claims[is_drawn].reset_index(drop=True)

    def data(self):
        drawn = []
        for entry, table, caption in self.figures:
            image = self.folder / f"{entry['name']}.png"
            drawn.append(data.figure(entry, table, caption, self.published, image, self.folder))
        examples = {"mnli": example("mnli", "base")}
        return data.page(
            drawn, self.claims, self.published, pairs(measured(self.tables)), examples
        )

    def table(self, name):
        return next(table for entry, table, _ in self.figures if entry["name"] == name)


def example(model, parent):
    """Make the content of results/examples/<model>.json.
    Before, every query looks at the first token; after, at token layer + head, counted from 0."""
    tokens = len(SENTENCE)
    maps = np.zeros((2, LAYERS, HEADS, tokens, tokens), np.uint8)
    for layer in range(LAYERS):
        for head in range(HEADS):
            maps[0, layer, head, :, 0] = 255  # before, to the first token
            maps[1, layer, head, :, (layer + head) % tokens] = 204
    before, after = (base64.b64encode(zlib.compress(one.tobytes())).decode() for one in maps)
    shape = {"layers": LAYERS, "heads": HEADS}
    return {"model": model, "parent": parent, "run": "init1_seed1", "causal": False, "inputs": [{"tokens": SENTENCE, "before": before, "after": after, "text": "He was", "cut": True, **shape}]}  # fmt: skip


@pytest.fixture(scope="session")
def made_page(tmp_path_factory, published):
    return Made(tmp_path_factory.mktemp("figures"), published)


@pytest.fixture(scope="session")
def page_data(made_page):
    return made_page.data()
