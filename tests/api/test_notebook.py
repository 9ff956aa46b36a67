"""docs/two_models.ipynb runs on any two models, and shows what it made of real ones."""

import json
import re

import pytest
import torch
from conftest import ROOT
from made_encoders import TEXTS, model_of, tokenizer_of
from transformers import BertForSequenceClassification

from bertshift.models.loading import save_model

TEXT = (ROOT / "docs/two_models.ipynb").read_text(encoding="utf-8")
CODE = [cell for cell in json.loads(TEXT)["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def named(tmp_path):
    """What the first cell of code names."""
    tokenizer = tokenizer_of("bert")
    base = model_of("bert", 0, vocab_size=len(tokenizer))
    save_model(tmp_path / "base", base, tokenizer)
    folders = [str(tmp_path / name) for name in ("one", "two", "three")]
    for seed, folder in enumerate(folders, 1):
        torch.manual_seed(seed)
        model = BertForSequenceClassification(base.config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        save_model(tmp_path / f"run/checkpoint-{seed}", model.bert, tokenizer)
    save_model(tmp_path / "other", model_of("roberta", 0), tokenizer_of("roberta"))
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    labels = "\n".join(str(number % 2) for number in range(len(TEXTS)))
    (tmp_path / "labels.txt").write_text(labels, encoding="utf-8")
    return {
        "FINE_TUNED": folders,
        "PRETRAINED": str(tmp_path / "base"),
        "TEXTS": str(tmp_path / "texts.txt"),
        "LABELS": str(tmp_path / "labels.txt"),
        "CHECKPOINTS": str(tmp_path / "run"),
        "OTHER": str(tmp_path / "other"),
    }


def test_every_cell_runs(named):
    first, *others = ("".join(cell["source"]) for cell in CODE)
    assert set(re.findall(r"^(\w+) =", first, re.MULTILINE)) == {*named}
    for source in others:
        exec(compile(source, "docs/two_models.ipynb", "exec"), named)
    assert not named["change"].left_out and named["change"].rows["seed"].nunique() == 3
    assert "accuracy_difference" in {*named["answers"].behaviour["measure"]}
    assert "js" in named["other"].left_out and len(named["other"].by_layer("cka"))
    assert "seeds" in named["change"].words and len(named["noise"].tests)
