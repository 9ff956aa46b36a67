"""python -m environments: write the environments of `snakemake --sdm conda` from the pins of
requirements.txt.

Each has what its scripts import and all that these packages need, so that a newer tool for tests
or documentation makes nothing again.
"""

from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYTHON = "3.11"
SHARED = ["numpy", "scipy", "pandas", "pyyaml", "jsonschema", "threadpoolctl", "tqdm"]
MODELS = ["torch", "transformers", "tokenizers", "safetensors", "huggingface-hub"]
NEEDED = {
    "compute": [*SHARED, *MODELS, "datasets", "peft", "nltk"],
    "figures": [*SHARED, "safetensors", "matplotlib", "seaborn", "pillow", "vl-convert-python"],
}


def pins() -> dict[str, str]:
    """Return the lines of requirements.txt by the names of their packages."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(Requirement(line).name): line for line in lines if line[:1].isalnum()
    }


def closure(names: list[str]) -> set[str]:
    """Add to packages all that they need on this machine."""
    found, queue = set(), [Requirement(name) for name in names]
    while queue:
        need = queue.pop()
        name = canonicalize_name(need.name)
        if name in found and not need.extras:
            continue
        found.add(name)
        extras = need.extras or {""}
        for line in requires(name) or []:
            one = Requirement(line)
            if one.marker is None or any(
                one.marker.evaluate({"extra": extra}) for extra in extras
            ):
                queue.append(one)
    return found


def environment(names: list[str]) -> str:
    """Write a conda environment with the pins of these packages and of all that they need."""
    pinned = pins()
    lines = [f"      - {pinned[name]}" for name in sorted(closure(names)) if name in pinned]
    head = ["channels:", "  - conda-forge", "  - nodefaults", "dependencies:"]
    python = [f"  - python={PYTHON}", "  - pip", "  - pip:"]
    return "\n".join([*head, *python, *lines]) + "\n"


def main() -> None:
    for name, needed in NEEDED.items():
        text = "# For `snakemake --sdm conda`, from requirements.txt (`make envs`; a test compares).\n"
        (ROOT / f"envs/{name}.yaml").write_text(text + environment(needed), encoding="utf-8")


if __name__ == "__main__":
    main()
