"""Texts of letters, to be classified by whether there is an "a"."""

from itertools import chain

import numpy as np
from made_sidecars import sidecar

from bertshift.files import sha256, write_json, write_jsonl


def toy_rows(**sizes):
    """Rows by split."""
    rng = np.random.default_rng(0)

    def row(split, i):
        text = " ".join(rng.choice(list("abcdefgh"), size=rng.integers(2, 6)))
        label = ["no", "yes"]["a" in text]
        return {"id": f"{split}-{i}", "split": split, "text_a": text, "label": label}

    return {split: [row(split, i) for i in range(size)] for split, size in sizes.items()}


def write_data(folder, rows, **more):
    """Write the rows of all splits as a prepared data set."""
    write_jsonl(folder / "examples.jsonl", [*chain(*rows.values())])
    more |= {"examples_sha256": sha256(folder / "examples.jsonl")}
    sizes = {split: len(part) for split, part in rows.items()}
    write_json(folder / "dataset.json", sidecar(**sizes, **more))
