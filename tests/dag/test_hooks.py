"""What workflow/rules/hooks.smk takes from Snakemake beyond its documentation: a new Snakemake may change it."""

import inspect
import re
import tomllib

import pytest
import snakemake.api  # noqa: F401 - first, as the others import each other in a circle
from conftest import ROOT
from snakemake.benchmark import BenchmarkRecord
from snakemake.common import Rules
from snakemake.dag import DAG
from snakemake.io import _IOFile
from snakemake.jobs import Job
from snakemake.modules import WorkflowModifier
from snakemake.output_index import OutputIndex
from snakemake.path_modifier import PathModifier
from snakemake.persistence import MetadataRecord, ParamsChange, PersistenceBase
from snakemake.rules import Rule, RuleProxy
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.script import PythonScript, ScriptBase
from snakemake.settings.types import ConfigSettings, SchedulingSettings
from snakemake.sourcecache import HostingProviderFile, LocalGitFile, SourceCache
from snakemake.workflow import Workflow

# Of each: whose it is, its name, the parameters that the hooks give it, and what for.
USED = [
    (
        Workflow,
        "_prepare_dag",
        {"lock_warn_only", "nolock"},
        "to refuse a second driver and results without a record",
    ),
    (
        Workflow,
        "_build_dag",
        set(),
        "to look at leftovers, and to tell the nearest name of a target that no rule makes",
    ),
    (Workflow, "unlock", set(), "to keep the lock of a run that is alive"),
    (JobScheduler, "open_jobs", None, "to count temporary files until they are deleted"),
    (DAG, "__len__", set(), "to know how many jobs a run has"),
    (DAG, "needrun", {"job"}, "to know which jobs wait for a temporary file"),
    (DAG, "noneedrun_finished", {"job"}, "to know what a reader still lacks"),
    (PersistenceBase, "has_metadata", {"job"}, "to distrust outputs that have no record"),
    (PersistenceBase, "params_changed", {"job", "file"}, "to count outputs that have no record as changed"),
    (PersistenceBase, "metadata", set(), "to see whether an output has a record"),
    (PersistenceBase, "finished", {"job"}, "to let a cluster job record what made its files"),
    (
        PersistenceBase,
        "_params",
        {"job"},
        "to compare what a cluster job was made from with what was planned",
    ),
    (PersistenceBase, "cleanup", {"job"}, "to drop the record of a cluster job that fails for that"),
    (
        ParamsChange,
        "__init__",
        {"only_old", "only_new", "files"},
        "to count outputs that have no record as changed",
    ),
    (SchedulingSettings, "__init__", {"max_jobs_per_timespan"}, "to take the default rate limit away"),
    (Rule, "expand_input", {"wildcards"}, "to follow a file to what it is made from"),
    (Rule, "get_wildcards", set(), "to follow a file to what it is made from"),
    (OutputIndex, "match_producers", set(), "to know which rules make a file"),
    (
        WorkflowModifier,
        "modify_rulename",
        {"rulename"},
        "to know its rules where another workflow renames them",
    ),
    (_IOFile, "is_directory", None, "to know the folders that a job has for itself"),
    (PathModifier, "modifies_prefixes", None, "to refuse prefixes"),
    (HostingProviderFile, "hosted_repo", None, "to copy the library from a git host"),
    (PythonScript, "execute_script", {"fname", "edit"}, "to start jobs as forks"),
]


@pytest.mark.parametrize(
    ("owner", "name", "parameters", "purpose"), USED, ids=lambda one: getattr(one, "__name__", "")
)
def test_snakemake_still_has(owner, name, parameters, purpose):
    told = f"workflow/rules/hooks.smk uses {owner.__name__}.{name} {purpose}"
    assert hasattr(owner, name), f"{told}; this Snakemake has none."
    missing = parameters and parameters - inspect.signature(getattr(owner, name)).parameters.keys()
    assert not missing, f"{told}; this Snakemake's takes no {', '.join(missing)}."


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (DAG, ["dependencies", "depending"]),
        (JobScheduler, ["dryrun", "running", "resources", "global_resources", "workflow"]),
        (Job, ["temp_output", "is_local"]),
        (MetadataRecord, ["endtime", "params"]),
        (
            Workflow,
            [
                "dag_settings",
                "rerun_triggers",
                "executor_plugin",
                "is_main_process",
                "executor_settings",
                "scheduling_settings",
                "main_snakefile",
                "overwrite_configfiles",
                "overwrite_workdir",
                "config_settings",
                "configfiles",
                "exec_mode",
                "local_exec",
                "modifier",
                "workflow_settings",
                "deployment_settings",
            ],
        ),
        (
            ScriptBase,
            ["conda_env", "container_img", "env_modules", "threads", "resources", "bench_record", "rulename"],
        ),
        (BenchmarkRecord, ["running_time", "max_rss", "data_collected", "cpu_time", "cpu_usage"]),
        (ConfigSettings, ["config_args"]),
        # Used as a module of another workflow.
        (WorkflowModifier, ["path_modifier", "skip_configfile"]),
        (PathModifier, ["prefix"]),
        (Rules, ["_rules"]),
        (RuleProxy, ["rule"]),
        (HostingProviderFile, ["ref", "path"]),
        (LocalGitFile, ["ref", "path", "repo_path"]),
        (SourceCache, ["cache_path"]),
        (Rule, ["output", "_benchmark"]),
    ],
)
def test_snakemake_still_keeps(owner, names):
    source = inspect.getsource(owner)
    for name in names:
        assert name in source, (
            f"workflow/rules/hooks.smk reads `{name}` of {owner.__name__}; this Snakemake has none."
        )


def test_pyproject_allows_no_newer_snakemake_than_each_hook_is_known_to_work_with():
    hooks = (ROOT / "workflow/rules/hooks.smk").read_text()
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = needed["optional-dependencies"]["workflow"]
    newest = re.search(r"^snakemake\[reports\]>=[\d.]+,<=([\d.]+)$", "\n".join(needed), re.MULTILINE)[1]
    assert set(re.findall(r"\d+\.\d+\.\d+", hooks)) == {newest}
    assert len(re.findall(rf"(\w+\.py), {newest}\)", hooks)) >= hooks.count("\n@in_place_of")
    assert f"\nsnakemake=={newest}\n" in (ROOT / "requirements.txt").read_text()
