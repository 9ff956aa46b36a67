import ast
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import yaml

from bertshift.errors import UserError
from bertshift.files import remembered, write_json

# The folder of the library, and the packages in it whose code digests include.
LIBRARY = Path(__file__).parents[2]
PACKAGES = ("bertshift", "demo_world")
# The modules that an earlier driver read for digests, below the folder where it ran.
CACHE = ".snakemake/code.json"
# Modules that cannot change a number: those that run jobs, find files, name models, write errors.
EXCLUDED = ("running", "naming.py", "suggestions.py", "errors.py", "shipped.py")
# Names of what tells how a job goes on: a logger, and `running.progress`.
TELLERS = ("log", "progress")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
# Entries of the file hold for the program that wrote them.
METHOD = sha256(Path(__file__).read_bytes()).hexdigest()


def digest(
    scripts: Iterable[Path], without: Collection[Path] = (), known: Mapping | None = None
) -> str:
    """Digest scripts and all library modules that they import, directly or through others, into 12
    characters, the same in all versions of Python; a file of data, by what it says; and what is
    `known` to them besides, values of JSON.

    Comments, docstrings, layout, raised exceptions and what is told meanwhile do not change the
    digest, nor do the EXCLUDED modules, nor those in `without`. Rules hold it as a parameter, so
    that an edited module reruns exactly the stages that import it. UserError for a script that
    does not exist.
    """
    scripts = list(scripts)
    for file in scripts:
        if not file.is_file():
            raise UserError(
                f"{file} does not exist; write this module, or correct its name where a measure's"
                " record in measures/ or the __init__.py of a paper has it."
            )
    combined = sha256()
    for file in code_of(scripts, without):
        combined.update(f"{file.name}\0{_read_module(file).digest}\0".encode())
    if known:
        combined.update(json.dumps(known, sort_keys=True).encode())
    return combined.hexdigest()[:12]


def code_of(scripts: Iterable[Path], without: Collection[Path] = ()) -> list[Path]:
    """List `scripts` and the library modules that they need, sorted."""
    excluded = set(without)
    visited, queue = set(), list(scripts)
    while queue:
        file = queue.pop()
        if file not in visited and file not in excluded:
            visited.add(file)
            queue += _read_module(file).imports
    return sorted(visited)


def recall(folder: Path) -> None:
    """Read the entries that an earlier call of `keep` wrote: to parse two hundred modules takes
    longer than to plan all jobs."""
    entries = remembered(folder / CACHE).get(METHOD)
    if isinstance(entries, dict):
        _cached.update({key: entry for key, entry in entries.items() if _is_entry(entry)})


def keep(folder: Path) -> None:
    """Write the entries that were used for digests, if the file has other ones and can be
    written."""
    if _used.keys() != _cached.keys():
        with suppress(OSError):
            write_json(folder / CACHE, {METHOD: _used})


def _is_entry(entry) -> bool:
    """Test whether a value has the form [digest, names of imports] that `keep` writes."""
    match entry:
        case [str(), [*names]]:
            return all(isinstance(name, str) for name in names)
    return False


class Module(NamedTuple):
    """The digest of a module's code, and the library's files that it imports."""

    digest: str
    imports: list[Path]


# Entries [digest of the syntax tree, names of imports] by the digest of a module's bytes: those of
# the file, and those that this process used.
_cached: dict[str, list] = {}
_used: dict[str, list] = {}
_modules: dict[Path, Module] = {}


def _read_module(path: Path) -> Module:
    """Read a module, once in a process."""
    if path not in _modules:
        source = path.read_bytes()
        key = sha256(source).hexdigest()
        _used[key] = _cached.get(key) or _parse_module(source, path)
        digest, names = _used[key]
        files = dict.fromkeys(file for name in names for file in _list_files(name))
        _modules[path] = Module(digest, list(filter(Path.is_file, files)))
    return _modules[path]


def _parse_module(source: bytes, path: Path) -> list:
    """Return the digest of a module's syntax tree, and the names of the library's modules that it
    imports."""
    if path.suffix == ".yaml":
        content = yaml.safe_load(source)
        # In its order, as words are drawn by their places.
        return [sha256(json.dumps(content).encode()).hexdigest(), []]
    tree = ast.parse(source, str(path))
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.Raise):
            node.exc = None
        elif isinstance(node, ast.Expr) and _speaks(node.value):
            node.value = ast.Constant(None)
        elif isinstance(node, ast.JoinedStr):
            node.values = [part for part in node.values if not _is_empty(part)]
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    digest = sha256(_describe(tree).encode()).hexdigest()
    return [digest, list(filter(_list_files, names))]


def _speaks(node: ast.expr) -> bool:
    """Test whether this is a call of a teller's method, or prints to stderr."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in TELLERS
        case ast.Call(func=ast.Name(id="print"), keywords=keywords):
            return any(key.arg == "file" and _is_stderr(key.value) for key in keywords)
    return False


def _is_stderr(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "stderr"


def _is_empty(node: ast.expr) -> bool:
    """Test for an empty text, which Python 3.12 sometimes adds to the end of an f-string."""
    return isinstance(node, ast.Constant) and node.value == ""


def _describe(value) -> str:
    """Write a syntax tree. Empty fields are left out, as newer versions of Python have more of
    them, and letters beyond ASCII are escaped, as newer ones know more of them."""
    if isinstance(value, ast.AST):
        fields = [
            f"{name}={_describe(field)}"
            for name, field in ast.iter_fields(value)
            if field is not None and field != []
        ]
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_describe, value))}]"
    return ascii(value)


def _list_files(module: str) -> list[Path]:
    """List the files that importing `module` may run, without excluded ones: its own, and those of
    the packages around it."""
    package, *parts = module.split(".")
    if package not in PACKAGES:
        return []
    if parts and (parts[0] in EXCLUDED or f"{parts[0]}.py" in EXCLUDED):
        return []
    folders = [LIBRARY.joinpath(package, *parts[:depth]) for depth in range(len(parts) + 1)]
    return [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
