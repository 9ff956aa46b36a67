import ast
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def digest(scripts: Iterable[Path]) -> str:
    """A short digest of scripts and of all library modules that they import, directly or through others.

    Comments, docstrings and layout do not count. Rules hold it as a parameter, so that an edited module reruns
    exactly the stages that import it.
    """
    whole = sha256()
    for file in code_of(scripts):
        whole.update(f"{file.name}\0{_meaning(file)}\0".encode())
    return whole.hexdigest()[:12]


def code_of(scripts: Iterable[Path]) -> list[Path]:
    """`scripts` and the library modules that they need, sorted."""
    seen, queue = set(), list(scripts)
    while queue:
        file = queue.pop()
        if file not in seen:
            seen.add(file)
            queue += _imports(file)
    return sorted(seen)


@cache
def _tree(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return tree


@cache
def _meaning(path: Path) -> str:
    return ast.dump(_tree(path))


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    names = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    files = [file for name in names for file in _files(name)]
    return tuple(file for file in dict.fromkeys(files) if file.is_file())


def _files(module: str) -> list[Path]:
    """The files that importing `module` may run: its own, and those of the packages around it."""
    first, *rest = module.split(".")
    if first != PACKAGE.name:
        return []
    folders = [PACKAGE.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
    return [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
