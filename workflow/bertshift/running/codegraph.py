import ast
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from bertshift.files import write_json

PACKAGE = Path(__file__).parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
# Python writes a tree down in another way from one version to the next.
VERSION = sys.version.split()[0].encode()


def digest(scripts: Iterable[Path]) -> str:
    """A short digest of scripts and of all library modules that they import, directly or through others.

    Comments, docstrings and layout do not count. Rules hold it as a parameter, so that an edited module reruns
    exactly the stages that import it.
    """
    whole = sha256()
    for file in code_of(scripts):
        whole.update(f"{file.name}\0{_read(file)[0]}\0".encode())
    return whole.hexdigest()[:12]


def code_of(scripts: Iterable[Path]) -> list[Path]:
    """`scripts` and the library modules that they need, sorted."""
    seen, queue = set(), list(scripts)
    while queue:
        file = queue.pop()
        if file not in seen:
            seen.add(file)
            queue += _read(file)[1]
    return sorted(seen)


def recall(file: Path) -> None:
    """Take what an earlier call of `keep` wrote there: to parse two hundred modules takes longer than to plan all jobs."""
    with suppress(FileNotFoundError, ValueError):
        _known.update(json.loads(file.read_text(encoding="utf-8")))


def keep(file: Path) -> None:
    """Write what was read for digests, where it is not what the file holds."""
    if _used.keys() != _known.keys():
        write_json(file, _used)


_known: dict[str, list] = {}
_used: dict[str, list] = {}


@cache
def _read(path: Path) -> tuple[str, tuple[Path, ...]]:
    """A digest of what a module does, and the library's files that it imports."""
    source = path.read_bytes()
    key = sha256(VERSION + source).hexdigest()
    meaning, names = _used[key] = _known.get(key) or _parsed(source, path)
    files = [file for name in names for file in _files(name)]
    return meaning, tuple(file for file in dict.fromkeys(files) if file.is_file())


def _parsed(source: bytes, path: Path) -> list:
    tree, names = ast.parse(source, str(path)), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return [sha256(ast.dump(tree).encode()).hexdigest(), [name for name in names if _files(name)]]


def _files(module: str) -> list[Path]:
    """The files that importing `module` may run: its own, and those of the packages around it."""
    first, *rest = module.split(".")
    if first != PACKAGE.name:
        return []
    folders = [PACKAGE.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
    return [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
