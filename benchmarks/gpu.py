"""Does a GPU give the CPU's numbers, how fast is it, and what will the scale `paper` cost on it?
Some ten minutes.

    PYTHONPATH=workflow python3 benchmarks/gpu.py --out FOLDER
        [--only agreement speed ...] [--peak 989 67]

Models have random weights and the shapes of BERT-base and BERT-large, texts are random words: no
data, no network, and Snakemake for the last section alone. Each section writes
FOLDER/<section>.tsv row by row, so that a run that is cut keeps what it has; `--only` makes some
sections again. The report is made of all tables in FOLDER. It says first whether the card gives
the CPU's numbers; if not, or if a section stopped, the exit status is 1. `--tiny` tries the script
with tiny models, on any machine.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "benchmarks")]

try:
    import numpy as np
    import pandas as pd
    import torch
    import transformers
    import yaml
    from safetensors.numpy import load_file
    from scipy.optimize import nnls
    from sweep_at_once import TASK, TRAINING, WORDS, write_data, write_encoder, write_rows
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    from torch.utils.flop_counter import FlopCounterMode

    from bertshift import planning
    from bertshift.ablation.predictions import under_every_ablation
    from bertshift.ablation.table import ablate
    from bertshift.activations.source import Source, dump
    from bertshift.data.edges.records import record, target
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import read_tsv, write_json, write_jsonl, write_text, write_tsv
    from bertshift.models.heads import SequenceClassifier, SpanClassifier
    from bertshift.models.loading import load_encoder, save_model
    from bertshift.models.noise import add_noise
    from bertshift.models.shapes import EncoderShape
    from bertshift.models.tokenizer import load_tokenizer
    from bertshift.probes import edge, mdl, structural
    from bertshift.probes.settings import CodeSettings, ProbeSettings, StructuralSettings
    from bertshift.running import gpus
    from bertshift.running.parts import PartCache
    from bertshift.tasks.batching import Encoded
    from bertshift.tasks.inference import best_device
    from bertshift.tasks.loading import load_task
    from bertshift.tasks.question_answering import AnswerSpans
    from bertshift.tasks.text_classification import TextClassification
    from bertshift.training.finetuning import trainer
    from bertshift.training.loop import train
    from bertshift.training.settings import TrainSettings
    from bertshift.training.sweeps import sweep as train_row
except ModuleNotFoundError as error:
    sys.exit(
        f"benchmarks/gpu.py needs the package {error.name};"
        " install it (pip install .) and call this again."
    )

# The most that a file of the small jobs may differ, where training computes in float32 and where
# in bfloat16. Of weights it is the distance between two results as a share of the way from the
# start, else a share of a column's largest number.
BOUNDS = {
    "trained/steps.tsv": (1e-4, 1e-2),
    "trained/layers.tsv": (1e-3, 5e-2),
    "trained/model.safetensors": (1e-2, 2e-1),
    "states.npz": (1e-4, None),
    "edge_probes.tsv": (2e-2, None),
    "structural_probes.tsv": (2e-2, None),
    "ablation.npz": (1e-4, None),
    "noise/model.safetensors": (1e-3, None),
    "gradient": (1e-4, 2e-2),
}
# Peak TFLOP/s of dense products, in bfloat16 on tensor cores and in float32 without them, by words
# of a card's name. Source: the cards' data sheets below nvidia.com/en-us/data-center, which also
# give twice as much "with sparsity".
CARDS = {
    "H200 NVL": (835, 60),
    "H200": (989, 67),
    "H100 NVL": (835, 60),
    "H100 PCIe": (756, 51),
    "H100": (989, 67),
    "A100": (312, 19.5),
    "A40": (150, 37.4),
    "A30": (165, 10.3),
    "L40S": (362, 91.6),
    "L4": (121, 30.3),
}
# shapes: layers, heads, width. steps, inputs: numbers before the clock runs, and while it does.
FULL = SimpleNamespace(
    shapes={"base": (12, 12, 768), "large": (24, 16, 1024), "narrow": (4, 4, 256)},
    vocabulary=30522, sentences=200, trained=8, ablated=8, batch=32, length=128, questions=384,
    words=48, steps=(5, 40), inputs=(128, 256), memory=(64, 128), at_once=(1, 2, 4, 8), rows=1600,
)  # fmt: skip
TINY = SimpleNamespace(
    shapes={"base": (2, 2, 32), "large": (3, 2, 48), "narrow": (1, 2, 16)},
    vocabulary=600, sentences=32, trained=2, ablated=4, batch=4, length=12, questions=20,
    words=8, steps=(1, 2), inputs=(2, 2), memory=(8, 12), at_once=(1, 2), rows=32,
)  # fmt: skip
RATING = TASK | {"kind": "regression", "metrics": ["pearson"], "max_length": 64}


class Bench:
    """Folders of models and inputs, made when they are first needed, and the card's precision."""

    def __init__(self, out: Path, work: Path, sizes: SimpleNamespace, peak: tuple | None = None):
        self.out, self.work, self.sizes, self.peak = out, work, sizes, peak
        self.start, self.rated = cache(self.make_start), cache(self.make_rated)
        has_bfloat16 = not on_card() or torch.cuda.is_bf16_supported(including_emulation=False)
        self.precision = "bfloat16" if has_bfloat16 else "float32"
        self.precisions = dict.fromkeys(["float32", self.precision])

    def shape(self, name: str) -> EncoderShape:
        return EncoderShape(*self.sizes.shapes[name], self.sizes.vocabulary)

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.work))

    def make_start(self, name: str) -> Path:
        folder = self.folder()
        write_encoder(folder, *self.sizes.shapes[name], vocabulary=self.sizes.vocabulary)
        return folder

    def make_rated(self) -> Path:
        """Write sentences of random words with trees, a rating of each, and a part of speech of
        each word."""
        rng, folder = np.random.default_rng(0), self.folder()
        rows, records = [], defaultdict(list)
        for i in range(self.sizes.sentences):
            word_ids = rng.integers(len(WORDS), size=rng.integers(5, 28))
            words = [WORDS[word_id] for word_id in word_ids]
            split = ("dev", "test", "train")[i % 3]
            row = {
                "id": str(i),
                "split": split,
                "text_a": " ".join(words),
                "label": float(word_ids[0] / 100),
                "words": words,
                "upos": ["NOUN"] * len(words),
                "heads": [draw_head(rng, position) for position in range(len(words))],
            }
            rows.append(row)
            targets = [
                target(f"t{word_id % 8}", (position, position + 1))
                for position, word_id in enumerate(word_ids)
            ]
            records[split].append(record("pos", "made", words, targets))
        write_rows(folder, rows, labels=None)
        sidecar = {
            "spans": 1,
            "multilabel": False,
            "labels": [f"t{label}" for label in range(8)],
            "counts": {split: {} for split in records},
        }
        write_json(folder / "edges.json", sidecar)
        for split, split_records in records.items():
            write_jsonl(folder / f"{split}.jsonl", split_records)
        return folder


