"""Every rule once at the shapes of the scale `paper`, through the hub: of its figures, models and
seeds a few."""

import re
import subprocess

import pytest
import yaml
from rehearsal.__main__ import ROOT, rehearsal

from bertshift.files import read_tsv

pytestmark = pytest.mark.slow("whole workflow")

SHOWN = {
    "kovaleva2019": {
        "figure2": {"models": ["mrpc"]},
        "figure5": {"models": ["mrpc"], "reference": "base"},
    },
    "college2020": {"figure3": {"models": ["mrpc@cased"]}},
    "hao2020": {"figure1": {"models": ["rte@large"], "reference": "large"}},
    "merchant2020": {"figure2": {"models": ["mrpc"], "reference": "base"}},
    "beyond": {
        "encoders": {"models": ["mrpc", "mrpc@roberta"]},
        "decoders": {"models": ["mrpc", "mrpc@gpt2"]},
        "grounding": {"models": ["mrpc@cased"]},
        "where": {"models": ["mrpc@roberta"]},
        "forgetting": {"models": ["mrpc", "mrpc@gpt2"]},
        "lora": {"models": ["mrpc", "mrpc.lora8"]},
        "when": {"models": ["mrpc"]},
        "planted": {"models": ["base"]},
    },
}
TABLES = [
    "attention_to/mrpc_vs_base", "own_or_inherited/mrpc_vs_base", "svcca/rte@large_vs_large", "similarity/rte@large_vs_large",
    "relation_heads/base", "steps/mrpc", "losses/mrpc", "gains/rte+mrpc@cased_vs_mrpc@cased", "frozen/mrpc", "ablation/mrpc",
    "restored/rte@large", "reinit_heads/mrpc@cased", "edge_probes/mrpc_vs_base", "edge_probes/base.random", "mdl/base",
    "structural_probes/base", "ablation/mrpc@gpt2", "attention_to/mrpc@roberta_vs_roberta", "own_or_inherited/mrpc@gpt2_vs_gpt2",
    "rsa/base.edit_ff2_vs_base", "scores",
]  # fmt: skip
TARGETS = [
    "figures/all",
    *(f"results/{name}.tsv" for name in TABLES),
    "results/examples/mrpc.json",
    "results/patterns/pages",
    "results/figures/hao2020.html",
]
# Where a scale's checkpoints and data are made here rather than downloaded.
ELSEWHERE = {"world", "vocabulary", "pretrain"}
NAMES_OF_TARGETS = {
    "data/all",
    "figures/kovaleva2019",
    "figures/college2020",
    "figures/hao2020",
    "figures/merchant2020",
    "figures/beyond",
}


def slice_of(config: dict) -> dict:
    """One pretraining run, seed, task and layer for each thing that the workflow can do."""
    first = config["bases"]["base"]["checkpoints"][:1]
    figures = {
        paper: {item: SHOWN[paper].get(item) for item in {*items, *SHOWN[paper]}}
        for paper, items in config["figures"].items()
    }
    return {
        "bases": {"base": {"seeds": 1, "checkpoints": first}}
        | {name: {"seeds": 1} for name in ("cased", "large", "roberta", "gpt2")},
        "figures": figures,
        "scored": ["mrpc"],
        "grounded": ["rte+mrpc@cased", "mrpc.keep5@cased"],
        "snapshots": [0, 50],
        "noise": {"of": ["mrpc"], "draws": 1},
        "shuffled": {"of": ["mrpc"]},
        "analyses": {"rsa": {"stimuli": ["wiki", "mrpc"]}},
        "training": {"max_train": 64, "max_dev": 16},
        "samples": {"task": 40, "text": 24, "tokens": 60, "svcca_tokens": 400, "padded": 4},
        "tasks": {"dep": {"epochs": 1}, "upos": {"epochs": 1}},
        "frozen": {"heads": 2, "max_train": 32},
        "planted": {"background": "mrpc", "inputs": 24, "draws": 1, "sizes": [1.0]},
        "ablation": {"max_dev": 8, "confirm": 1},
        "sweeps": {"baseline_seeds": 2, "head_layers": [-1], "max_train": 32, "max_dev": 16},
        "patterns": {"maps": 24, "max_examples": 4, "classifier": {"size": 16, "widths": [4], "folds": 2}},
        "probes": {
            "edge": {"max_steps": 4, "validate_every": 2, "max_train": 20, "max_dev": 10, "max_test": 10, "probe_seeds": 1},
            "mdl": {"max_steps": 4, "portions": [0.5, 1.0]},
            "structural": {"epochs": 1, "max_train": 10},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Call it with snakemake's arguments for what it printed."""
    folder = tmp_path_factory.mktemp("rehearsal") / "paper"
    own = {
        **yaml.safe_load((ROOT / "config/scales/paper.yaml").read_text()),
        **yaml.safe_load((ROOT / "config/experiments.yaml").read_text()),
    }
    overlay = folder.parent / "slice.yaml"
    overlay.write_text(yaml.safe_dump(slice_of(own)))
    with rehearsal("paper", folder, overlay) as (command, variables):

        def snakemake(*arguments: str) -> str:
            done = subprocess.run(
                [*command, *arguments], env=variables, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout[-6000:]
            return done.stdout

        snakemake.folder = folder
        yield snakemake


def test_no_rule_is_left_out_and_each_runs(run):
    rules = set(re.findall(r"^(\S+)$", run("--list-rules"), re.MULTILINE))
    planned = run("--dry-run", "--quiet", "reason", "--", *TARGETS)
    asked = set(re.findall(r"^(\S+) +\d+$", planned.partition("Job stats:")[2], re.MULTILINE))
    assert len(rules) > 45 and rules - asked <= ELSEWHERE | NAMES_OF_TARGETS
    run("--", *TARGETS)
    claims = read_tsv(run.folder / "results/claims.tsv")
    assert set(claims["paper"]) == SHOWN.keys() and (claims["scale"] == "paper").all()
