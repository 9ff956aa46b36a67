"""What no code of the workflow may do with files from elsewhere: run code in them, write outside a folder, skip https."""

import ast
import re

import pytest
import yaml
from conftest import ROOT

CODE = sorted((ROOT / "workflow").rglob("*.py"))
# Whoever loads one of these can run code in a file, or commands.
NEVER = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "subprocess", "torch.hub"}
NETWORK = {"socket", "urllib.request", "http.client", "requests", "httpx", "huggingface_hub", "datasets"}
MAY_IMPORT = {
    "bertshift/running/network.py": {"socket"},
    "bertshift/data/edges/download.py": {"urllib.request", "http.client"},
    "bertshift/data/hub.py": {"datasets", "huggingface_hub"},
    "bertshift/models/loading.py": {"huggingface_hub"},
    "bertshift/api/models.py": {"huggingface_hub"},  # the tokenizer of a loaded model that came from there
    "bertshift/release/contents.py": {"subprocess"},  # asks git what it tracks
    "bertshift/release/finished.py": {"subprocess"},  # asks snakemake what is finished
    "bertshift/running/warm.py": {"socket", "subprocess"},  # a local one, and itself
}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "ssl._create_unverified_context"}
METHODS = {"extract", "extractall", "unpack_archive", "read_pickle", "to_pickle"}
# Of these functions and methods the keywords that make them safe.
ONLY_WITH = {
    "torch.load": {"weights_only": True},
    "from_pretrained": {"local_files_only": True, "trust_remote_code": False},
}
NOT_WITH = {"trust_remote_code": True, "allow_pickle": True, "verify": False}


def problems(source: str, may_import=frozenset()) -> list[str]:
    found, names = [], {}

    def dotted(node):
        if isinstance(node, ast.Attribute):
            return f"{dotted(node.value)}.{node.attr}"
        return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def within(name, modules):
        return {module for module in modules if f"{name}.".startswith(f"{module}.")}

    for node in ast.walk(ast.parse(source)):
        imported = {}
        if isinstance(node, ast.Import):
            imported = {each.name: each.name for each in node.names}
            names |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            names |= imported
        for name in imported.values():
            found += within(name, NEVER | NETWORK) - may_import
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name, method = dotted(node.func), getattr(node.func, "attr", "")
        given = {each.arg: getattr(each.value, "value", ...) for each in node.keywords}
        if name in CALLS or method in METHODS or name.startswith("torch.hub."):
            found.append(name)
        if name.startswith("yaml.") and name not in ("yaml.safe_load", "yaml.safe_dump", "yaml.compose"):
            found.append(name)
        needed = ONLY_WITH.get(name) or ONLY_WITH.get(method, {})
        if any(given.get(key) is not value for key, value in needed.items()):
            found.append(name)
        found += [key for key, value in NOT_WITH.items() if given.get(key, not value) in (value, ...)]
    return found


def test_the_code_is_clean():
    relative = {str(path.relative_to(ROOT / "workflow")): path for path in CODE}
    found = {name: problems(path.read_text(), MAY_IMPORT.get(name, set())) for name, path in relative.items()}
    assert len(found) > 150 and not {name: each for name, each in found.items() if each}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "def f():\n    import dill as d",
        "import torch\ntorch.load(path)",
        "from torch import load as read\nread(path, weights_only=False)",
        "import torch as t\nt.load(path, weights_only=flag)",
        "import torch\ntorch.hub.load('a', 'b')",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "from yaml import unsafe_load\nunsafe_load(text)",
        "archive.extractall(folder)",
        "import shutil\nshutil.unpack_archive(path, folder)",
        "import pandas as pd\npd.read_pickle(path)",
        "BertModel.from_pretrained(name)",
        "AutoModel.from_pretrained(name, local_files_only=True)",
        "load(name, trust_remote_code=True)",
        "get(url, verify=False)",
        "import urllib.request",
        "from urllib import request\nrequest.urlopen(url)",
        "import huggingface_hub as hub",
        "eval(text)",
        "import os\nos.system(command)",
        "import subprocess as sp",
    ],
)
def test_the_check_finds(source):
    assert problems(source)


def test_safe_calls_pass():
    assert not problems(
        "import numpy as np, torch, yaml\nfrom zipfile import ZipFile\ntorch.load(p, weights_only=True)\nnp.load(p)\n"
        "yaml.safe_load(t)\nZipFile(p).read('a')\nre.compile(t)\nmodel.eval()\nnp.load(p, allow_pickle=False)"
    )


def test_only_three_rules_reach_a_network():
    scripts = {
        path.stem for path in CODE if path.parent.name == "scripts" and "downloads=" in path.read_text()
    }
    assert scripts == {"corpus", "checkpoint", "dataset"}
    rules = (ROOT / "workflow/rules/common.smk").read_text()
    assert set(re.search(r"^FETCHING = \[(.*?)\]", rules, re.MULTILINE)[1].split(", ")) == {
        f'"{s}"' for s in scripts
    }


def test_what_is_downloaded_cannot_move():
    """Addresses with https and a commit or a digest, repositories at a commit."""

    def entries(value):
        if isinstance(value, dict):
            yield value
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from entries(each)

    files = [*(ROOT / "config").glob("*.yaml"), *(ROOT / "config/scales").glob("*.yaml")]
    everything = [entry for file in files for entry in entries(yaml.safe_load(file.read_text()))]
    downloads = [
        each for entry in everything for each in entry.get("download", {}).values() if isinstance(each, dict)
    ]
    downloads += [entry["download"] for entry in everything if "url" in entry.get("download", {})]
    hubs = [entry for entry in everything if isinstance(entry.get("hub"), str)]
    hubs += [entry["hub"] for entry in everything if isinstance(entry.get("hub"), dict)]
    assert len(downloads) >= 12 and len(hubs) >= 15
    for each in downloads:
        assert re.match(r"https://[^/@]+/", each["url"]) and (
            "sha256" in each or re.search(r"/[0-9a-f]{40}(/|$)", each["url"])
        ), each
    for each in hubs:
        assert re.fullmatch(r"[0-9a-f]{40}", each["revision"]), each
