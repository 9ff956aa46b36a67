"""What figures and their claims cost: claims that read rows once for all blocks of inputs against
once for each, and a figure's first PDF in a warm start with and without the modules of fonts.

    PYTHONPATH=workflow:tests OMP_NUM_THREADS=1 python benchmarks/drawing.py [--rounds 3]

CPU time, on the tables of the archived real run. Rounds alternate, as a shared machine is not
equally fast all the time; the ratio is the median over rounds.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from unittest.mock import patch

from bertshift.release.versions import completed
from made_papers import ROOT, needs, unpacked
from timing import timed

from bertshift.config import read_yaml
from bertshift.papers import by_name
from bertshift.rows.table import Table
from bertshift.running import warm
from bertshift.verdicts.evidence import Evidence

CLAIMS = ["kovaleva2019/figure7", "kovaleva2019/figure8", "merchant2020/table1", "hao2020/figure2"]
START = "snakemake.utils"  # what a script imports first, whether it draws or not


def claims_of(name: str) -> tuple:
    """Return the arguments of `by_name.decide` for a figure of the real run."""
    _, folder = unpacked()
    read = {path: Table.read(Path(folder.name) / path) for path in needs(name)}
    tables = {path: completed(path, table)[0] for path, table in read.items()}
    paper = name.partition("/")[0]
    published = read_yaml(ROOT / f"workflow/bertshift/papers/{paper}/published.yaml")
    return name, tables, published


def decide_by_block(*arguments):
    """Decide claims whose rows are looked up without each block by itself."""
    with patch.object(Evidence, "_on_complete", lambda evidence: evidence):
        return by_name.decide(*arguments)


def first_pdf(*modules: str) -> float:
    """Measure the CPU seconds of the first PDF of a process that has imported the library and
    these modules."""
    command = [sys.executable, __file__, "--modules", *modules]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(printed)


def save_pdf() -> None:
    import matplotlib
    from matplotlib.figure import Figure

    from bertshift.figures.style import SHEET

    with matplotlib.rc_context(SHEET):
        figure = Figure()
        figure.text(0.1, 0.1, "letters")
        figure.savefig(BytesIO(), format="pdf")


def cpu_seconds(function: Callable, *arguments) -> float:
    return timed(function, *arguments)[0]


def compare(what: str, before: Callable[[], float], after: Callable[[], float], rounds: int):
    """Print the seconds of both ways, round by round in turn, and the median ratio."""
    pairs = [(before(), after()) for _ in range(rounds)]
    seconds = [median(times) for times in zip(*pairs, strict=True)]
    ratio = median(first / second for first, second in pairs)
    print(f"{what:32}{seconds[0]:10.2f}{seconds[1]:10.2f}{ratio:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modules", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.modules:
        with patch.object(warm, "OTHERS", arguments.modules):
            warm.import_library()
        print(cpu_seconds(save_pdf))
        return
    rounds = arguments.rounds
    print(f"{'CPU seconds':32}{'before':>10}{'after':>10}{'ratio':>8}")
    for name in CLAIMS:
        inputs = claims_of(name)
        by_block = partial(cpu_seconds, decide_by_block, *inputs)
        at_once = partial(cpu_seconds, by_name.decide, *inputs)
        compare(f"claims of {name}", by_block, at_once, rounds)
    compare("first PDF", partial(first_pdf, START), partial(first_pdf, *warm.OTHERS), rounds)


if __name__ == "__main__":
    main()
