import re

import pytest
import yaml
from conftest import ROOT
from snakemake import cli


@pytest.fixture
def parse(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)

    def parse(*arguments):
        # The default profile looks at the command line itself.
        monkeypatch.setattr("sys.argv", ["snakemake", *arguments])
        return cli.parse_args(list(arguments))[1]

    return parse


def test_the_default_profile_gives_cores_and_gpus(parse):
    args = parse("figures/all")
    assert args.cores and "gpu" in dict(args.resources)
    assert "code" not in {str(trigger).lower() for trigger in args.rerun_triggers}


def test_nothing_of_it_limits_a_cluster(parse):
    args = parse("--profile", "slurm", "figures/all")
    assert args.executor == "slurm" and args.jobs and not args.cores and not dict(args.resources or {})
    assert args.targets == ["figures/all"] or "figures/all" in args.targets


def test_both_profiles_agree_on_what_reruns(parse):
    assert parse("x").rerun_triggers == parse("--profile", "slurm", "x").rerun_triggers


def test_conda_environment_has_the_pinned_versions():
    environment = yaml.safe_load((ROOT / "envs/bertshift.yaml").read_text())
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert pip == ["-r ../requirements.txt"]
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    assert pinned["torch"] == "2.13.0" and len(pinned) > 50