def draw_head(rng: np.random.Generator, position: int) -> int:
    """Draw one of the three words before; the first word is the root."""
    return int(rng.integers(max(1, position - 3), position + 1)) if position else 0


def on_card() -> bool:
    return torch.cuda.is_available()


def machine(bench: Bench) -> Iterator[dict]:
    """What all of this was measured on"""
    card = torch.cuda.get_device_properties(0) if on_card() else None
    yield {
        "card": f"{card.name}, {card.total_memory / 1e9:.0f} GB" if card else "a CPU in its place",
        "peak TFLOP/s": " and ".join(map(str, bench.peak)) if bench.peak else "not known",
        "training in": bench.precision,
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "CUDA": torch.version.cuda,
        "transformers": transformers.__version__,
    }


# Does the card give the CPU's numbers?


def loss_without_dropout(
    model: torch.nn.Module, *batches: dict, loss=TextClassification.loss
) -> torch.Tensor:
    """Return the loss without dropout, whose random numbers differ between CPU and GPU."""
    return loss(model.eval(), *batches)


def small_jobs(bench, shape, device, precision, dropout=False, ablated=None) -> Path:
    """Do a small training, extraction, edge probe, structural probe, ablation of the model in
    `ablated`, and noise.

    Only training depends on the precision: in bfloat16 without dropout, nothing else is done.
    """
    say(f"small jobs: {shape}, {precision}, on the {device}")
    folder = bench.folder()
    with ExitStack() as patches:
        if device == "cpu":
            patches.enter_context(mock.patch("torch.cuda.is_available", return_value=False))
        if not dropout:
            loss = staticmethod(loss_without_dropout)
            patches.enter_context(mock.patch.object(TextClassification, "loss", loss))
        train_small(bench, shape, precision, folder / "trained")
        if dropout or precision != "bfloat16":
            probe_small(bench, shape, dropout, folder)
            change_small(bench, shape, ablated or folder / "trained", folder)
    return folder


