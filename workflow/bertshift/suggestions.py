"""What a user may have meant: the known names that are most like what is written."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches


def alike(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """List the known names that are most like `word`, whatever the case of their letters, nearest first."""
    names = {name.lower(): name for name in known}
    return [names[near] for near in get_close_matches(word.lower(), names, most, cutoff)]


def nearest(word: str, known: Iterable[str]) -> str:
    """List the known names that are like `word`, or all of them, for the end of a sentence."""
    known = list(known)
    near = alike(word, known, 3, 0.4)
    return "nearest: " + ", ".join(near) if near else "known: " + ", ".join(known)


def nearest_target(
    target: str, patterns: Iterable[str], names: Iterable[str], makes: Callable[[str], bool]
) -> str:
    """Say that no rule makes a file, and name the nearest that one does make, or else the nearest forms of files.

    `patterns` are the files that rules make, with `{wildcards}`; `names` are other things to ask for; `makes` says
    whether a rule makes a file.
    """
    patterns = sorted(set(patterns))
    folders = {form: form.partition("{")[0].rpartition("/")[0] for form in patterns if "{" in form}
    beside = [form for form, folder in folders.items() if target.startswith(f"{folder}/")]
    here = [form for form in beside if target.count("/") == form.count("/")]
    if not here:
        # The same file in each folder that rules write to, files that have one name, and what is no file.
        depths = {folder: folder.count("/") + 1 for folder in folders.values()}
        moved = {"/".join([folder, *target.split("/")[depth:]]) for folder, depth in depths.items()}
        possible = {*names, *patterns} - {*folders} | {file for file in moved if makes(file)}
        # A file of a folder that there is was not meant to be in another.
        within = tuple(f"{folders[form]}/" for form in beside) or ""
        if near := alike(target, sorted(file for file in possible if file.startswith(within)), 1, 0.7):
            return f"no rule makes '{target}'; write {near[0]}."
    forms = get_close_matches(target, here or beside or patterns, n=3, cutoff=0)
    nearest = f"nearest form is {forms[0]}" if len(forms) == 1 else f"nearest forms are {', '.join(forms)}"
    return f"no rule makes '{target}'; the {nearest}."
