"""What ruff and import-linter do not see of files from elsewhere and of imports."""

import ast
import re
import subprocess
import sys

from conftest import ROOT

from bertshift.config import read_catalogue, read_yaml

LIBRARY = ROOT / "workflow"
SAFE = {"local_files_only": True, "trust_remote_code": False}


def test_models_are_read_from_files_alone_and_run_no_code():
    calls = [
        (file.name, {key.arg: getattr(key.value, "value", None) for key in node.keywords})
        for file in LIBRARY.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "from_pretrained"
    ]
    assert calls and not [name for name, given in calls if not SAFE.items() <= given.items()]


def test_archives_are_read_member_by_member_and_arrays_without_pickles():
    text = "".join(file.read_text() for file in LIBRARY.rglob("*.py"))
    assert not re.findall(r"extractall\(|allow_pickle=True|verify=False", text)


def test_only_three_scripts_reach_a_network():
    scripts = [
        file for file in (LIBRARY / "scripts").glob("*.py") if "downloads=" in file.read_text()
    ]
    assert {file.stem for file in scripts} == {"corpus", "checkpoint", "dataset"}


def test_rules_are_read_with_snakemake_alone():
    """numpy, pandas and torch would slow each call down."""
    rules = "\n".join(file.read_text() for file in (LIBRARY / "rules").glob("*.smk"))
    imports = "\n".join(re.findall(r"^from bertshift.*", rules, re.MULTILINE))
    code = (
        f"import sys\n{imports}\nprint({{'numpy', 'pandas', 'scipy', 'torch'}} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=LIBRARY, capture_output=True, text=True, check=False
    )
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_each_rule_has_its_code_as_a_parameter():
    """Else results of older code would stay. A corpus has a digest, and is not downloaded again."""
    files = sorted((LIBRARY / "rules").glob("*.smk"))
    text = "\n".join(file.read_text() for file in files)
    rules = re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    scripted = {name: rule for name, rule in rules if "    script:" in rule}
    without = {name for name, rule in scripted.items() if "        code=" not in rule}
    assert len(scripted) > 40 and without == {"corpus"}


def test_what_is_downloaded_cannot_move():
    """Addresses have https and a commit or a digest, checkpoints a commit, as data sets have by
    their schema."""
    edge_sets = read_catalogue(ROOT / "config/edges.yaml").values()
    downloads = [each for spec in edge_sets for each in spec.get("download", {}).values()]
    downloads.append(read_catalogue(ROOT / "config/relations.yaml")["download"])
    for each in downloads:
        commit = re.search(r"/[0-9a-f]{40}(/|$)", each["url"])
        assert re.match(r"https://[^/@]+/", each["url"]) and ("sha256" in each or commit), each
    scales = [read_yaml(file) for file in (ROOT / "config/scales").iterdir()]
    bases = [base for scale in scales for base in scale["bases"].values()]
    checkpoints = [each for base in bases for each in base.get("checkpoints", ())]
    for each in checkpoints:
        assert re.fullmatch(r"[0-9a-f]{40}", each["revision"]), each
    assert len(downloads) > 12 and len(checkpoints) > 9
