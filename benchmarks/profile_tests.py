"""How often does one p for a profile err at 5 %, beside the simple rules? A table on stdout, in
per cent of studies; where nothing is to be found it should be 5.

Noise: the model is one more draw of noise of the same size, of a small BERT with random weights.
The simple rule asks whether some layer changed more than by each of 19 draws. Texts: two models'
states have nothing in common, but tokens of a text are alike; the simple rule gives single tokens
another order.

    PYTHONPATH=workflow python benchmarks/profile_tests.py [--studies N]
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

import bertshift
from bertshift.metrics import reordered
from bertshift.models.loading import save_model
from bertshift.rows import statistics

DRAWS = 19
POOL = 120  # draws of noise, of which each study takes DRAWS and one that is its model
TEXTS, TOKENS, WIDTH, LAYERS = 60, 8, 12, 6
WORDS = [f"w{number}" for number in range(60)]
MEASURES = {"rsa": reordered.rsa_in, "cka": reordered.cka_in, "svcca": reordered.svcca_in}


def draw_noise(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each measure, and the changes by noise [POOL, layers]."""
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = BertTokenizerFast(str(vocabulary))
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=LAYERS, num_attention_heads=2,
        intermediate_size=48,
    )  # fmt: skip
    for name in ("model", "reference"):
        torch.manual_seed(0)
        model = BertModel(config)
        if name == "model":
            with torch.no_grad():
                for weight in model.parameters():
                    weight += 0.01 * torch.randn(weight.shape)
        save_model(folder / name, model, tokenizer)
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, TOKENS)) for _ in range(TEXTS)]
    change = bertshift.compare(
        folder / "model", folder / "reference", texts, measures=["rsa", "cka", "js"],
        null="noise", draws=POOL, made=False,
    )  # fmt: skip
    noise = change.rows[(change.rows["model"] != change.model) & (change.rows["head"] == 0)]
    for measure in change.profile.index:
        variant = change.shown[measure].rows["variant"]
        rows = noise[(noise["metric"] == measure) & (noise["variant"] == variant)]
        values = rows.pivot(index="seed", columns="layer", values="value").to_numpy()
        yield measure, np.abs(1 - values if measure == "rsa" else values)


def test_noise(changes: np.ndarray, studies: int) -> tuple[float, float]:
    """Count studies in which noise is found to be more than noise: by ours, by the simple rule."""
    generator = np.random.default_rng(1)
    found = []
    for _ in range(studies):
        study = changes[generator.choice(len(changes), DRAWS + 1, replace=False)]
        means = study.mean(axis=0)
        ours = statistics.by_largest(study / np.where(means > 0, means, 1)).min()
        found.append((ours <= 1 / (DRAWS + 1), (study[0] > study[1:].max(axis=0)).any()))
    return tuple(100 * np.mean(found, axis=0))


def draw_states(generator: np.random.Generator) -> np.ndarray:
    """Draw states [layers, tokens, width] that have a part of each text and of the layer below."""
    shape = (LAYERS, TEXTS, TOKENS, WIDTH)
    states = generator.normal(size=shape) + 2 * generator.normal(size=(*shape[:2], 1, WIDTH))
    return states.cumsum(axis=0).reshape(LAYERS, TEXTS * TOKENS, WIDTH)


def test_orders(measure: str, studies: int) -> tuple[float, float]:
    """Count studies in which unrelated states are found alike: by ours, by the simple rule."""
    found = []
    for number in range(studies):
        generator = np.random.default_rng(number)
        x, y = draw_states(generator), draw_states(generator)
        text_of = np.repeat(np.arange(TEXTS), TOKENS)
        of_texts = reordered.orders_of(text_of, DRAWS, str(number))
        of_tokens = [generator.permutation(len(text_of)) for _ in range(DRAWS)]
        found.append([_is_alike(measure, x, y, orders) for orders in (of_texts, of_tokens)])
    return tuple(100 * np.mean(found, axis=0))


def _is_alike(measure: str, x: np.ndarray, y: np.ndarray, orders: list[np.ndarray]) -> bool:
    own = np.arange(x.shape[1])
    values = np.transpose([MEASURES[measure](a, b, [own, *orders]) for a, b in zip(x, y)])
    standardised = (values - values.mean(axis=0)) / values.std(axis=0)
    return statistics.by_largest(standardised).min() <= 1 / (DRAWS + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for measure, changes in draw_noise(Path(folder)):
            rows.append(("noise", measure, *test_noise(changes, studies)))
    rows += [("texts", measure, *test_orders(measure, studies)) for measure in MEASURES]
    table = pd.DataFrame(rows, columns=["null", "measure", "ours", "simple rule"])
    print(table.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
