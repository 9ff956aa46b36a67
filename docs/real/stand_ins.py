"""Make stand-ins for the fine-tuned runs of docs/real, whose weights were not kept, so that noise of their size can be measured.

A stand-in is the encoder with random weights added, in each layer as large as the recorded change
(`displacement` in results/steps), spread evenly over the layer's weights. It says nothing about
fine-tuning: only `<task>.noise` is made of it. In the project's folder, after `snakemake
results/pretrained/base/init1/model.safetensors` with the configuration of docs/real, and with the
tables of tables.zip below TABLES:

    PYTHONPATH=workflow python docs/real/stand_ins.py TABLES
    snakemake --touch results/models/mnli/init1_seed1/model.safetensors ...
    snakemake results/rsa/mnli.noise_vs_base.tsv ... --config noise="{draws: 1}"
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from bertshift.files import read_tsv, write_json, write_text
from bertshift.models.families import FAMILIES
from bertshift.models.loading import load_encoder, save_model
from bertshift.models.source import carry_source
from bertshift.models.tokenizer import load_tokenizer
from bertshift.models.weights import norms
from bertshift.seeds import seed_from

START = Path("results/pretrained/base/init1")
TASKS = ["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"]


@torch.no_grad()
def add_noise(model, sizes: pd.Series, seed: int) -> None:
    """Add noise of L2 norm `sizes[layer]` to each layer (0: the embeddings), the same for each of its weights."""
    weights = pd.Series(dict(model.named_parameters()))
    groups = weights.index.map(FAMILIES["bert"].group).str.replace("embeddings", "0")
    for layer, size in sizes.items():
        own = weights[groups == str(layer)]
        rng = np.random.default_rng(seed_from(seed, layer))
        noise = [rng.standard_normal(tuple(weight.shape)) for weight in own]
        factor = size / np.sqrt(sum((part**2).sum() for part in noise))
        for weight, part in zip(own, noise, strict=True):
            weight += torch.from_numpy(factor * part)


def scores_of(rows: pd.DataFrame) -> dict:
    """Make the part of scores.json that tells how a run was trained and whether it failed."""
    headline = rows[rows["headline"]].iloc[0]
    train, dev = headline["data"].split("; ")
    return {
        "metric": headline["metric"],
        "scores": dict(zip(rows["metric"], rows["value"], strict=True)),
        "majority": dict(zip(rows["metric"], rows["majority"], strict=True)),
        "rows": {"train": int(headline["train"]), "dev": int(headline["dev"])},
        "data": {"train": train, "dev": dev},
    }


def main(tables: Path) -> None:
    parents = pd.Series(norms(START))
    for task in TASKS:
        steps = read_tsv(tables / f"results/steps/{task}.tsv").query("variant == 'displacement'")
        scores = read_tsv(tables / f"results/scores/{task}.tsv")
        for seed, rows in scores.groupby("seed"):
            folder, model = Path(f"results/models/{task}/init1_seed{seed}"), load_encoder(START)
            sizes = steps[steps["seed"] == seed].set_index("layer")["value"] * parents
            add_noise(model, sizes, seed_from(task, seed))
            save_model(folder, model, load_tokenizer(START))
            carry_source(START, folder)
            about = scores_of(rows) | {
                "task": task,
                "dataset": task,
                "sampled": [],
                "epochs": 2,
                "loss": None,
            }
            write_json(folder / "scores.json", about)
            for name in ("predictions.tsv", "steps.tsv", "layers.tsv"):
                write_text(folder / name, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
