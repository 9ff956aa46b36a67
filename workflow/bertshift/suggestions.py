"""Suggestions for a misspelt name: the known names that are most like it."""

from collections.abc import Iterable
from difflib import get_close_matches


def similar_names(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    """List the known names that are most like `word`, whatever the case of their letters, nearest
    first."""
    names = {name.lower(): name for name in known}
    matches = get_close_matches(word.lower(), names, most, cutoff)
    return [names[match] for match in matches]


def nearest(word: str, known: Iterable[str]) -> str:
    """List the known names that are like `word`, or all of them, for the end of a sentence."""
    names = list(known)
    near = similar_names(word, names, 3, 0.4)
    return f"nearest: {', '.join(near)}" if near else f"known: {', '.join(names)}"
