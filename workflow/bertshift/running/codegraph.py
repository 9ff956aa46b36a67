import ast
import sys
from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path

from bertshift.errors import UserError
from bertshift.files import remembered, write_json

# The folder of the library, and the packages there that count.
LIBRARY = Path(__file__).parents[2]
PACKAGES = ("bertshift", "demo_world")
# The modules that a driver has read for digests, within the folder where it runs.
KEPT = Path(".snakemake/code.json")
# Modules without a part in numbers: how jobs run, how models are called, what users are told.
APART = ("running", "naming.py", "suggestions.py", "errors.py")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
# Python writes a tree down in another way from one version to the next.
VERSION = sys.version.split()[0]


def digest(scripts: Iterable[Path], without: Collection[Path] = ()) -> str:
    """Digest scripts and all library modules that they import, directly or through others, into 12
    characters; a file of data, by its bytes.

    Comments, docstrings, layout and what is raised do not count, nor do the modules that are
    APART, nor those in `without`. Rules hold it as a parameter, so that an edited module reruns
    exactly the stages that import it. UserError for a script that does not exist.
    """
    scripts = list(scripts)
    if missing := [file for file in scripts if not file.is_file()]:
        raise UserError(
            f"{missing[0]} does not exist; write this module, or correct its name where a metric's"
            " record in measures/ or the __init__.py of a paper has it."
        )
    whole = sha256()
    for file in code_of(scripts, without):
        whole.update(f"{file.name}\0{_read(file)[0]}\0".encode())
    return whole.hexdigest()[:12]


def code_of(scripts: Iterable[Path], without: Collection[Path] = ()) -> list[Path]:
    """List `scripts` and the library modules that they need, sorted."""
    left_out = set(without)
    seen, queue = set(without), list(scripts)
    while queue:
        file = queue.pop()
        if file not in seen:
            seen.add(file)
            queue += _read(file)[1]
    return sorted(seen - left_out)


def recall() -> None:
    """Take what an earlier call of `keep` wrote: to parse two hundred modules takes longer than to
    plan all jobs."""
    _known.update(_whole(remembered(KEPT).get(VERSION)))


def keep() -> None:
    """Write what was read for digests, where it is not what the file holds."""
    if _used.keys() != _known.keys():
        write_json(KEPT, {VERSION: _used})


def _whole(modules) -> dict[str, list]:
    """Select the entries of what `keep` wrote that are as it writes them."""
    found = {}
    for key, entry in modules.items() if isinstance(modules, dict) else ():
        match entry:
            case [str(), [*names]] if all(isinstance(name, str) for name in names):
                found[key] = entry
    return found


_known: dict[str, list] = {}
_used: dict[str, list] = {}
_modules: dict[Path, tuple[str, tuple[Path, ...]]] = {}


def _read(path: Path) -> tuple[str, tuple[Path, ...]]:
    """Digest what a module does, and list the library's files that it imports; read once in a
    process."""
    if path not in _modules:
        _modules[path] = _fresh(path)
    return _modules[path]


def _fresh(path: Path) -> tuple[str, tuple[Path, ...]]:
    source = path.read_bytes()
    key = sha256(source).hexdigest()
    meaning, names = _used[key] = _known.get(key) or _parsed(source, path)
    files = [file for name in names for file in _files(name)]
    return meaning, tuple(file for file in dict.fromkeys(files) if file.is_file())


def _parsed(source: bytes, path: Path) -> list:
    if path.suffix != ".py":
        return [sha256(source).hexdigest(), []]
    tree, names = ast.parse(source, str(path)), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.Raise):
            node.exc = None
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return [sha256(ast.dump(tree).encode()).hexdigest(), [name for name in names if _files(name)]]


def _files(module: str) -> list[Path]:
    """List the files that importing `module` may run, as far as they count: its own, and those of
    the packages around it."""
    first, *rest = module.split(".")
    if first not in PACKAGES or rest and (rest[0] in APART or f"{rest[0]}.py" in APART):
        return []
    folders = [LIBRARY.joinpath(first, *rest[:depth]) for depth in range(len(rest) + 1)]
    return [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
