"""Attention to kinds of tokens, shared by Figures 6 and 7 of Kovaleva et al. 2019 and our control beside them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bertshift.errors import UserError
from bertshift.figures import numbers, style

COLUMNS = ["panel", "when", "token", "variant", "layer", "head", *numbers.VALUES]
BEFORE, AFTER = "before", "after"
# From top to bottom.
ROWS = {BEFORE: (BEFORE, "ours"), AFTER: (AFTER, "ours"), "published*": (AFTER, "published")}
COMPARED = "; r: correlation with ours, after, over the heads of models with as many layers and heads"
WORDS = {
    "cls": "[CLS]", "sep": "[SEP]", "punct": "PUNCT", "noun": "NOUN", "verb": "VERB", "pron": "PRON", "subj": "SUBJ",
    "obj": "OBJ", "neg": "NEG",
}  # fmt: skip


def words(table: pd.DataFrame) -> dict[str, str]:
    """WORDS, with the names of special tokens that are right for the models drawn."""
    return WORDS | style.special_names(table)


def rows_of(inputs: Mapping[str, pd.DataFrame], variants: list[str], tokens: Iterable[str]) -> pd.DataFrame:
    """Rows of these variants and kinds; `panel` is the fine-tuned model, `when` tells it from its reference."""
    kept = []
    for path, table in inputs.items():
        rows = numbers.stack({path: table}, "attention_to", variants)
        itself = rows["model"] == rows["reference"]
        if itself.all():
            raise UserError(
                f"{path} compares a model with itself; under 'figures' name models and their reference."
            )
        rows = rows.assign(panel=rows.loc[~itself, "model"].iloc[0], when=np.where(itself, BEFORE, AFTER))
        kept.append(rows[rows["token"].isin(list(tokens))])
    return pd.concat(kept, ignore_index=True)


def means(rows: pd.DataFrame, by: Iterable[str] = ()) -> pd.DataFrame:
    """Means over replicates of each cell."""
    return numbers.means(rows, ["panel", "when", "token", "variant", "layer", "head", *by], ["panel", "when"])


def shown(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Of ROWS those that the table has: of tasks that the paper lacks nothing is published."""
    return {label: what for label, what in ROWS.items() if what[1] in set(table["source"])}
