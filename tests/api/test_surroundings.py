"""Settings of torch around a comparison, and signals inside it."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import torch
from made_encoders import TEXTS, model_of, tokenizer_of

import bertshift
from bertshift.api.surroundings import plain_torch, temporary_folder
from bertshift.models.loading import save_model


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """A function that compares two folders, and what it gives by itself."""
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("one", "base")):
        model = model_of("bert", seed, vocab_size=len(tokenizer_of("bert")))
        save_model(folder / name, model, tokenizer_of("bert"))

    def compare():
        found = bertshift.compare(folder / "one", folder / "base", TEXTS, measures=["rsa", "js"])
        return found.table["value"].tolist()

    return compare, compare()


@contextmanager
def set_to(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


def precision(value):
    return set_to(torch.set_float32_matmul_precision, value, "highest")


AROUND = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference": torch.inference_mode,
    "gradients": torch.enable_grad,
    "no gradients": torch.no_grad,
    "a device": lambda: torch.device("meta"),
    "a default device": lambda: set_to(torch.set_default_device, "meta", None),
    "a default type": lambda: set_to(torch.set_default_dtype, torch.bfloat16, torch.float32),
    "products": lambda: precision("medium"),
    "deterministic": lambda: set_to(torch.use_deterministic_algorithms, True, False),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_what_is_set_around_changes_no_number(around, values):
    compare, expected = values
    with around():
        assert compare() == expected


def test_settings_are_as_before_afterwards():
    with torch.autocast("cpu", torch.bfloat16), torch.device("meta"), precision("medium"):
        with plain_torch():
            product = torch.ones(2, 2) @ torch.ones(2, 2)
            assert product.dtype == torch.float32 and product.device.type == "cpu"
        assert torch.is_autocast_enabled("cpu") and torch.empty(1).is_meta
        assert torch.get_float32_matmul_precision() == "medium"


ENDED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # also below a shell's background
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also below nohup
from bertshift.api.surroundings import temporary_folder
with temporary_folder() as folder:
    (folder / "model.safetensors").write_bytes(b"large")
    print(folder, flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))
print("went on")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_folder_and_ends_the_process(number, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(int(number))],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == -number and "went on" not in done.stdout
    assert done.stdout.startswith(str(tmp_path)) and not list(tmp_path.iterdir())
    if number != signal.SIGINT:
        assert not done.stderr


def test_handlers_of_the_caller_stay():
    called, hangup = [], signal.getsignal(signal.SIGHUP)
    before = signal.signal(signal.SIGTERM, lambda *_: called.append(1))
    try:
        with temporary_folder() as folder:
            os.kill(os.getpid(), signal.SIGTERM)
            assert called and folder.is_dir()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGHUP) == hangup


def test_a_thread_has_a_folder_too():
    found = []

    def use_folder():
        with temporary_folder() as folder:
            found.append(folder.is_dir())

    thread = threading.Thread(target=use_folder)
    thread.start()
    thread.join()
    assert found == [True]
