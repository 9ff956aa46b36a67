"""Many small decompositions, one on each core: of a matrix as wide as a model, a second core saves
a decomposition little."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item, Result = TypeVar("Item"), TypeVar("Result")


def on_each_core(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function of numpy's to all items, in order. As many are at work as BLAS may use
    threads, with one thread each, so that the results are the same bits however many cores there
    are."""
    blas = ThreadpoolController().select(user_api="blas")
    cores = max((one.num_threads for one in blas.lib_controllers), default=1)
    if cores == 1:
        return list(map(function, items))
    with blas.limit(limits=1), ThreadPoolExecutor(cores) as pool:
        return list(pool.map(function, items))
