"""What stands around a comparison: settings of torch that would change its numbers, and a
temporary folder that outlives no process."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import torch

DEVICES = ("cpu", "cuda", "mps", "xpu")
# Backends whose products of float32 can be computed in fewer digits.
PRODUCTS = ("cuda.matmul", "mkldnn.matmul")
FULL = "ieee"
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDINGS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


@contextmanager
def plain_torch() -> Iterator[None]:
    """Compute in float32 on the devices that are asked for, whatever is set around the block:
    without autocast, another default device, products of fewer digits, and errors where a kernel
    is not deterministic."""
    with ExitStack() as stack:
        for device in DEVICES:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        _use_full_products(stack)
        if torch.are_deterministic_algorithms_enabled():
            warns_only = torch.is_deterministic_algorithms_warn_only_enabled()
            torch.use_deterministic_algorithms(True, warn_only=True)
            stack.callback(torch.use_deterministic_algorithms, True, warn_only=warns_only)
        yield


def _use_full_products(stack: ExitStack) -> None:
    """Compute products of float32 with all digits until the stack ends."""
    if not hasattr(torch.backends, "fp32_precision"):  # before torch 2.9
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("highest")
        return
    for name in PRODUCTS:
        backend, _, product = name.partition(".")
        settings = getattr(getattr(torch.backends, backend), product)
        stack.callback(setattr, settings, "fp32_precision", settings.fp32_precision)
        settings.fp32_precision = FULL


class _EndedError(BaseException):
    """A signal to end has come: no `except Exception` may hold it up."""


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let a signal that ends the process raise an exception in the block first, so that it removes
    its temporary files.

    Signals that the caller handles stay his, as Ctrl-C is Python's; another thread than the main
    one has none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending: list[int] = []

    def end(number: int, _) -> None:
        for other in defaults:
            signal.signal(other, signal.SIG_IGN)  # a second one would stop the cleaning
        sys.unraisablehook = lambda _: None  # for objects that the exception leaves half made
        ending.append(number)
        raise _EndedError

    defaults = [number for number in ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    for number in defaults:
        signal.signal(number, end)
    try:
        yield
    except BaseException:  # a library may have made another one of ours
        if not ending:
            raise
    finally:
        for number in defaults:
            signal.signal(number, signal.SIG_DFL)
    if ending:
        os.kill(os.getpid(), ending[0])


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a temporary folder. It is removed after the block, and also where a signal ends the
    process inside it."""
    folder = Path(tempfile.gettempdir()) / f"bertshift-{uuid4().hex}"
    with ending_cleanly(), ExitStack() as stack:
        # Before the folder is there: a signal may come as soon as it is.
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        yield folder
