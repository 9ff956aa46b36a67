"""How often the Mantel test of `grounding` finds a relation between distance and behaviour.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/mantel.py [--studies 1000]

A run is two points. The distance of two runs is the distance of their first points, and their
difference in behaviour is the distance of their second points. A point is the sum of the effects
of its kind, of its seed within a pretraining run, and of the run. Relations:

    none       both points are independent, so that 5 % of studies may have p <= .05
    between    they have the same effects of kinds
    within     they have the same effects of seeds and runs

Tests: `free` permutes all runs of a pretraining run; `p` and `p_within` are those of the table.
"-": there are too few orders for p <= .05.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np

from bertshift.rows.grounding import Block, mantel

SPREADS = {"kind": 2.0, "seed": 1.0, "run": 1.0}  # standard deviations of effects
SHARED = {"none": [], "between": ["kind"], "within": ["seed", "run"]}
TESTS = ["free", "p", "p_within"]
DESIGN = ["kinds", "seeds", "inits", "failed"]
GRID = product((1, 2, 3, 5), (2, 3, 5))
DESIGNS = [
    *((kinds, seeds, 1, 0) for kinds, seeds in GRID if kinds * seeds > 2),
    *((5, 1, 1, 0), (5, 1, 3, 0), (3, 3, 3, 0), (7, 3, 1, 2), (7, 3, 3, 3)),
]
LEVEL, ORDERS = 0.05, 400


def study(rng: np.random.Generator, design: tuple, relation: str) -> Iterator[Block]:
    """Make the blocks of one study."""
    kinds, seeds, inits, failed = design
    shapes = {"kind": (1, kinds, 1), "seed": (inits, 1, seeds), "run": (inits, kinds, seeds)}
    points = 0
    for name, shape in shapes.items():
        effects = SPREADS[name] * rng.normal(size=(2, *shape, 2))
        points = points + (effects[[0, 0]] if name in SHARED[relation] else effects)
    trained = np.sort(rng.permutation(inits * kinds * seeds)[failed:])
    init, kind, seed = np.unravel_index(trained, (inits, kinds, seeds))
    for number in range(inits):
        in_init = init == number
        run_points = points[:, number, kind[in_init], seed[in_init]]
        distances = np.linalg.norm(run_points[:, :, None] - run_points[:, None], axis=-1)
        yield Block(*distances, kind[in_init], seed[in_init])


def free(block: Block) -> Block:
    """Name all runs as seeds of one kind."""
    runs = len(block.kinds)
    return Block(block.distance, block.behaviour, [0] * runs, range(runs))


def do_tests(blocks: list[Block], name: str) -> list:
    """Do each of TESTS."""
    unnamed = [free(block) for block in blocks]
    return [
        mantel(unnamed, name, keep_kinds=False, orders=ORDERS),
        mantel(blocks, name, keep_kinds=False, orders=ORDERS),
        mantel(blocks, name, keep_kinds=True, orders=ORDERS),
    ]


def rates(studies: int, design: tuple, relation: str) -> list[str]:
    """Count how often p is at most .05 in each of TESTS."""
    rng = np.random.default_rng(0)
    results = []
    for number in range(studies):
        blocks = list(study(rng, design, relation))
        results.append(do_tests(blocks, str(number)))
    p = np.array([[test.p for test in tests] for tests in results])
    orders = np.array([[test.orders for test in tests] for tests in results]).max(0)
    shares = np.mean(p <= LEVEL, axis=0)
    can_reject = orders * LEVEL >= 1
    return [f"{share:.1%}" if can else "-" for share, can in zip(shares, can_reject, strict=True)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    relations = [relation for relation in SHARED for _ in TESTS]
    print("".join(f"{name:>9}" for name in [""] * len(DESIGN) + relations))
    print("".join(f"{name:>9}" for name in DESIGN + TESTS * len(SHARED)))
    for design in DESIGNS:
        cells = [cell for relation in SHARED for cell in rates(studies, design, relation)]
        print("".join(f"{cell:>9}" for cell in [*design, *cells]), flush=True)


if __name__ == "__main__":
    main()