def train_small(bench: Bench, shape: str, precision: str, folder: Path) -> None:
    training = {
        "learning_rate": 2e-5,
        "batch_size": 16,
        "steps": bench.sizes.trained,
        "norms_every": 1,
        "precision": precision,
    }
    settings = {"task": RATING, "training": training, "variants": [], "seed": 1}
    trainer(bench.start(shape), bench.rated())(settings, folder)


def probe_small(bench: Bench, shape: str, dropout: bool, folder: Path) -> None:
    """Store states and train probes on them."""
    start, data = bench.start(shape), bench.rated()
    sentences = data / "examples.jsonl"
    rows = read_examples(data, "dev")
    dump(start, {folder / "states.npz": rows}, 64, attention=True, precision="float32")
    sources = {(1, 0): Source(start, sentences, 64)}
    settings = ProbeSettings(max_steps=5 * bench.sizes.trained, probe_seeds=1)
    if not dropout:
        settings = replace(settings, input_dropout=0.0, hidden_dropout=0.0)
    parts = PartCache(folder / "parts", "")
    table, _ = edge.probe("made", sources, {"pos": data}, sentences, settings, parts)
    write_tsv(folder / "edge_probes.tsv", table.rows)
    settings = StructuralSettings(rank=16, epochs=2)
    table = structural.probe("made", sources, sentences, settings, parts)
    write_tsv(folder / "structural_probes.tsv", table.rows)
    parts.remove()


def change_small(bench: Bench, shape: str, ablated: Path, folder: Path) -> None:
    """Ablate a trained model, and add noise to the start of another."""
    start, data = bench.start(shape), bench.rated()
    rows = read_examples(data, "dev")[: bench.sizes.ablated]
    models = {str(ablated): (1, 1)}
    _, arrays = ablate("made", RATING, models, rows, read_sidecar(data), ["uniform"])
    np.savez(folder / "ablation.npz", said=arrays["init1_seed1.said"])
    model = load_encoder(start)
    add_noise(model, load_encoder(folder / "trained"), seed=1)
    save_model(folder / "noise", model, load_tokenizer(start))


