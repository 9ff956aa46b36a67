"""`python cluster_jobs.py PROFILE... -- KEY=VALUE...`: what these profiles would hand to sbatch
for every rule, at attempts 1 and 2, as JSON. A process of its own, as parsing a workflow changes
the environment."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from snakemake import cli
from snakemake.api import SnakemakeApi
from snakemake.iocontainers import Wildcards
from snakemake.logging import logger
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings
from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from snakemake_executor_plugin_slurm.utils import set_gres_string

# A job of each rule.
WILDCARDS = {"init": "1", "seed": "1", "model": "mnli", "reference": "base", "sweep": "freeze", "kind": "attention",
             "stimuli": "mnli", "stimulus": "mnli", "task": "pos", "paper": "hao2020", "item": "figure1"}  # fmt: skip
OF_RULE = {
    "derive": {"model": "base.random"},
    "edit": {"model": "base.edit_ff2"},
    "noise": {"model": "mnli.noise"},
    "gains": {"model": "wnli+rte", "reference": "rte"},
    "reinit_heads": {"model": "cola@cased"},
    "grounding": {"model": "cola@cased"},
    "snapshots": {"stem": "mnli", "checkpoint": ""},
}
# No checkpoint of a real scale is pretrained here.
NEVER = ("vocabulary", "pretrain")


def submitted(rule, attempt, partitions):
    wildcards = {
        name: (WILDCARDS | OF_RULE.get(rule.name, {}))[name] for name in rule.wildcard_names
    }
    resources = rule.expand_resources(Wildcards(fromdict=wildcards), [], attempt)
    job = SimpleNamespace(name=rule.name, resources=resources, threads=resources._cores)
    account = f"-A {resources.get('slurm_account')}"
    chosen = get_best_partition(partitions, job, logger) if partitions else None
    params = {"run_uuid": "run", "slurm_logfile": "log", "comment_str": rule.name, "workdir": "."}
    call = get_submit_command(job, {**params, "account": account, "partition": f"-p {chosen}"})
    return call + set_gres_string(job)


def main(profiles, config):
    arguments = [word for profile in profiles for word in ("--profile", profile)]
    sys.argv = ["snakemake", *arguments]
    args = cli.parse_args([*arguments, "figures/all"])[1]
    partitions = (
        read_partition_file(args.slurm_partition_config) if args.slurm_partition_config else []
    )
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(
            # As `snakemake` itself hands them over.
            resource_settings=ResourceSettings(
                cores=args.cores, nodes=args.jobs, resources=args.resources, default_resources=args.default_resources
            ),
            config_settings=ConfigSettings(config=cli.parse_config(config)),
            snakefile=Path("Snakefile"),
        )._workflow  # fmt: skip
        return {
            rule.name: [submitted(rule, attempt, partitions) for attempt in (1, 2)]
            for rule in workflow.rules
            if rule.name not in workflow._localrules and not rule.norun and rule.name not in NEVER
        }


if __name__ == "__main__":
    split = sys.argv.index("--")
    print("\n" + json.dumps(main(sys.argv[1:split], sys.argv[split + 1 :])))
