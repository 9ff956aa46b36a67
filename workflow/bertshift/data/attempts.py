"""Repeated attempts at a download, with waits between them."""

import time
from collections.abc import Iterator

ATTEMPTS = 4
FIRST_WAIT = 2.0  # seconds; doubled after every attempt


def count_attempts() -> Iterator[int]:
    """Count attempts from 1; wait before each but the first."""
    wait = FIRST_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        yield attempt
        if attempt < ATTEMPTS:
            time.sleep(wait)
            wait *= 2
