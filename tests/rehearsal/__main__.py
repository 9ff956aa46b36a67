"""python -m rehearsal SCALE [what snakemake is to be told]: run a scale's own file whole, on small
made content from a hub on localhost.

Everything lies in rehearsal/SCALE; called again, it goes on. Ends with what it took and the claims
by verdict.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import yaml

from bertshift.config import SCALES, load_config
from bertshift.errors import UserError
from bertshift.files import read_tsv, write_json, write_text

ROOT = Path(__file__).parents[2]
OWN, AMOUNTS = ROOT / "config/experiments.yaml", ROOT / "config/rehearsal.yaml"
REAL = [scale for scale in SCALES if scale != "demo"]


def read_yaml(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@contextmanager
def rehearsal(
    scale: str, folder: Path, *overlays: Path
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """(snakemake's command, to which targets can be added, and its environment), for as long as
    the hub is there.

    folder: where everything is made. overlays: configuration above that of every rehearsal.
    """
    from rehearsal.hub import digest, serve  # torch and datasets take seconds

    folder.mkdir(parents=True, exist_ok=True)
    config = load_config(read_yaml(OWN) | {"scale": scale}, ROOT)
    # The port is part of the corpora's addresses, and these of the names of their files.
    port = folder / "port"
    hub, served = serve(config, int(port.read_text()) if port.exists() else None)
    write_text(port, str(hub.server.server_port))
    # A commit cannot change: what the hub's clients have kept of it would be taken for the new.
    known = folder / "served.sha256"
    if known.exists() and known.read_text() != digest(hub):
        raise UserError(
            f"the made data are others than {folder} was begun with; delete that folder."
        )
    write_text(known, digest(hub))
    write_json(folder / "served.yaml", served)
    files = [OWN, AMOUNTS, folder / "served.yaml", *overlays]
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--config",
        f"scale={scale}",
        "--configfile",
        *files,
    ]
    command += ["--snakefile", ROOT / "Snakefile", "--directory", folder]
    with hub:
        yield list(map(str, command)), environment(hub.url, folder)


def environment(hub: str, folder: Path) -> dict[str, str]:
    """Return this process's environment, changed where it leads to another hub, to its caches, or
    to a proxy."""
    elsewhere = ("HF_", "HUGGINGFACE_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(elsewhere)}
    return kept | {
        "HF_ENDPOINT": hub,
        "HF_HOME": str(folder / "results/hub"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }


def summary(folder: Path, minutes: float) -> str:
    records = [read_tsv(path) for path in (folder / "logs").rglob("*.cost.tsv")]
    if not records:
        return f"{minutes:.0f} minutes; no job is done"
    costs = pd.concat(records)
    memory = pd.to_numeric(costs["max_rss"], errors="coerce").max() / 1000
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9
    lines = [
        f"{minutes:.0f} minutes; {len(costs)} jobs with {costs['s'].sum() / 3600:.1f} hours of their own",
        f"at most {memory:.1f} GB a job; {size:.1f} GB of disk in {folder}",
    ]
    claims = folder / "results/claims.tsv"
    if claims.exists():
        lines += [
            f"{n} claims: {verdict}"
            for verdict, n in read_tsv(claims)["verdict"].value_counts().items()
        ]
    return "\n".join(lines)


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in REAL:
        print(f"{__doc__}\nSCALE: {' or '.join(REAL)}", file=sys.stderr)
        return 2
    scale, *more = sys.argv[1:]
    folder, begun = ROOT / "rehearsal" / scale, time.monotonic()
    try:
        with rehearsal(scale, folder) as (command, variables):
            status = subprocess.run([*command, *more], env=variables, check=False).returncode
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    print(summary(folder, (time.monotonic() - begun) / 60))
    return status


if __name__ == "__main__":
    sys.exit(main())
