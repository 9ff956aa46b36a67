"""`bertshift.compare` on the checkpoints of a finished run: the bytes of the workflow's own
tables."""

import numpy as np
import pandas as pd
import pytest

import bertshift
from bertshift.files import blocks_beside, read_jsonl

pytestmark = pytest.mark.slow("whole workflow")

SAME = [
    "init",
    "seed",
    "ref_init",
    "ref_seed",
    "variant",
    "layer",
    "ref_layer",
    "head",
    "value",
    "low",
    "high",
    "sd",
    "n",
]


def as_text(path):
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)


def check_same(results, tokens, folder, measure, model, table):
    """A table of the workflow, of its first inputs, against the library's rows."""
    path = results / table / f"{model}.tsv"
    expected = as_text(path)
    rows = (expected["stimuli"] == expected["stimuli"][0]) & (expected["metric"] == measure)
    if table == "similarity":
        # Nulls there are of a few orders of tokens, and here of all.
        rows &= (expected["tokens"] == "content") & ~expected["variant"].str.endswith("_null")
    stimuli = expected["stimuli"][0]
    texts = [
        (row["text_a"], row["text_b"]) if row.get("text_b") else row["text_a"]
        for row in read_jsonl(results / f"stimuli/{stimuli}.jsonl")
    ]
    sides = zip(
        *expected.loc[rows, ["init", "seed", "ref_init"]].drop_duplicates().to_numpy().tolist()
    )
    inits, seeds, parents = sides
    name, reference = model.split("_vs_")
    change = bertshift.compare(
        [results / f"models/{name}/init{init}_seed{seed}" for init, seed in zip(inits, seeds)],
        [results / f"pretrained/{reference}/init{init}" for init in parents],
        texts, measures=[measure], max_length=128, tokens=tokens, name=stimuli,
    )  # fmt: skip
    compared = change.rows["variant"].isin(expected.loc[rows, "variant"])
    change.results.where(compared).write(folder / "ours.tsv")
    ours = as_text(folder / "ours.tsv")
    pd.testing.assert_frame_equal(ours[SAME], expected.loc[rows, SAME].reset_index(drop=True))
    blocks = np.load(blocks_beside(str(path)))[rows.to_numpy()]
    np.testing.assert_array_equal(np.load(folder / "ours.blocks.npy"), blocks)


@pytest.mark.parametrize(
    "measure, model, table",
    [
        ("rsa", "rte_vs_base", "rsa"),
        ("cosine", "rte_vs_base", "cosine"),
        ("svcca", "rte@large_vs_large", "svcca"),
        ("js", "rte@large_vs_large", "js"),
        ("cka", "rte@large_vs_large", "similarity"),
    ],
)
def test_rows_are_those_of_the_rules(finished, tmp_path, measure, model, table):
    tokens = finished.config["samples"]["svcca_tokens"]
    check_same(finished.folder / "results", tokens, tmp_path, measure, model, table)
