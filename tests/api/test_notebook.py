"""docs/two_models.ipynb runs on any two models, and shows what it made of real ones."""

import json
import re

import pytest
from conftest import ROOT
from made_encoders import TEXTS, model_of, tokenizer_of

from bertshift.models.loading import save_model

TEXT = (ROOT / "docs/two_models.ipynb").read_text(encoding="utf-8")
CODE = [cell for cell in json.loads(TEXT)["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def named(tmp_path):
    """What the first cell of code names."""
    tokenizer = tokenizer_of("bert")
    for seed, name in enumerate(("one", "two", "three", "base")):
        save_model(tmp_path / name, model_of("bert", seed, vocab_size=len(tokenizer)), tokenizer)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    folders = [str(tmp_path / name) for name in ("one", "two", "three")]
    return {
        "FINE_TUNED": folders,
        "PRETRAINED": str(tmp_path / "base"),
        "TEXTS": str(tmp_path / "texts.txt"),
    }


def test_every_cell_runs(named):
    first, *others = ("".join(cell["source"]) for cell in CODE)
    assert set(re.findall(r"^(\w+) =", first, re.MULTILINE)) == {*named}
    for source in others:
        exec(compile(source, "docs/two_models.ipynb", "exec"), named)
    assert not named["change"].left_out and named["change"].rows["seed"].nunique() == 3
