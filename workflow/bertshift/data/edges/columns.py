from collections.abc import Iterable, Iterator
from itertools import groupby


def numbered_blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks of lines between blank lines, each with the number of its first line."""
    numbered = enumerate(lines, 1)
    for is_filled, group in groupby(numbered, key=lambda item: bool(item[1].strip())):
        if is_filled:
            block = list(group)
            first, _ = block[0]
            yield first, [line for _, line in block]
