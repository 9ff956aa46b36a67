"""What the papers say, as small tests of our tables.

A statement, its place and its strength are facts of a paper and stand in `config/published/<paper>.yaml` under
`claims`; a paper's module here says how each is decided: one number of one replicate, and the range in which the
statement holds. The number is averaged over replicates, as the papers average their curves; the reason says in how many
single replicates the statement holds. Ranges that a paper does not give are ours, fixed before any result was seen.
"""

from bertshift.claims import (
    college2020,
    college2020_reinit,
    hao2020,
    hao2020_similarity,
    kovaleva2019,
    kovaleva2019_ablation,
    kovaleva2019_attention_to,
    kovaleva2019_patterns,
    kovaleva2019_relations,
    kovaleva2019_table1,
    merchant2020,
)  # registers their claims
from bertshift.claims.deciding import CLAIMS, FAILS, HOLDS, UNTESTED, Claim, evaluate
from bertshift.claims.evidence import Curve, Evidence, NotTestableError

__all__ = [
    "CLAIMS", "FAILS", "HOLDS", "UNTESTED", "Claim", "Curve", "Evidence", "NotTestableError", "college2020",
    "college2020_reinit", "evaluate", "hao2020", "hao2020_similarity", "kovaleva2019", "kovaleva2019_ablation",
    "kovaleva2019_attention_to", "kovaleva2019_patterns", "kovaleva2019_relations", "kovaleva2019_table1",
    "merchant2020",
]  # fmt: skip