def read_arrays(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays in a file, by their names."""
    if file.suffix == ".safetensors":
        return {name.removeprefix("bert."): value for name, value in load_file(file).items()}
    if file.suffix == ".npz":
        return dict(np.load(file))
    if file.suffix == ".tsv":
        return {name: column.to_numpy() for name, column in read_tsv(file).items()}
    return {}


def read_floats(file: Path) -> dict[str, np.ndarray]:
    return {name: value for name, value in read_arrays(file).items() if value.dtype.kind == "f"}


def difference(reference: Path, file: Path, start: Path) -> tuple[float, str]:
    """Return the difference of two files, as BOUNDS defines it, and the array that differs
    most."""
    expected, arrays = read_floats(reference), read_floats(file)
    gaps = {}
    for name, value in expected.items():
        largest = float(np.nanmax(np.abs(value), initial=0))
        gaps[name] = largest_gap(value, arrays[name]) / (largest or 1.0)
    worst = max(gaps, key=gaps.get, default="")
    if not gaps.get(worst):
        return 0.0, ""
    if reference.suffix != ".safetensors":
        return gaps[worst], worst
    before = read_arrays(start / reference.name)
    moved = apart = 0.0
    for name, value in expected.items():
        moved += np.square(value - before.get(name, 0)).sum(dtype=float)
        apart += np.square(arrays[name] - value).sum(dtype=float)
    return float(np.sqrt(apart / moved)), worst


def largest_gap(expected: np.ndarray, value: np.ndarray) -> float:
    """Return the largest absolute difference; NaN beside a number counts as infinite."""
    same = (expected == value) | (np.isnan(expected) & np.isnan(value))
    gaps = np.nan_to_num(np.abs(value - expected), nan=np.inf)
    return float(gaps[~same].max(initial=0))


def compare_with_bound(what: str, precision: str, gap: float) -> dict:
    float32_bound, bfloat16_bound = BOUNDS[what]
    bound = bfloat16_bound if precision == "bfloat16" else float32_bound
    row = {"what": what, "precision": precision, "difference": gap, "bound": bound}
    return row | {"within": gap <= bound}


def agreement(bench: Bench) -> Iterator[dict]:
    """The same small jobs on CPU and GPU: how far their files are from each other"""
    for shape in ("base", "large"):
        for precision in bench.precisions:
            on_cpu = small_jobs(bench, shape, "cpu", precision)
            on_gpu = small_jobs(bench, shape, "gpu", precision, ablated=on_cpu / "trained")
            for file in BOUNDS:
                if (on_cpu / file).exists():
                    gap, array = difference(on_cpu / file, on_gpu / file, bench.start(shape))
                    row = compare_with_bound(file, precision, gap)
                    yield {"model": shape} | row | {"most in": array}
            shutil.rmtree(on_cpu)
            shutil.rmtree(on_gpu)


def repeat(bench: Bench) -> Iterator[dict]:
    """The same jobs on the GPU twice, with dropout: are the files the same, byte by byte?"""
    for shape in ("base", "large"):
        first = small_jobs(bench, shape, "gpu", bench.precision, dropout=True)
        second = small_jobs(bench, shape, "gpu", bench.precision, dropout=True)
        for file in sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file()):
            row = {"model": shape, "file": file, "same": True}
            if (first / file).read_bytes() != (second / file).read_bytes():
                gap, array = difference(first / file, second / file, bench.start(shape))
                row |= {"same": False, "difference": gap, "most in": array}
            yield row
        shutil.rmtree(first)
        shutil.rmtree(second)


def one_step(bench: Bench, precision: str, number: int, limit: float = 0) -> SimpleNamespace:
    """Return the gradient of a step on this number of inputs, the sizes of the parts that were
    tried, and the bytes that it took; `limit` is the most bytes allowed, 0 for all."""
    batch, length = bench.sizes.memory
    sizes, gradients = [], []

    def loss(model: torch.nn.Module, *batches: dict) -> torch.Tensor:
        sizes.append(len(batches[0]["targets"]))
        if limit and not on_card() and sizes[-1] == batch:
            raise torch.cuda.OutOfMemoryError
        return loss_without_dropout(model, *batches)

    def store_gradients(optimizer: torch.optim.Optimizer, *_) -> None:
        for group in optimizer.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    gradients.append(weight.grad.flatten().cpu())

    settings = TrainSettings(
        learning_rate=1e-5, batch_size=batch, steps=1, max_grad_norm=0, precision=precision
    )
    model = classifier(bench, "base")
    hook = register_optimizer_step_pre_hook(store_gradients)
    if on_card():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        card_bytes = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit / card_bytes or 1.0)
    try:
        examples = encoded(bench, batch, length)[:number]
        train(model, examples, padded(TextClassification), loss, settings, 0, bench.folder())
    finally:
        hook.remove()
        if on_card():
            torch.cuda.set_per_process_memory_fraction(1.0)
    peak = torch.cuda.max_memory_reserved() if on_card() else 1
    return SimpleNamespace(gradient=torch.cat(gradients), sizes=sizes, bytes=peak)


def memory(bench: Bench) -> Iterator[dict]:
    """A batch that memory does not hold: the gradients of its parts and of the whole"""
    batch, _ = bench.sizes.memory
    for precision in bench.precisions:
        half = one_step(bench, precision, batch // 2)
        undivided = one_step(bench, precision, batch)
        limit = (half.bytes + undivided.bytes) / 2
        divided = one_step(bench, precision, batch, limit)
        distance = (divided.gradient - undivided.gradient).norm()
        row = compare_with_bound(
            "gradient", precision, float(distance / undivided.gradient.norm())
        )
        sizes = divided.sizes
        tried = {"inputs tried": ", ".join(map(str, sizes)), "divided": len(sizes) > 1}
        yield {"model": "base"} | row | tried


# How fast is it?


def classifier(bench: Bench, shape: str) -> SequenceClassifier:
    return SequenceClassifier(load_encoder(bench.start(shape)), outputs=2)


def encoded(
    bench: Bench, number: int, length: int, targets: Callable = lambda i: i % 2
) -> list[Encoded]:
    ids = np.random.default_rng(0).integers(5, bench.sizes.vocabulary, (number, length)).tolist()
    return [Encoded(input_ids, [0] * length, targets(i)) for i, input_ids in enumerate(ids)]


def padded(task: type) -> Callable:
    """Collate a task's examples, of which about every other becomes one token shorter."""

    def cut(example: Encoded) -> Encoded:
        end = len(example) - example.input_ids[0] % 2
        return Encoded(example.input_ids[:end], example.token_type_ids[:end], example.target)

    return lambda examples: task.collate([cut(example) for example in examples], pad_id=0)


def training(
    bench: Bench, shape: str, batch: int, length: int, questions: bool = False
) -> Callable[[int], None]:
    """Return a job of this number of steps."""
    if questions:
        task = AnswerSpans
        examples = encoded(bench, 4 * batch, length, lambda _: (1, 2))
    else:
        task = TextClassification
        examples = encoded(bench, 4 * batch, length)

    def job(steps: int) -> None:
        settings = TrainSettings(
            learning_rate=1e-5, batch_size=batch, steps=steps, precision=bench.precision
        )
        if questions:
            model = SpanClassifier(load_encoder(bench.start(shape)))
        else:
            model = classifier(bench, shape)
        train(model, examples, padded(task), task.loss, settings, 0, bench.folder())

    return job


def count_operations(job: Callable[[int], None], number: int) -> int:
    with FlopCounterMode(display=False) as counter:
        job(number)
    return counter.get_total_flops()


def wall_seconds(job: Callable[[int], None], number: int) -> float:
    begin = time.perf_counter()
    job(number)
    return time.perf_counter() - begin


def rate(job: Callable[[int], None], few: int, more: int) -> dict:
    """Measure seconds and operations of one more step or input, without what a job does once, as
    loading."""
    counted = (count_operations(job, 2 * few) - count_operations(job, few)) / few
    if on_card():
        torch.cuda.reset_peak_memory_stats()
    short, long = wall_seconds(job, few), wall_seconds(job, few + more)
    if long > short:
        seconds = (long - short) / more
    else:  # the machine was busy during the short job; loading counts, for lack of better
        seconds = long / (few + more)
    peak = torch.cuda.max_memory_allocated() / 1e6 if on_card() else None
    return {
        "seconds": seconds,
        "TFLOP/s": counted / seconds / 1e12,
        "GPU MB": peak,
        "counted": counted,
    }


def forward_work(shape: EncoderShape, length: int, times: float = 1) -> dict:
    """Return the plan's work of an input that passes through a model."""
    flops = times * shape.operations(1, length)
    return {
        "flops": flops,
        "passes": times * shape.layers,
        "width": shape.width,
        "moved": 0.0,
        "device": 0.0,
    }


def training_work(shape: EncoderShape, batch: int, length: int) -> dict:
    """Return the plan's work of a step of training."""
    return forward_work(shape, length, 3) | {
        "flops": 3 * shape.operations(batch, length),
        "device": shape.training_bytes(batch * length, length),
    }


class Timed(NamedTuple):
    """A job to be timed.

    job: does a number of steps or inputs. pace: how many before the clock runs, and while it does.
    inputs: those of one step. work: the plan's, if it is not a probe's.
    """

    what: str
    job: Callable[[int], None]
    pace: tuple[int, int]
    inputs: int
    precision: str
    work: dict | None


def timed_jobs(bench: Bench) -> Iterator[Timed]:
    yield from timed_trainings(bench)
    yield from timed_extractions(bench)
    yield from timed_probes(bench)
    yield timed_ablation(bench)


def timed_trainings(bench: Bench) -> Iterator[Timed]:
    sizes = bench.sizes
    for what, model, batch, length in (
        ("classification", "base", sizes.batch, sizes.length),
        ("classification", "large", sizes.batch, sizes.length),
        ("classification", "narrow", sizes.batch, sizes.length),
        ("classification", "base", 8, sizes.length // 4),
        ("questions", "base", sizes.batch, sizes.questions),
        ("questions", "large", sizes.batch, sizes.questions),
    ):
        job = training(bench, model, batch, length, what == "questions")
        name = f"training, {what}, {model}, {batch} x {length}"
        work = training_work(bench.shape(model), batch, length)
        yield Timed(name, job, sizes.steps, batch, bench.precision, work)


def draw_texts(bench: Bench) -> list[dict]:
    sizes = bench.sizes
    texts = np.random.default_rng(0).choice(WORDS, (sum(sizes.inputs), sizes.words))
    return [
        {"id": str(i), "text_a": " ".join(words), "label": "ab"[i % 2]}
        for i, words in enumerate(texts)
    ]


def timed_extractions(bench: Bench) -> Iterator[Timed]:
    rows, start, shape = draw_texts(bench), bench.start("base"), bench.shape("base")
    length = bench.sizes.words + 2
    for name, attention, precision, number_bytes in (
        ("maps and states", True, "float32", 4),
        ("states for probes", False, "float16", 2),
    ):

        def job(number: int, attention=attention, precision=precision) -> None:
            files = {bench.folder() / "run.npz": rows[:number]}
            dump(start, files, 128, attention, precision)

        stored = length * (shape.layers + 1) * shape.width * number_bytes
        if attention:
            stored += 4 * length**2 * shape.layers * shape.heads
        work = forward_work(shape, length) | {"moved": 3.0 * stored}
        what = f"extraction, {name}, base, {length} tokens"
        yield Timed(what, job, bench.sizes.inputs, 1, "float32", work)


def timed_probes(bench: Bench) -> Iterator[Timed]:
    data = bench.rated()
    sentences = data / "examples.jsonl"
    inputs = ProbeSettings().batch_records
    for name, probe, settings in (
        ("edge probes of all layers", edge.probe, ProbeSettings),
        ("description lengths", mdl.describe, partial(CodeSettings, portions=(1,))),
    ):

        def job(steps: int, probe=probe, settings=settings) -> None:
            sources = {(1, 0): Source(bench.start("base"), sentences, 64)}
            parts = PartCache(bench.folder(), "")
            probe("made", sources, {"pos": data}, sentences, settings(max_steps=steps), parts)

        yield Timed(f"{name}, base", job, bench.sizes.steps, inputs, "float32", None)


def timed_ablation(bench: Bench) -> Timed:
    rows, start, shape = draw_texts(bench), bench.start("base"), bench.shape("base")
    length = bench.sizes.words + 2
    heads = shape.layers * shape.heads

    def job(number: int) -> None:
        task = load_task(TASK, {"labels": ["a", "b"]})
        model = classifier(bench, "base").to(best_device())
        under_every_ablation(task, model, rows[:number], load_tokenizer(start), ["uniform"])

    work = forward_work(shape, length, shape.layers * (shape.heads + 1) / 2)
    what = f"ablation of {heads} heads, base, {length} tokens"
    return Timed(what, job, bench.sizes.inputs, 1, "float32", work)


def speed(bench: Bench) -> Iterator[dict]:
    """Inputs a second, and the share of the card's peak in the job's precision"""
    for timed in timed_jobs(bench):
        say(f"speed: {timed.what}")
        try:
            measured = rate(timed.job, *timed.pace)
        except Exception:  # noqa: BLE001 - the others are worth their time
            traceback.print_exc()
            yield {"what": timed.what, "precision": "failed, see log.txt"}
            continue
        work = timed.work or {
            "flops": measured["counted"],
            "passes": 3,
            "width": ProbeSettings().width,
            "moved": 0.0,
            "device": 0.0,
        }
        share = None
        if bench.peak:
            peak_bfloat16, peak_float32 = bench.peak
            peak = peak_float32 if timed.precision == "float32" else peak_bfloat16
            share = measured["TFLOP/s"] / peak
        yield {
            "what": timed.what,
            "precision": timed.precision,
            "inputs/s": timed.inputs / measured["seconds"],
            **measured,
            "share of peak": share,
            "GPU MB planned": work["device"] / 1e6 or None,
            **{key: work[key] for key in ("flops", "passes", "width", "moved")},
        }


@contextmanager
def plain_pass(
    model: torch.nn.Module, loss: Callable, autocast_to: torch.dtype | None
) -> Iterator[Callable]:
    """Do what forward_pass does, without its savings."""

    def compute(*batches: dict) -> torch.Tensor:
        with torch.autocast(
            best_device().type, dtype=autocast_to, enabled=autocast_to is not None
        ):
            return loss(model, *batches)

    yield compute


def copy_each(batch: dict, device: torch.device) -> dict:
    return {
        key: value.to(device) if torch.is_tensor(value) else value for key, value in batch.items()
    }


def launches(bench: Bench) -> Iterator[dict]:
    """Milliseconds of a training step, with the savings of training/forward.py and without"""
    sizes = bench.sizes
    for shape, batch, length in (
        ("base", sizes.batch, sizes.length),
        ("base", 8, sizes.length // 4),
        ("large", sizes.batch, sizes.length),
    ):
        say(f"launches: {shape}, {batch} x {length}")
        job = training(bench, shape, batch, length)
        saved = 1e3 * rate(job, *sizes.steps)["seconds"]
        with mock.patch.multiple(
            "bertshift.training.loop", forward_pass=plain_pass, to_device=copy_each
        ):
            plain = 1e3 * rate(job, *sizes.steps)["seconds"]
        yield {
            "model": shape,
            "batch": f"{batch} x {length}",
            "with": saved,
            "without": plain,
            "ratio": plain / saved,
        }


def sweep(bench: Bench) -> Iterator[dict]:
    """Runs of a row side by side, twice as many as train at once: seconds of a run once the first
    ones are done"""
    start, data = bench.start("base"), bench.folder()
    write_data(data, bench.sizes.rows, np.random.default_rng(0))
    training = TRAINING | {"learning_rate": 2e-5, "batch_size": 32, "epochs": 2}
    run = {"task": TASK, "training": training, "variants": ["reinitL1H1"]}
    first_logs = {}
    for number in bench.sizes.at_once:
        say(f"sweep: {number} at once")
        runs = {f"run{seed}": run | {"seed": seed} for seed in range(2 * number)}
        folder, begin = bench.folder(), time.time()
        train_row(runs, start, data, folder, at_once=number)
        ends = sorted((folder / name / "scores.json").stat().st_mtime for name in runs)
        logs = {name: (folder / name / "steps.tsv").read_bytes() for name in runs}
        first_logs = first_logs or logs
        yield {
            "runs at once": number,
            "until the first": ends[0] - begin,
            "seconds a run": (ends[-1] - ends[number - 1]) / number,
            "process MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
            "same losses": all(logs[name] == log for name, log in first_logs.items()),
        }


# What will it cost?


def fit_machine(rows: pd.DataFrame) -> dict[str, float]:
    """Fit the machine by which the plan of these trainings is nearest to what they took: least
    squares of ratios."""
    work = np.stack([rows["flops"], rows["flops"] / rows["width"], rows["passes"]], 1)
    relative = work / rows[["seconds"]].to_numpy()
    scale = relative.mean(0)
    coefficients, _ = nnls(relative / scale, np.ones(len(rows)))
    flop, narrow, one_pass = coefficients / scale
    flop = max(flop, 1e-18)  # where passes explain all of it
    return {"flops": 1 / flop, "half_width": narrow / flop, "pass": one_pass}


def read_costs() -> dict:
    return yaml.safe_load((ROOT / "config/costs.yaml").read_text(encoding="utf-8"))


def costs(bench: Bench) -> Iterator[dict]:
    """Seconds of a step or an input as the plan expects them, to those measured: as shipped, and
    by what is fitted below"""
    table = read_costs()
    machines = table["machines"]
    rows = read_tsv(bench.out / "speed.tsv").dropna(subset="seconds")
    fit = fit_machine(rows[rows["what"].str.startswith("training")])
    if (bench.out / "sweep.tsv").exists():
        process = read_tsv(bench.out / "sweep.tsv")["process MB"].max()
        fit["memory_mb"] = max(0.0, process - table["rules"]["sweep"]["memory_mb"])
    fitted = machines["gpu"] | {key: float(f"{value:.3g}") for key, value in fit.items()}
    card = read_tsv(bench.out / "machine.tsv").loc[0, "card"]
    fitted["origin"] = f"Times on a GPU were measured by benchmarks/gpu.py on {card}."
    text = yaml.safe_dump({"gpu": fitted}, sort_keys=False, width=110)
    write_text(bench.out / "gpu.yaml", text)
    for row in rows.to_dict("records"):
        expected = {}
        for name, gpu in {"shipped": machines["gpu"], "fitted": fitted}.items():
            products = row["flops"] * (1 + gpu["half_width"] / row["width"]) / gpu["flops"]
            passes = row["passes"] * gpu["pass"]
            moves = row["moved"] / machines["cpu"]["moved"]
            expected[name] = (products + passes + moves) / row["seconds"]
        yield {"what": row["what"], "measured": row["seconds"]} | expected


def plan(bench: Bench) -> Iterator[dict]:
    """Hours that the scale `paper` takes on one such GPU, by config/costs.yaml and by what is
    fitted above"""
    room = {"cores": int(read_tsv(bench.out / "machine.tsv").loc[0, "cores"]), "GPUs": 1}
    options = ["--config", "scale=paper"]
    with chdir(ROOT):
        jobs = planning.dry_run("figures/all", "--cores", "1", *options)
        config, _ = planning.parse_options(options)
    shipped = read_costs()
    fitted = yaml.safe_load((bench.out / "gpu.yaml").read_text(encoding="utf-8"))
    texts = []
    for name, machines in {"shipped": {}, "fitted": fitted}.items():
        table = shipped | {"machines": shipped["machines"] | machines}
        estimate = planning.CostEstimate(config, table, has_gpu=True)
        texts.append(planning.plan(jobs, jobs, estimate, room))
        seconds = {key: estimate.cost(job).seconds for key, job in jobs.items()}
        gpu_seconds = sum(seconds[key] for key, job in jobs.items() if job.gpu)
        until_end = planning.until_end(jobs, seconds, room)
        yield {"table": name, "of the GPU": gpu_seconds / 3600, "until the end": until_end / 3600}
    write_text(bench.out / "plan.txt", "\n\n".join(texts))


SECTIONS = {
    section.__name__: section
    for section in (machine, agreement, repeat, memory, speed, launches, sweep, costs, plan)
}
SECTION_FILES = {"costs": "gpu.yaml", "plan": "plan.txt"}  # reported with the section's table
PLAN_COLUMNS = ["counted", "flops", "passes", "width", "moved"]  # columns for other sections
STARTED = time.monotonic()


def say(line: str) -> None:
    print(f"[{time.monotonic() - STARTED:4.0f} s] {line}", file=sys.__stderr__, flush=True)


def judgement(out: Path) -> tuple[bool, str]:
    """Return whether all differences measured so far are within their bounds, and a sentence that
    says so."""
    rows = []
    for name in ("agreement", "memory"):
        file = out / f"{name}.tsv"
        if file.exists():
            rows += read_tsv(file).to_dict("records")
    beyond = [row for row in rows if not row["within"]]
    if not rows:
        return True, "Nothing was compared."
    if not beyond:
        return True, f"All {len(rows)} differences that were looked for are within their bounds."
    template = "{what} ({model}, {precision}): {difference:.2g}, bound {bound:g}"
    differences = "; ".join(template.format(**row) for row in beyond)
    return (
        False,
        f"{len(beyond)} of {len(rows)} differences are beyond their bounds: {differences}.",
    )


def report(out: Path, notes: dict[str, str]) -> str:
    _, sentence = judgement(out)
    parts = [sentence]
    for name, section in SECTIONS.items():
        table_file = out / f"{name}.tsv"
        if table_file.exists():
            table = read_tsv(table_file).drop(columns=PLAN_COLUMNS, errors="ignore")
            lines = table.to_string(index=False, float_format="{:.3g}".format, na_rep="")
            parts.append(f"{name}: {section.__doc__}\n\n{lines}")
        if name in SECTION_FILES and (out / SECTION_FILES[name]).exists():
            parts.append((out / SECTION_FILES[name]).read_text(encoding="utf-8"))
        if name in notes:
            parts.append(notes[name])
    return "\n\n".join(parts) + "\n"


def known_peak() -> tuple[float, float] | None:
    """Look the card up in CARDS; None for an unknown card, or a slice of one."""
    if not on_card():
        return None
    card = set(torch.cuda.get_device_name().replace("-", " ").split())
    if "MIG" in card:
        return None
    return next((peak for words, peak in CARDS.items() if set(words.split()) <= card), None)


def run_section(name: str, bench: Bench, notes: dict[str, str]) -> bool:
    """Write the section's table row by row, and a note if it stops; return whether it did."""
    file = bench.out / f"{name}.tsv"
    file.unlink(missing_ok=True)
    if on_card():
        torch.cuda.empty_cache()  # the sweep's processes need it
    rows = []
    try:
        for row in SECTIONS[name](bench):
            rows.append(row)
            write_tsv(file, pd.DataFrame(rows))
    except ModuleNotFoundError as error:
        package = error.name.partition(".")[0]
        notes[name] = (
            f"{name} needs the package {package}, which is not installed: where it is, call this"
            f" again with the same --out and --only {name}."
        )
    except Exception as error:  # noqa: BLE001 - the other sections are worth their time
        traceback.print_exc()
        notes[name] = f"{name} stopped: {type(error).__name__}: {error} (see log.txt)."
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the tables and the report"
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=[*SECTIONS], metavar="SECTION"
    )
    parser.add_argument(
        "--peak", nargs=2, type=float, metavar=("BF16", "FP32"), help="the card's TFLOP/s"
    )
    parser.add_argument("--tiny", action="store_true", help="tiny models, on a CPU too")
    arguments = parser.parse_args()
    gpus.take_one("benchmarks/gpu.py")
    needs_card = not set(arguments.only) <= set(SECTION_FILES)
    if needs_card and not arguments.tiny and not on_card():
        sys.exit(
            f"{gpus.unusable() or 'torch sees no GPU here'}; --tiny tries this script on the CPU."
        )
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    sizes = TINY if arguments.tiny else FULL
    notes: dict[str, str] = {}
    any_stopped = False
    with (
        tempfile.TemporaryDirectory() as work,
        open(out / "log.txt", "a") as log,
        redirect_stderr(log),
    ):
        bench = Bench(out, Path(work), sizes, arguments.peak or known_peak())
        for name in arguments.only:
            say(name)
            any_stopped |= run_section(name, bench, notes)
            write_text(out / "report.txt", report(out, notes))
    print(report(out, notes))
    all_within, _ = judgement(out)
    return int(any_stopped or not all_within)


if __name__ == "__main__":
    sys.exit(main())
