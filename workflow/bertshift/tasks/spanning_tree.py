"""The best dependency tree under scores of single arcs (McDonald et al. 2005)."""

import numpy as np

from bertshift.data.conllu import tree_fault


def best_tree(scores: np.ndarray) -> np.ndarray:
    """Find the heads [n] of the single-root tree with the highest sum of scores. Heads count from
    1; 0 is the root.

    `scores` [n + 1, n + 1] of n words are finite, [d, h] for head h of dependent d. Row 0, of the
    root, and the diagonal are ignored.
    """
    scores = np.array(scores, dtype=np.float64)
    np.fill_diagonal(scores, -np.inf)
    scores[0] = -np.inf
    heads = scores.argmax(1)
    if len(scores) > 1 and tree_fault(heads[1:].tolist()):
        # Lower the score of every arc from the root by more than two trees can differ. The best
        # tree then has one such arc, the fewest possible (Stanojevic & Cohen 2021), so a single
        # search replaces one for each root.
        finite = scores[np.isfinite(scores)]
        scores[:, 0] -= len(scores) * np.ptp(finite) + 1
        heads = _maximum_arborescence(scores)
    return heads[1:]


def _maximum_arborescence(scores: np.ndarray) -> np.ndarray:
    """Find the best heads (Chu & Liu 1965, Edmonds 1967). A cycle of them is contracted to one
    node, the last."""
    heads = scores.argmax(1)
    cycle = np.array(_find_cycle(heads.tolist()), dtype=int)
    if not len(cycle):
        return heads
    rest = np.setdiff1d(np.arange(len(scores)), cycle)
    size = len(rest)
    # The gain of entering the cycle at a member by giving that member a head outside.
    cycle_scores = scores[cycle, heads[cycle]]
    entering = scores[np.ix_(cycle, rest)] - cycle_scores[:, None]
    leaving = scores[np.ix_(rest, cycle)]
    contracted = np.full((size + 1, size + 1), -np.inf)
    contracted[:-1, :-1] = scores[np.ix_(rest, rest)]
    contracted[-1, :-1] = entering.max(0)
    contracted[:-1, -1] = leaving.max(1)

    *rest_heads, cycle_head = _maximum_arborescence(contracted)
    best_members = cycle[leaving.argmax(1)]
    for word, head, member in zip(rest, rest_heads, best_members, strict=True):
        heads[word] = rest[head] if head < size else member
    entered = cycle[entering[:, cycle_head].argmax()]
    heads[entered] = rest[cycle_head]
    return heads


def _find_cycle(heads: list[int]) -> list[int]:
    """List the words of a cycle, or none; word 0 is the root."""
    walk_of = [0] + [None] * (len(heads) - 1)
    for start in range(1, len(heads)):
        word = start
        while walk_of[word] is None:
            walk_of[word] = start
            word = heads[word]
        if walk_of[word] == start:
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            return cycle
    return []
