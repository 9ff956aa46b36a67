"""Rows of runs that start alike and learn from the same data."""

import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import Process, get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pandas as pd
import torch

from bertshift.files import read_json, read_tsv
from bertshift.models.loading import WEIGHTS
from bertshift.rows.losses import thinned
from bertshift.rows.provenance import ORIGIN, score_table
from bertshift.rows.scored import read_scored, with_blocks
from bertshift.training.finetuning import trainer


def sweep(
    runs: Mapping[str, Mapping], start: Path, data: Path, folder: Path, at_once: int = 1
) -> dict[str, dict]:
    """Make each of `runs` (as `trainer` takes them) in `folder`/<name>, and return the scores by
    name.

    One after the other, or `at_once` side by side in processes of their own, which share out this
    one's threads; a run is the same either way, to the bit where the number of its threads is.
    What an earlier, interrupted call finished is kept; of a finished run all but the weights stays
    on disk, as a row of Merchant et al. 2020, Figure 3, would otherwise hold thirteen copies of
    BERT.

    The first run that fails ends the row with its error; what the others have done until then is
    kept.
    """
    workers = min(at_once, len(runs))
    if workers > 1:
        return _side_by_side(runs, workers, (start, data, folder))
    train_run = _weightless(start, data, folder)
    return {name: train_run(name, run) for name, run in runs.items()}


def _weightless(start: Path, data: Path, folder: Path) -> Callable[[str, Mapping], dict]:
    train_run = trainer(start, data)

    def run(name: str, settings: Mapping) -> dict:
        place = Path(folder) / name
        train_run(settings, place)
        (place / WEIGHTS).unlink(missing_ok=True)
        return read_json(place / "scores.json")  # in the order that an earlier call's are read in

    return run


def _side_by_side(
    runs: Mapping[str, Mapping], number: int, places: tuple[Path, Path, Path]
) -> dict[str, dict]:
    # Threads of one process would share torch's random state. A forked process cannot use a GPU
    # that this one has used.
    context = get_context("spawn")
    threads = max(1, torch.get_num_threads() // number)
    left, scores, workers = list(runs.items()), {}, {}

    def give(connection: Connection) -> None:
        connection.send(left.pop(0) if left else None)

    # A scheduler may tell this process alone to stop: the workers save their checkpoints when they
    # are told in turn.
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for _ in range(number):
            connection, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, threads, places), daemon=True)
            worker.start()
            theirs.close()  # or its end would not be noticed here
            workers[connection] = worker
            give(connection)
        while len(scores) < len(runs):
            for connection in wait(list(workers)):
                match _next_message(connection, workers):
                    case "says", text:
                        sys.stderr.write(text)
                    case "failed", error:
                        raise error
                    case "done", (name, outcome):
                        scores[name] = outcome
                        give(connection)
                    case "ended", _:
                        connection.close()
    finally:
        signal.signal(signal.SIGTERM, previous)
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.join()
    return {name: scores[name] for name in runs}


def _next_message(connection: Connection, workers: dict[Connection, Process]) -> tuple:
    try:
        return connection.recv()
    except EOFError:
        worker = workers.pop(connection)
        worker.join()
        if worker.exitcode:
            raise RuntimeError(
                f"a worker of the row ended with exit status {worker.exitcode}; was it short of"
                " memory? Fewer sweeps.runs_at_once take less."
            ) from None
        return "ended", None


def _work(connection: Connection, threads: int, places: tuple[Path, Path, Path]) -> None:
    """Make runs as they come, until there is none; what is printed goes to the process that sends
    them."""
    torch.set_num_threads(threads)
    sys.stderr = _Sent(connection)
    try:
        run = _weightless(*places)
        while (task := connection.recv()) is not None:
            connection.send(("done", (task[0], run(*task))))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the job's error
        error.add_note(traceback.format_exc())
        connection.send(("failed", error))


class _Sent:
    """A stream whose text goes through a connection."""

    def __init__(self, connection: Connection):
        self.connection, self.line = connection, ""

    def write(self, text: str) -> int:
        self.line += text
        if text.endswith("\n"):  # whole lines, or those of several runs would mix
            self.connection.send(("says", self.line))
            self.line = ""
        return len(text)

    def flush(self) -> None:
        pass


def sweep_tables(
    scores: Mapping[str, Mapping],
    folders: Mapping[str, Path],
    settings: Mapping,
    labels: Sequence[str] | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate a finished row of runs: scores as `with_blocks` has them, and losses thinned; with
    position, and layers of the model.

    `scores` and `folders` are of each run by name; settings["row"] says which model and replicate
    it is, and its position. `labels` are the data set's.
    """
    parts: tuple[list, list] = ([], [])
    for name, one in settings["row"].items():
        outcome = scores[name]
        provenance = settings["provenance"] | {
            "model": one["model"],
            "runs": [[one["init"], one["seed"]]],
        }
        table = score_table([outcome], provenance)
        place = {"position": one["position"], "layers": settings["layers"]}
        told = table.assign(epochs=outcome["epochs"], loss=outcome["loss"], **place)
        files = (Path(folders[name]) / file for file in ("scores.json", "predictions.tsv"))
        predictions = read_scored(*files, labels)[1]
        parts[0].append(with_blocks(told, [outcome], [predictions], labels))
        keys = table.iloc[:1][["model", "task", "init", "seed", "failed", *ORIGIN]]
        losses = thinned(read_tsv(Path(folders[name]) / "steps.tsv")["loss"])
        parts[1].append(losses.merge(keys.assign(metric="loss", **place), how="cross"))
    return pd.concat(parts[0], ignore_index=True), pd.concat(parts[1], ignore_index=True)
