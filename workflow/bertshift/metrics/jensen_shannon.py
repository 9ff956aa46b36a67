"""Jensen-Shannon divergence between two models' attention distributions (Hao et al. 2020, section
3, figure 1).

    JS(p, q) = 1/2 [ sum p ln(p / m) + sum q ln(q / m) ],   m = (p + q) / 2

the divergence, not its square root; at most ln 2 nats. D(layer) is its mean over queries, then
heads, then examples; the queries are the real tokens, special ones among them. Cells that a query
may not see, as those of later tokens in a decoder, are 0 in both maps and add nothing. Variant
"matched" compares each head of the model with its partner in the reference's layer (`matching`).
"""

from collections.abc import Callable

import numpy as np

from bertshift.activations.store import Maps
from bertshift.metrics.matching import partners, with_partners
from bertshift.metrics.pairs import Pair, attention_maps, frame, head_rows, map_sums
from bertshift.rows.table import Table

# Below every float32: makes 0 ln 0 equal 0, and changes no other value.
TINY = np.float64(1e-300)


def _choose_log() -> Callable[[np.ndarray], object]:
    """Choose the faster float64 logarithm in place: numpy's where it has AVX-512 code for it,
    torch's elsewhere."""
    loops = np.lib.introspect.opt_func_info("^log$", "float64").get("log", {})
    targets = [loop.get("current", "") for loop in loops.values()]
    if any(target.startswith(("AVX512", "X86_V4")) for target in targets):
        return lambda values: np.log(values, out=values)
    import torch  # here, as it takes seconds to import

    return lambda values: torch.from_numpy(values).log_()


_log = _choose_log()


def terms(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Compute p ln(p / m) and q ln(q / m) elementwise: p, q [elements] -> [2, elements] float64.

    The ratios keep small divergences exact: p - q is never taken between logarithms.
    """
    p_and_q = np.empty((2, len(p)))
    np.maximum(p, TINY, out=p_and_q[0])
    np.maximum(q, TINY, out=p_and_q[1])
    middle = p_and_q[0] + p_and_q[1]
    middle *= 0.5
    ratios = p_and_q / middle
    _log(ratios)
    ratios *= p_and_q
    return ratios


def per_map(p: Maps, q: Maps) -> np.ndarray:
    """Average JS over the query rows of two layers' maps of the same examples: [n, heads] in
    nats."""
    lengths = np.repeat(p.lengths, p.heads)
    total = map_sums(terms, p.flat, q.flat, lengths**2).sum(axis=0)
    return np.maximum(total / (2 * lengths), 0).reshape(-1, p.heads)


def compare(pairs: list[Pair]) -> Table:
    """Tabulate JS, one row for each pair, layer, head (0: their mean) and variant ("nats", "bits",
    "matched" in nats).

    sd and n are over examples. UserError where tokens, layers or heads of a pair differ.
    """
    rows = []
    for keys, maps, others in attention_maps("js", pairs):
        nats = per_map(maps, others)
        rows += head_rows(nats, **keys, variant="nats")
        rows += head_rows(nats / np.log(2), **keys, variant="bits")
        rows += head_rows(matched(maps, others, nats), **keys, variant="matched")
    return frame(rows)


def matched(p: Maps, q: Maps, nats: np.ndarray) -> np.ndarray:
    """Average JS as `per_map` does, of each head of p with its partner in q: [n, heads]. nats:
    `per_map` of both."""
    return with_partners(per_map, nats, partners(per_map, p, q), p, q)
