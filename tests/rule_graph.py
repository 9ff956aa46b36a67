"""The rules as a picture in docs/workflow.md, from `snakemake --rulegraph`: `make guide`.

An arrow that others already imply is left out, and so is what reads the same tables as figures.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/workflow.md"
PICTURE = re.compile(r"(```mermaid\n).*?(```\n)", re.DOTALL)
LEFT_OUT = ["figures/all", "gallery", "all_claims", "claims"]


def picture(printed: str) -> str:
    """Draw what `snakemake --rulegraph mermaid-js` prints with as few arrows as tell the same."""
    names = dict(re.findall(r"(id\d+)\[(.*?)\]", printed))
    edges = re.findall(r"(id\d+) --> (id\d+)", printed)
    # A fine-tuning begins with another one where a model has two stages.
    graph = nx.DiGraph(
        (names[begin], names[end]) for begin, end in edges if names[begin] != names[end]
    )
    graph.remove_nodes_from(LEFT_OUT)
    after = defaultdict(list)
    for begin, end in sorted(nx.transitive_reduction(graph).edges):
        after[begin].append(end)
    arrows = [f"    {begin} --> {' & '.join(ends)}" for begin, ends in after.items()]
    return "\n".join(["flowchart LR", *arrows]) + "\n"


def written(page: str, printed: str) -> str:
    """Write the page's picture anew."""
    return PICTURE.sub(lambda found: found[1] + picture(printed) + found[2], page)


if __name__ == "__main__":
    command = [sys.executable, "-m", "snakemake", "figures/all", "--rulegraph", "mermaid-js"]
    rules = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rules), encoding="utf-8")
