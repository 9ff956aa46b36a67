"""What snapshots cost a training: `bertshift.training.loop.train` with those of the default
shares, against it without.

    PYTHONPATH=workflow python benchmarks/snapshots.py [--rows 2000] [--shape 4x4x128] [--rounds 3]

A shape is layers x heads x width. Rounds alternate, as a shared machine is not equally fast all
the time; the ratio is the median over rounds. Both end with the same weights, which is checked.
"""

import argparse
import math
import statistics
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from sweep_at_once import TASK, TRAINING, write_data, write_encoder

from bertshift.data.examples import read_examples, read_sidecar
from bertshift.training.finetuning import SPLITS, Inputs, starting_model
from bertshift.training.loop import train
from bertshift.training.settings import TrainSettings

SHARES = (0, 1, 2, 5, 10, 25, 50, 100)


def trained(inputs, start, folder, snapshots):
    """Return seconds and weights."""
    model = starting_model(inputs.task, start, seed=1)
    settings = TrainSettings(**TRAINING, norms_every=10)
    collate = partial(inputs.task.collate, pad_id=inputs.tokenizer.pad_token_id)
    steps_per_epoch = math.ceil(len(inputs.examples) / settings.batch_size)
    steps = settings.total_steps(steps_per_epoch)
    files = {round(steps * share / 100): folder / f".step{share}" for share in SHARES}
    begin = time.perf_counter()
    train(
        model,
        inputs.examples,
        collate,
        inputs.task.loss,
        settings,
        1,
        folder,
        snapshots=files if snapshots else None,
    )
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin, model.state_dict()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--shape", default="4x4x128")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ratios = []
    with TemporaryDirectory() as temporary:
        start, data = Path(temporary) / "start", Path(temporary) / "data"
        data.mkdir()
        write_data(data, arguments.rows, np.random.default_rng(0))
        write_encoder(start, *map(int, arguments.shape.split("x")))
        rows = {split: read_examples(data, split) for split in SPLITS}
        inputs = Inputs(TASK, rows, read_sidecar(data), start)
        trained(inputs, start, Path(temporary) / "warm", snapshots=False)
        for number in range(arguments.rounds):
            folder = Path(temporary)
            without, plain = trained(inputs, start, folder / f"{number}without", snapshots=False)
            seconds, watched = trained(inputs, start, folder / f"{number}with", snapshots=True)
            assert all(torch.equal(weight, watched[name]) for name, weight in plain.items())
            ratios.append(seconds / without)
            print(
                f"without {without:7.2f} s   with {seconds:7.2f} s   ratio {ratios[-1]:.3f}",
                flush=True,
            )
    ratio = statistics.median(ratios)
    print(f"{len(SHARES)} snapshots, {arguments.shape}: ratio {ratio:.3f}, the same weights")


if __name__ == "__main__":
    main()
