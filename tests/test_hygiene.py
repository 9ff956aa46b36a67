"""What ruff and import-linter do not see of files from elsewhere and of imports."""

import ast
import re
import subprocess
import sys

import yaml
from conftest import ROOT

LIBRARY = ROOT / "workflow"
RULES = "\n".join(file.read_text() for file in sorted((LIBRARY / "rules").glob("*.smk")))
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
    imports = "\n".join(re.findall(r"^from bertshift[^(\n]*(?:\([^)]*\))?", RULES, re.MULTILINE))
    code = (
        f"import sys\n{imports}\nprint({{'numpy', 'pandas', 'scipy', 'torch'}} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=LIBRARY, capture_output=True, text=True, check=False
    )
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_each_rule_has_its_code_as_a_parameter():
    """Else results of older code would stay. A corpus has a digest, and is not downloaded again."""
    rules = re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", RULES, re.MULTILINE)
    scripted = {name: rule for name, rule in rules if "    script:" in rule}
    without = {name for name, rule in scripted.items() if "        code=" not in rule}
    assert len(scripted) > 40 and without == {"corpus"}


def test_what_is_downloaded_cannot_move():
    """Addresses have https and a commit or a digest, repositories a commit."""

    def entries(value):
        if isinstance(value, dict):
            yield value
            value = [*value.values()]
        if isinstance(value, list):
            for each in value:
                yield from entries(each)

    files = (ROOT / "config").rglob("*.yaml")
    everything = [entry for file in files for entry in entries(yaml.safe_load(file.read_text()))]
    with_address = [entry for entry in everything if isinstance(entry.get("url"), str)]
    # An entry of the catalogue, which names the publisher's page.
    of_publisher = {"format", "task", "licence"}
    downloads = [entry for entry in with_address if not of_publisher & entry.keys()]
    hubs = [entry for entry in everything if isinstance(entry.get("hub"), str)]
    hubs += [entry["hub"] for entry in everything if isinstance(entry.get("hub"), dict)]
    assert len(downloads) >= 12 and len(hubs) >= 15
    for each in downloads:
        commit = re.search(r"/[0-9a-f]{40}(/|$)", each["url"])
        assert re.match(r"https://[^/@]+/", each["url"]) and ("sha256" in each or commit), each
    for each in hubs:
        assert re.fullmatch(r"[0-9a-f]{40}", each["revision"]), each
