"""CPU time of a call."""

from collections.abc import Callable
from time import process_time


def timed(function: Callable, *arguments):
    """Return the CPU seconds of a call and its value."""
    start = process_time()
    value = function(*arguments)
    return process_time() - start, value
