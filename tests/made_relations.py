"""Made-up tables of results/relation_heads in the shape of real ones."""

import numpy as np
import pandas as pd
from made_tables import PLACE, generator, runs_of

from bertshift.metrics.relation_heads import COLUMNS, READINGS

TOKENS = ["[CLS]", "He", "was", "becoming", "agitated", ".", "[SEP]"]
PARTS = ["", "argument", "", "", "predicate", "", ""]


def relation_heads(model="base", layers=12, heads=12, inits=2, seeds=1, matrix=None, null=0.05, back=0.5):
    """`matrix` [layers, heads] or made: scores of arguments as queries; the other way they are `back` times that."""
    random, parts = generator(model), []
    if matrix is None:
        matrix = random.uniform(0, 0.15, (layers, heads))
        matrix[0, 1], matrix[-1, -2] = 0.2, 0.21
    factor = {"max_lu_to_fe": back, "max_both": max(back, 1), "code_zip": 1}
    for init, seed in runs_of(model, inits, seeds):
        for variant in READINGS:
            parts.append(_scores(np.array(matrix) * factor.get(variant, 1), variant, null, init, seed))
        best = parts[-len(READINGS)].nsmallest(2, "rank")
        parts += [_map(layer, head, random, init, seed) for layer, head in zip(best["layer"], best["head"])]
    data = "framenet_473 473 sentences, a sample of 9815 (mirror)"
    table = pd.concat(parts).assign(model=model, stimuli="relations", **PLACE, data=data)
    return table[[*COLUMNS, *PLACE, "data"]]


def _scores(matrix, variant, null, init, seed):
    ranks = 1 + np.argsort(np.argsort(-matrix, axis=None)).reshape(matrix.shape)
    rows = []
    for (layer, head), value in np.ndenumerate(np.column_stack([matrix.mean(axis=1), matrix])):
        rows.append({"layer": layer + 1, "head": head, "value": value,
                     "null": null, "null_99": null * 1.1, "rank": ranks[layer, head - 1] if head else np.nan})  # fmt: skip
    return pd.DataFrame(rows).assign(
        metric="relation_heads", variant=variant, init=init, seed=seed, sd=0.1, n=473, null_n=450,
        heads_99=np.percentile(matrix, 99),
    ).reindex(columns=COLUMNS)  # fmt: skip


def _map(layer, head, random, init, seed):
    size = len(TOKENS)
    query, key = (axis.ravel() for axis in np.indices((size, size)))
    tokens, parts = np.array(TOKENS), np.array(PARTS)
    return pd.DataFrame(
        {
            "metric": "relation_map", "variant": "max_fe_to_lu", "layer": layer, "head": head, "init": init, "seed": seed,
            "value": random.dirichlet(np.ones(size), size).ravel(), "n": 1, "example": 367, "query": query + 1,
            "key": key + 1, "query_token": tokens[query], "key_token": tokens[key], "query_part": parts[query],
            "key_part": parts[key],
        }
    ).reindex(columns=COLUMNS).replace({"": np.nan})  # fmt: skip


def of_kovaleva(layers=12, heads=12, **more):
    return {"results/relation_heads/base.tsv": relation_heads("base", layers, heads, **more)}
