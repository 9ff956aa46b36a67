"""What a rehearsal changes of a scale: how much there is of everything, and nothing else."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest
from rehearsal import checkpoints, corpora
from rehearsal.__main__ import AMOUNTS, OWN, REAL, ROOT, read_yaml

from bertshift.config import load_config, merge

# Keys that a rehearsal may set: rows, steps, epochs, tokens, portions, batches; rates, as a narrow
# model needs large ones; threads, of which a small machine has few. All others are what it is to
# rehearse.
MAY_CHANGE = [
    *(f"training.{key}" for key in ("learning_rate_scale", "batch_size_scale", "max_train", "max_dev", "norms_every")),
    "training.per_variant.*",
    "bases.*.learning_rate_scale",
    *(f"tasks.*.{key}" for key in ("learning_rate", "batch_size", "epochs", "max_train", "max_dev")),
    *(f"samples.{key}" for key in ("task", "combined", "text", "svcca_tokens", "tokens", "padded")),
    *(f"probes.*.{key}" for key in ("learning_rate", "max_steps", "validate_every", "patience", "max_train", "max_dev",
                                    "max_test", "portions", "epochs")),
    "sweeps.max_train", "sweeps.max_dev", "sweeps.tasks.*",
    "ablation.max_dev",
    "frozen.max_train",
    *(f"planted.{key}" for key in ("inputs", "draws", "sizes")),
    *(f"patterns.{key}" for key in ("maps", "max_examples", "classifier.epochs")),
    "threads.*",
]  # fmt: skip


def leaves(value, path: str = "") -> Iterator[tuple[str, object]]:
    """(dotted path, value) of everything that is no mapping."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def among(path: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def test_a_rehearsal_sets_amounts_alone():
    assert not [path for path, _ in leaves(read_yaml(AMOUNTS)) if not among(path, MAY_CHANGE)]


@pytest.mark.parametrize("scale", REAL)
def test_a_hub_changes_addresses_and_what_checkpoints_are_called(scale):
    own = load_config(read_yaml(OWN) | {"scale": scale}, ROOT)
    addresses = {each["url"]: "0" * 64 for each in downloads(own)}
    directed = corpora.overlay(own["edge_sets"], own["relations"], "http://127.0.0.1:1", addresses)
    changed = merge(own, directed | checkpoints.overlay(own["bases"]))
    assert all(each["url"].startswith("http://127.0.0.1:1/") for each in downloads(changed))
    for config in (own, changed):
        for each in downloads(config):
            each.clear()
        for base in config["bases"].values():
            for each in base["checkpoints"]:
                assert (each.pop("label", None) is not None) == (config is changed)
    assert own == changed


def downloads(config: dict) -> list[dict]:
    entries = [
        each for spec in config["edge_sets"].values() for each in spec.get("download", {}).values()
    ]
    return [*entries, config["relations"]["download"]]
