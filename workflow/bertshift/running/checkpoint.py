import os
import sys
import zipfile
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import nn


def weights_digest(model: nn.Module) -> str:
    """Digest the names and bits of all parameters: two runs start from the same weights exactly
    if their digests are equal."""
    return parameters_digest(model.named_parameters())


def parameters_digest(parameters: Iterable[tuple[str, torch.Tensor]]) -> str:
    digest = blake2b(digest_size=16)
    for name, weight in parameters:
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def save(path: Path, fingerprint: str, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers, and containers of them); `path` always holds a complete
    checkpoint or none.

    The temporary name is fixed, so that a kill while writing leaves one file that the next save
    overwrites.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        # Into a file that Python opened: then a full disk is an OSError with its own number.
        with open(temporary, "wb") as file:
            torch.save({"fingerprint": fingerprint, "state": state}, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)


def load(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """Read the state saved under `fingerprint`, onto the CPU; None, with a message on stderr,
    where `path` cannot be used."""
    if not path.exists():
        return None
    try:
        saved = _read(path)
        saved_fingerprint, state = saved["fingerprint"], saved["state"]
    except Exception as error:  # noqa: BLE001 (a damaged file: torch.load raises anything)
        print(
            f"{path} cannot be read ({type(error).__name__}): starting again from step 0.",
            file=sys.stderr,
        )
        return None
    if saved_fingerprint != fingerprint:
        print(
            f"{path} belongs to other settings, code, data or starting weights: starting again"
            " from step 0.",
            file=sys.stderr,
        )
        return None
    return state


def _read(path: Path) -> dict[str, Any]:
    """Read a checkpoint. BadZipFile for a damaged file: torch itself does not compare the
    checksums."""
    with zipfile.ZipFile(path) as file:
        if damaged := file.testzip():
            raise zipfile.BadZipFile(f"{damaged} has another checksum")
    return torch.load(path, map_location="cpu", weights_only=True)


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Read the model's weights from a file that `save` wrote, onto the CPU."""
    return _read(path)["state"]["model"]


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".part").unlink(missing_ok=True)
