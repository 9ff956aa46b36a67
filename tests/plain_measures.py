"""The measures once more, written from the papers' equations: plain numpy on what transformers
alone computes, one input at a time. Nothing of the library is used but its draw of tokens. For
finished results of any size:

    PYTHONPATH=workflow python tests/plain_measures.py RESULTS MODEL '{task: 277, tokens: 5000, ...}'
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml
from transformers import AutoModel, AutoTokenizer

from bertshift.activations.sampling import sample_tokens


@dataclass
class Encoded:
    """states [layers + 1][tokens, width] of all inputs in turn; maps
    [inputs][layers, heads, n, n]; special [tokens]."""

    states: list[np.ndarray]
    maps: list[np.ndarray]
    special: np.ndarray

    @classmethod
    def of(cls, checkpoint: Path, texts: Path, longest: int) -> "Encoded":
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        model = AutoModel.from_pretrained(checkpoint, attn_implementation="eager").eval()
        states, maps, special = [], [], []
        for line in texts.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            parts = [row[side] for side in ("text_a", "text_b") if row.get(side)]
            ids = tokenizer(
                *parts,
                truncation=True,
                max_length=longest,
                return_tensors="pt",
                return_special_tokens_mask=True,
            )
            special += ids.pop("special_tokens_mask")[0].bool().tolist()
            with torch.no_grad():
                out = model(**ids, output_hidden_states=True, output_attentions=True)
            states.append(np.stack([layer[0].double().numpy() for layer in out.hidden_states]))
            maps.append(np.stack([layer[0].double().numpy() for layer in out.attentions]))
        return cls(list(np.concatenate(states, axis=1)), maps, np.array(special))


def cosine(x: Encoded, y: Encoded) -> np.ndarray:
    """[layers, heads] mean over inputs of the cosine of flattened maps (Kovaleva et al. 2019,
    section 4.3)."""
    each = [
        (a * b).sum((2, 3)) / np.sqrt((a**2).sum((2, 3)) * (b**2).sum((2, 3)))
        for a, b in zip(x.maps, y.maps)
    ]
    return np.mean(each, axis=0)


def jensen_shannon(x: Encoded, y: Encoded) -> np.ndarray:
    """[layers, heads] mean over inputs of the mean over queries, in nats (Hao et al. 2020, section
    3)."""

    def divergence(p, q):
        return np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p / q, 1)), 0), axis=-1)

    each = []
    for p, q in zip(x.maps, y.maps):
        middle = (p + q) / 2
        each.append((divergence(p, middle) + divergence(q, middle)).mean(-1) / 2)
    return np.mean(each, axis=0)


def rsa(x: Encoded, y: Encoded, tokens: int, stimuli: str) -> np.ndarray:
    """[layers + 1] Pearson's correlation of cosine similarities of all pairs of tokens (Merchant
    et al. 2020, section 5.1)."""
    drawn = sample_tokens(x.special, tokens, "rsa", stimuli, "content", special=False)
    upper = np.triu_indices(len(drawn), 1)

    def similarities(states):
        unit = states[drawn] / np.linalg.norm(states[drawn], axis=1, keepdims=True)
        return (unit @ unit.T)[upper]

    return np.array(
        [np.corrcoef(similarities(a), similarities(b))[0, 1] for a, b in zip(x.states, y.states)]
    )


def svcca(x: Encoded, y: Encoded, tokens: int, stimuli: str) -> np.ndarray:
    """[layers + 1] 1 - the mean canonical correlation of the directions with 99 % of the variance
    (Raghu et al. 2017)."""
    drawn = sample_tokens(x.special, tokens, "svcca", stimuli)

    def directions(states):
        centred = states[drawn] - states[drawn].mean(0)
        u, s, _ = np.linalg.svd(centred, full_matrices=False)
        return u[:, : np.argmax(np.cumsum(s**2) >= 0.99 * np.sum(s**2)) + 1]

    pairs = ((directions(a), directions(b)) for a, b in zip(x.states, y.states))
    return np.array([1 - np.linalg.svd(a.T @ b, compute_uv=False).mean() for a, b in pairs])


def cka(x: Encoded, y: Encoded, tokens: int, stimuli: str) -> np.ndarray:
    """[layers + 1] 1 - CKA by Gram matrices, unbiased (Song et al. 2012)."""
    drawn = sample_tokens(x.special, tokens, "svcca", stimuli)
    n = len(drawn)

    def hsic(k, l):
        k, l = (m - np.diag(np.diag(m)) for m in (k, l))
        traces = np.sum(k * l) + k.sum() * l.sum() / ((n - 1) * (n - 2))
        return (traces - 2 / (n - 2) * k.sum(0) @ l.sum(0)) / (n * (n - 3))

    found = []
    for a, b in zip(x.states, y.states):
        k, l = a[drawn] @ a[drawn].T, b[drawn] @ b[drawn].T
        found.append(1 - hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l)))
    return np.array(found)


def beside(results: Path, model: str, samples: Mapping) -> pd.DataFrame:
    """Columns measure, seed, ours, plain, in the order of layers and heads: of every seed of a
    model beside its first checkpoint.

    samples: of the configuration that made `results`.
    """
    many, few = samples["svcca_tokens"], samples["tokens"]
    # {measure: (table, its rows, inputs, values)}
    measures = {
        "cosine": ("cosine", "variant == 'crop' and head > 0", model, cosine),
        "js": ("js", "variant == 'nats' and head > 0", model, jensen_shannon),
        "svcca": (
            "svcca",
            "variant == 'svcca99'",
            model,
            partial(svcca, tokens=many, stimuli=model),
        ),
        "cka": (
            "similarity",
            "variant == 'cka_debiased' and tokens == 'all'",
            model,
            partial(cka, tokens=many, stimuli=model),
        ),
        "rsa": ("rsa", "variant == 'content'", "wiki", partial(rsa, tokens=few, stimuli="wiki")),
    }

    def encoder(folder: Path) -> Callable[[str], Encoded]:
        def encode(stimuli: str) -> Encoded:
            texts = results / f"stimuli/{stimuli}.jsonl"
            return Encoded.of(folder, texts, samples["max_length"])

        return cache(encode)

    before, rows = encoder(results / "pretrained/base/init1"), []
    for folder in sorted((results / "models" / model).glob("init1_seed*")):
        after = encoder(folder)
        seed = int(folder.name.removeprefix("init1_seed"))
        for measure, (name, query, stimuli, compute) in measures.items():
            file = results / f"{name}/{model}_vs_base.tsv"
            if not file.is_file():  # no figure asks for it
                continue
            ours = pd.read_csv(file, sep="\t").query(query)
            ours = ours[(ours["init"] == 1) & (ours["seed"] == seed)]
            ours = ours[ours["stimuli"] == stimuli].sort_values(["layer", "head"])
            found = compute(after(stimuli), before(stimuli)).ravel()
            columns = {"measure": measure, "seed": seed, "ours": ours["value"].to_numpy()}
            rows.append(pd.DataFrame(columns | {"plain": found}))
    return pd.concat(rows, ignore_index=True)


if __name__ == "__main__":
    table = beside(Path(sys.argv[1]), sys.argv[2], yaml.safe_load(sys.argv[3]))
    print(
        table.assign(off=(table["ours"] - table["plain"]).abs())
        .groupby("measure")["off"]
        .agg(["size", "max"])
    )
