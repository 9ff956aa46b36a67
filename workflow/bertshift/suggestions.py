"""Suggestions for a misspelt name: the known names that are most like it."""

from collections.abc import Iterable
from difflib import get_close_matches


def similar_names(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """List the known names that are most like `word`, whatever the case of their letters, nearest
    first."""
    names = {name.lower(): name for name in known}
    return [names[near] for near in get_close_matches(word.lower(), names, most, cutoff)]


def nearest(word: str, known: Iterable[str]) -> str:
    """List the known names that are like `word`, or all of them, for the end of a sentence."""
    known = list(known)
    near = similar_names(word, known, 3, 0.4)
    return "nearest: " + ", ".join(near) if near else "known: " + ", ".join(known)
