"""Sweeps: runs that start from the same model and learn from the same data."""

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
from bertshift.rows.table import Table, concat
from bertshift.training.finetuning import trainer


def sweep(
    runs: Mapping[str, Mapping], start: Path, data: Path, folder: Path, at_once: int = 1
) -> dict[str, dict]:
    """Train each of `runs` (as `trainer` takes them) in `folder`/<name>, and return the scores by
    name.

    Runs are trained one after the other, or `at_once` in parallel processes that divide this
    process's threads among them; a run's result is the same either way, to the bit where the
    number of its threads is the same. A run that an earlier, interrupted call has finished is not
    trained again. The weights of finished runs are deleted: a sweep of Merchant et al. 2020,
    Figure 3, would otherwise hold thirteen copies of BERT.

    The first run that fails ends the sweep with its error; finished runs are kept.
    """
    processes = min(at_once, len(runs))
    if processes > 1:
        return _train_in_parallel(runs, processes, (start, data, folder))
    train_run = _build_trainer(start, data, folder)
    return {name: train_run(name, run) for name, run in runs.items()}


def _build_trainer(start: Path, data: Path, folder: Path) -> Callable[[str, Mapping], dict]:
    """Build a function (name, run) -> scores that trains a run and deletes its weights."""
    train_run = trainer(start, data)

    def train_and_delete(name: str, run: Mapping) -> dict:
        run_dir = Path(folder) / name
        train_run(run, run_dir)
        (run_dir / WEIGHTS).unlink(missing_ok=True)
        # Scores that are read have the same order of keys after each call.
        return read_json(run_dir / "scores.json")

    return train_and_delete


def _train_in_parallel(
    runs: Mapping[str, Mapping], processes: int, paths: tuple[Path, Path, Path]
) -> dict[str, dict]:
    """Train runs in worker processes; paths: the arguments of `_build_trainer`."""
    # Threads of one process would share torch's random state. A forked process cannot use a GPU
    # that this one has used.
    context = get_context("spawn")
    threads = max(1, torch.get_num_threads() // processes)
    waiting, scores, workers = list(runs.items()), {}, {}

    def send_next_run(connection: Connection) -> None:
        connection.send(waiting.pop(0) if waiting else None)

    # A scheduler may send SIGTERM to this process alone. It exits, which terminates the workers
    # below; they then save their checkpoints.
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for _ in range(processes):
            connection, worker_end = context.Pipe()
            worker = context.Process(target=_work, args=(worker_end, threads, paths), daemon=True)
            worker.start()
            worker_end.close()  # otherwise the worker's exit would not close the connection
            workers[connection] = worker
            send_next_run(connection)
        while len(scores) < len(runs):
            for connection in wait(list(workers)):
                match _receive(connection, workers):
                    case "printed", text:
                        sys.stderr.write(text)
                    case "failed", error:
                        raise error
                    case "done", (name, outcome):
                        scores[name] = outcome
                        send_next_run(connection)
                    case "ended", _:
                        connection.close()
    finally:
        signal.signal(signal.SIGTERM, previous)
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.join()
    return {name: scores[name] for name in runs}


def _receive(connection: Connection, workers: dict[Connection, Process]) -> tuple:
    """Receive a worker's next message; ("ended", None) after its last one."""
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


def _work(connection: Connection, threads: int, paths: tuple[Path, Path, Path]) -> None:
    """Train the runs that are received, until None is; send printed lines and scores back."""
    torch.set_num_threads(threads)
    sys.stderr = _ConnectionStream(connection)
    try:
        train_run = _build_trainer(*paths)
        while (message := connection.recv()) is not None:
            name, run = message
            connection.send(("done", (name, train_run(name, run))))
    except Exception as error:  # noqa: BLE001 - any error is the job's error
        error.add_note(traceback.format_exc())
        connection.send(("failed", error))


class _ConnectionStream:
    """A stream that sends its text through a connection."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.line = ""

    def write(self, text: str) -> int:
        self.line += text
        if text.endswith("\n"):  # parts of lines of several runs would mix
            self.connection.send(("printed", self.line))
            self.line = ""
        return len(text)

    def flush(self) -> None:
        pass


def sweep_tables(
    scores: Mapping[str, Mapping],
    folders: Mapping[str, Path],
    settings: Mapping,
    labels: Sequence[str] | None,
) -> tuple[Table, pd.DataFrame]:
    """Tabulate a finished sweep: scores as `with_blocks` has them, and thinned losses,
    both with the run's position and the model's layers.

    `scores` and `folders` have each run by name; settings["row"] has its model, replicate and
    position. `labels` are the data set's.
    """
    score_tables, loss_tables = [], []
    for name, run in settings["row"].items():
        outcome, folder = scores[name], Path(folders[name])
        provenance = settings["provenance"] | {
            "model": run["model"],
            "runs": [[run["init"], run["seed"]]],
        }
        position = {"position": run["position"], "layers": settings["layers"]}
        table = score_table([outcome], provenance)
        keys = table.iloc[:1][["model", "task", "init", "seed", "failed", *ORIGIN]]
        keys = keys.assign(metric="loss", **position)
        table = table.assign(epochs=outcome["epochs"], loss=outcome["loss"], **position)
        _, predictions = read_scored(folder / "scores.json", folder / "predictions.tsv", labels)
        score_tables.append(with_blocks(table, [outcome], [predictions], labels))
        losses = thinned(read_tsv(folder / "steps.tsv")["loss"])
        loss_tables.append(losses.merge(keys, how="cross"))
    return concat(score_tables), pd.concat(loss_tables, ignore_index=True)
