"""Many small decompositions, one on each core: a second core speeds up the decomposition of a
matrix as wide as a model only little."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item, Result = TypeVar("Item"), TypeVar("Result")


def on_each_core(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function of numpy's to all items, in order. As many run at once as BLAS may use
    threads, with one thread each, so that the results are the same bits on any number of cores."""
    blas = ThreadpoolController().select(user_api="blas")
    cores = max((library.num_threads for library in blas.lib_controllers), default=1)
    if cores == 1:
        return list(map(function, items))
    with blas.limit(limits=1), ThreadPoolExecutor(cores) as pool:
        return list(pool.map(function, items))
