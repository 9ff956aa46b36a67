"""Does a GPU give the CPU's numbers, how fast is it, and what will the scale `paper` cost on it?
Some ten minutes.

    PYTHONPATH=workflow python3 benchmarks/gpu.py --out FOLDER [--only agreement speed ...] [--peak 989 67]

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
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
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
    from bertshift.models.tokenizer import load_tokenizer
    from bertshift.probes import edge, mdl, structural
    from bertshift.probes.settings import CodeSettings, ProbeSettings, StructuralSettings
    from bertshift.requests.shapes import Shape
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
        f"benchmarks/gpu.py needs the package {error.name}; install it (pip install .) and call this again."
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
# shapes: layers, heads, width. steps, inputs: how many before the clock runs, and while it does.
FULL = SimpleNamespace(
    shapes={"base": (12, 12, 768), "large": (24, 16, 1024), "narrow": (4, 4, 256)}, vocabulary=30522,
    sentences=200, trained=8, ablated=8, batch=32, length=128, questions=384, words=48, steps=(5, 40),
    inputs=(128, 256), memory=(64, 128), at_once=(1, 2, 4, 8), rows=1600,
)  # fmt: skip
TINY = SimpleNamespace(
    shapes={"base": (2, 2, 32), "large": (3, 2, 48), "narrow": (1, 2, 16)}, vocabulary=600,
    sentences=32, trained=2, ablated=4, batch=4, length=12, questions=20, words=8, steps=(1, 2),
    inputs=(2, 2), memory=(8, 12), at_once=(1, 2), rows=32,
)  # fmt: skip
RATING = TASK | {"kind": "regression", "metrics": ["pearson"], "max_length": 64}


class Bench:
    """Folders of models and inputs, made when they are first asked for, and what the card can
    do."""

    def __init__(self, out: Path, work: Path, sizes: SimpleNamespace, peak: tuple | None = None):
        self.out, self.work, self.sizes, self.peak = out, work, sizes, peak
        self.start, self.rated = cache(self._start), cache(self._rated)
        narrow = not on_card() or torch.cuda.is_bf16_supported(including_emulation=False)
        self.precision = "bfloat16" if narrow else "float32"
        self.precisions = dict.fromkeys(["float32", self.precision])

    def shape(self, name: str) -> Shape:
        return Shape(*self.sizes.shapes[name], self.sizes.vocabulary)

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.work))

    def _start(self, name: str) -> Path:
        write_encoder(
            folder := self.folder(), *self.sizes.shapes[name], vocabulary=self.sizes.vocabulary
        )
        return folder

    def _rated(self) -> Path:
        """Sentences of random words with trees, a rating of each, and a part of speech of each
        word."""
        rng, folder, rows, records = np.random.default_rng(0), self.folder(), [], defaultdict(list)
        for i in range(self.sizes.sentences):
            picked = rng.integers(len(WORDS), size=rng.integers(5, 28))
            words, split = [WORDS[k] for k in picked], ("dev", "test", "train")[i % 3]
            heads = [
                int(rng.integers(max(1, n - 3), n + 1)) if n else 0 for n in range(len(words))
            ]
            row = {
                "id": str(i),
                "split": split,
                "text_a": " ".join(words),
                "label": float(picked[0] / 100),
            }
            rows.append(row | {"words": words, "upos": ["NOUN"] * len(words), "heads": heads})
            targets = [target(f"t{k % 8}", (n, n + 1)) for n, k in enumerate(picked)]
            records[split].append(record("pos", "made", words, targets))
        write_rows(folder, rows, labels=None)
        known = {"labels": [f"t{k}" for k in range(8)], "counts": {split: {} for split in records}}
        write_json(folder / "edges.json", {"spans": 1, "multilabel": False} | known)
        for split, some in records.items():
            write_jsonl(folder / f"{split}.jsonl", some)
        return folder


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


def calm(model: torch.nn.Module, *batches: dict, loss=TextClassification.loss) -> torch.Tensor:
    """A loss without dropout, whose random numbers are others on a GPU."""
    return loss(model.eval(), *batches)


def small_jobs(bench, shape, device, precision, dropout=False, ablated=None) -> Path:
    """A small training, extraction, edge probe, structural probe, ablation of the model in
    `ablated`, and noise.

    Only training depends on the precision: in bfloat16 without dropout, nothing else is done.
    """
    say(f"small jobs: {shape}, {precision}, on the {device}")
    folder, start, data = bench.folder(), bench.start(shape), bench.rated()
    sentences, trained, steps = data / "examples.jsonl", folder / "trained", bench.sizes.trained
    how = {
        "learning_rate": 2e-5,
        "batch_size": 16,
        "steps": steps,
        "norms_every": 1,
        "precision": precision,
    }
    with ExitStack() as patches:
        if device == "cpu":
            patches.enter_context(mock.patch("torch.cuda.is_available", return_value=False))
        if not dropout:
            patches.enter_context(
                mock.patch.object(TextClassification, "loss", staticmethod(calm))
            )
        trainer(start, data)({"task": RATING, "training": how, "variants": [], "seed": 1}, trained)
        if precision == "bfloat16" and not dropout:
            return folder
        rows, sources = read_examples(data, "dev"), {(1, 0): Source(start, sentences, 64)}
        dump(start, {folder / "states.npz": rows}, 64, attention=True, precision="float32")
        drop = {} if dropout else {"input_dropout": 0.0, "hidden_dropout": 0.0}
        how = ProbeSettings(max_steps=5 * steps, probe_seeds=1, **drop)
        kept = PartCache(folder / "parts", "")
        table, _ = edge.probe("made", sources, {"pos": data}, sentences, how, kept)
        write_tsv(folder / "edge_probes.tsv", table)
        table = structural.probe(
            "made", sources, sentences, StructuralSettings(rank=16, epochs=2), kept
        )
        write_tsv(folder / "structural_probes.tsv", table)
        kept.remove()
        models, few = {str(ablated or trained): (1, 1)}, rows[: bench.sizes.ablated]
        _, arrays = ablate("made", RATING, models, few, read_sidecar(data), ["uniform"])
        np.savez(folder / "ablation.npz", said=arrays["init1_seed1.said"])
        add_noise(model := load_encoder(start), load_encoder(trained), seed=1)
        save_model(folder / "noise", model, load_tokenizer(start))
    return folder


def members(file: Path) -> dict[str, np.ndarray]:
    """The numbers in a file, by their names."""
    if file.suffix == ".safetensors":
        return {name.removeprefix("bert."): value for name, value in load_file(file).items()}
    if file.suffix == ".npz":
        return dict(np.load(file))
    table = read_tsv(file) if file.suffix == ".tsv" else {}
    return {name: column.to_numpy() for name, column in table.items()}


def difference(reference: Path, other: Path, start: Path) -> tuple[float, str]:
    """How far two files are from each other, as BOUNDS says, and the member that differs most."""
    one, two = (
        {k: v for k, v in members(f).items() if v.dtype.kind == "f"} for f in (reference, other)
    )
    largest = {name: np.nanmax(np.abs(value), initial=0) for name, value in one.items()}
    gaps = {
        name: _gap(value, two[name]) / float(largest[name] or 1) for name, value in one.items()
    }
    where = max(gaps, key=gaps.get, default="")
    if not gaps.get(where):
        return 0.0, ""
    if reference.suffix != ".safetensors":
        return gaps[where], where
    before = members(start / reference.name)
    moved = sum(
        np.square(value - before.get(name, 0)).sum(dtype=float) for name, value in one.items()
    )
    apart = sum(np.square(two[name] - value).sum(dtype=float) for name, value in one.items())
    return float(np.sqrt(apart / moved)), where


def _gap(one: np.ndarray, two: np.ndarray) -> float:
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    return float(np.nan_to_num(np.abs(two - one), nan=np.inf)[~same].max(initial=0))


def judged(what: str, precision: str, found: float) -> dict:
    bound = BOUNDS[what][precision == "bfloat16"]
    row = {"what": what, "precision": precision, "difference": found, "bound": bound}
    return row | {"within": found <= bound}


def agreement(bench: Bench) -> Iterator[dict]:
    """The same small jobs on CPU and GPU: how far their files are from each other"""
    for shape in ("base", "large"):
        for precision in bench.precisions:
            on_cpu = small_jobs(bench, shape, "cpu", precision)
            on_gpu = small_jobs(bench, shape, "gpu", precision, ablated=on_cpu / "trained")
            for file in BOUNDS:
                if (on_cpu / file).exists():
                    found, where = difference(on_cpu / file, on_gpu / file, bench.start(shape))
                    yield {"model": shape} | judged(file, precision, found) | {"most in": where}
            shutil.rmtree(on_cpu)
            shutil.rmtree(on_gpu)


def repeat(bench: Bench) -> Iterator[dict]:
    """The same jobs on the GPU twice, with dropout: are the files the same, byte by byte?"""
    for shape in ("base", "large"):
        first, again = (
            small_jobs(bench, shape, "gpu", bench.precision, dropout=True) for _ in "ab"
        )
        for file in sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file()):
            row = {"model": shape, "file": file, "same": True}
            if (first / file).read_bytes() != (again / file).read_bytes():
                found, where = difference(first / file, again / file, bench.start(shape))
                row |= {"same": False, "difference": found, "most in": where}
            yield row
        shutil.rmtree(first)
        shutil.rmtree(again)


def one_step(bench: Bench, precision: str, number: int, limit: float = 0) -> SimpleNamespace:
    """The gradient of a step on so many inputs, the sizes of its parts, and the bytes that it
    took; `limit`: at most."""
    (batch, length), sizes, kept = bench.sizes.memory, [], []

    def loss(model: torch.nn.Module, *batches: dict) -> torch.Tensor:
        sizes.append(len(batches[0]["targets"]))
        if limit and not on_card() and sizes[-1] == batch:
            raise torch.cuda.OutOfMemoryError
        return calm(model, *batches)

    def keep(optimizer: torch.optim.Optimizer, *_) -> None:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        kept.extend(weight.grad.flatten().cpu() for weight in weights if weight.grad is not None)

    how = TrainSettings(
        learning_rate=1e-5, batch_size=batch, steps=1, max_grad_norm=0, precision=precision
    )
    model, hook = classifier(bench, "base"), register_optimizer_step_pre_hook(keep)
    if on_card():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit / whole or 1.0)
    try:
        examples = encoded(bench, batch, length)[:number]
        train(model, examples, padded(TextClassification), loss, how, 0, bench.folder())
    finally:
        hook.remove()
        if on_card():
            torch.cuda.set_per_process_memory_fraction(1.0)
    taken = torch.cuda.max_memory_reserved() if on_card() else 1
    return SimpleNamespace(gradient=torch.cat(kept), sizes=sizes, bytes=taken)


def memory(bench: Bench) -> Iterator[dict]:
    """A batch that memory does not hold: the gradient of its parts, against that of the whole"""
    for precision in bench.precisions:
        step, (batch, _) = partial(one_step, bench, precision), bench.sizes.memory
        half, whole = step(batch // 2), step(batch)
        parts = step(batch, limit=(half.bytes + whole.bytes) / 2)
        found = float((parts.gradient - whole.gradient).norm() / whole.gradient.norm())
        tried = {"inputs tried": ", ".join(map(str, parts.sizes)), "divided": len(parts.sizes) > 1}
        yield {"model": "base"} | judged("gradient", precision, found) | tried


# How fast is it?


def classifier(bench: Bench, shape: str) -> SequenceClassifier:
    return SequenceClassifier(load_encoder(bench.start(shape)), outputs=2)


def encoded(
    bench: Bench, number: int, length: int, targets: Callable = lambda i: i % 2
) -> list[Encoded]:
    ids = np.random.default_rng(0).integers(5, bench.sizes.vocabulary, (number, length)).tolist()
    return [Encoded(own, [0] * length, targets(i)) for i, own in enumerate(ids)]


def padded(task: type) -> Callable:
    """The batches of a task, in which about every other input is one token shorter."""

    def cut(one: Encoded) -> Encoded:
        end = len(one) - one.input_ids[0] % 2
        return Encoded(one.input_ids[:end], one.token_type_ids[:end], one.target)

    return lambda examples: task.collate([*map(cut, examples)], pad_id=0)


def training(
    bench: Bench, shape: str, batch: int, length: int, questions: bool = False
) -> Callable:
    """A job of so many steps."""
    task, targets = (
        (AnswerSpans, lambda _: (1, 2)) if questions else (TextClassification, lambda i: i % 2)
    )
    examples = encoded(bench, 4 * batch, length, targets)

    def job(steps: int) -> None:
        how = TrainSettings(
            learning_rate=1e-5, batch_size=batch, steps=steps, precision=bench.precision
        )
        model = (
            SpanClassifier(load_encoder(bench.start(shape)))
            if questions
            else classifier(bench, shape)
        )
        train(model, examples, padded(task), task.loss, how, 0, bench.folder())

    return job


def rate(job: Callable[[int], None], few: int, more: int) -> dict:
    """Seconds and operations of one more step or input; what a job does once, as loading, is not
    in it."""

    def operations(number: int) -> int:
        with FlopCounterMode(display=False) as counter:
            job(number)
        return counter.get_total_flops()

    def seconds(number: int) -> float:
        begun = time.perf_counter()
        job(number)
        return time.perf_counter() - begun

    counted = (operations(2 * few) - operations(few)) / few
    if on_card():
        torch.cuda.reset_peak_memory_stats()
    short, long = seconds(few), seconds(few + more)
    # A machine that is busy elsewhere may take longer for less: then all of it, for lack of
    # better.
    taken = (long - short) / more if long > short else long / (few + more)
    peak = torch.cuda.max_memory_allocated() / 1e6 if on_card() else None
    return {
        "seconds": taken,
        "TFLOP/s": counted / taken / 1e12,
        "GPU MB": peak,
        "counted": counted,
    }


def passed(shape: Shape, length: int, times: float = 1) -> dict:
    """The plan's work of an input that passes through a model."""
    flops = times * shape.operations(1, length)
    return {
        "flops": flops,
        "passes": times * shape.layers,
        "width": shape.width,
        "moved": 0.0,
        "device": 0.0,
    }


def learned(shape: Shape, batch: int, length: int) -> dict:
    """The plan's work of a step of training."""
    held = shape.training_bytes(batch * length, length)
    return passed(shape, length, 3) | {
        "flops": 3 * shape.operations(batch, length),
        "device": held,
    }


def measured(
    bench: Bench,
) -> Iterator[tuple[str, Callable, tuple[int, int], int, str, dict | None]]:
    """What is timed: its name, a job of so many steps or inputs, how many, inputs in one,
    precision, and the plan's work."""
    sizes, data, start, shape = (
        bench.sizes,
        bench.rated(),
        bench.start("base"),
        bench.shape("base"),
    )
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
        yield (
            name,
            job,
            sizes.steps,
            batch,
            bench.precision,
            learned(bench.shape(model), batch, length),
        )

    texts = np.random.default_rng(0).choice(WORDS, (sum(sizes.inputs), sizes.words))
    rows = [
        {"id": str(i), "text_a": " ".join(words), "label": "ab"[i % 2]}
        for i, words in enumerate(texts)
    ]
    length = sizes.words + 2
    for name, kind in {
        "maps and states": (True, "float32"),
        "states for probes": (False, "float16"),
    }.items():

        def job(number: int, kind=kind) -> None:
            dump(start, {bench.folder() / "run.npz": rows[:number]}, 128, *kind)

        states = length * (shape.layers + 1) * shape.width * (2 if kind[1] == "float16" else 4)
        stored = states + 4 * length**2 * shape.layers * shape.heads * kind[0]
        work = passed(shape, length) | {"moved": 3.0 * stored}
        yield f"extraction, {name}, base, {length} tokens", job, sizes.inputs, 1, "float32", work

    sentences, code = data / "examples.jsonl", partial(CodeSettings, portions=(1,))
    kinds = {
        "edge probes of all layers": (edge.probe, ProbeSettings),
        "description lengths": (mdl.describe, code),
    }
    for name, (probe, settings) in kinds.items():

        def job(steps: int, probe=probe, settings=settings) -> None:
            states, how = {(1, 0): Source(start, sentences, 64)}, settings(max_steps=steps)
            probe("made", states, {"pos": data}, sentences, how, PartCache(bench.folder(), ""))

        yield f"{name}, base", job, sizes.steps, ProbeSettings().batch_records, "float32", None

    def job(number: int) -> None:
        task, model = (
            load_task(TASK, {"labels": ["a", "b"]}),
            classifier(bench, "base").to(best_device()),
        )
        under_every_ablation(task, model, rows[:number], load_tokenizer(start), ["uniform"])

    work = passed(shape, length, shape.layers * (shape.heads + 1) / 2)
    name = f"ablation of {shape.layers * shape.heads} heads, base, {length} tokens"
    yield name, job, sizes.inputs, 1, "float32", work


def speed(bench: Bench) -> Iterator[dict]:
    """Inputs a second, and the share of the card's peak in the job's precision"""
    for what, job, pace, inputs, precision, work in measured(bench):
        say(f"speed: {what}")
        try:
            found = rate(job, *pace)
        except Exception:  # noqa: BLE001 - the others are worth their time
            traceback.print_exc()
            yield {"what": what, "precision": "failed, see log.txt"}
            continue
        width = ProbeSettings().width
        probe = {
            "flops": found["counted"],
            "passes": 3,
            "width": width,
            "moved": 0.0,
            "device": 0.0,
        }
        work = work or probe
        share = found["TFLOP/s"] / bench.peak[precision == "float32"] if bench.peak else None
        row = {"what": what, "precision": precision, "inputs/s": inputs / found["seconds"]} | found
        planned = {key: work[key] for key in ("flops", "passes", "width", "moved")}
        yield (
            row
            | {"share of peak": share, "GPU MB planned": work["device"] / 1e6 or None}
            | planned
        )


@contextmanager
def plain_pass(
    model: torch.nn.Module, loss: Callable, autocast_to: torch.dtype | None
) -> Iterator[Callable]:
    """What forward_pass would be without its savings."""

    def computed(*batches: dict) -> torch.Tensor:
        with torch.autocast(
            best_device().type, dtype=autocast_to, enabled=autocast_to is not None
        ):
            return loss(model, *batches)

    yield computed


def copied(batch: dict, device: torch.device) -> dict:
    return {
        key: value.to(device) if torch.is_tensor(value) else value for key, value in batch.items()
    }


def launches(bench: Bench) -> Iterator[dict]:
    """Milliseconds of a training step, with the savings of training/forward.py and without"""
    batch, length = bench.sizes.batch, bench.sizes.length
    for shape, *size in (
        ("base", batch, length),
        ("base", 8, length // 4),
        ("large", batch, length),
    ):
        say(f"launches: {shape}, {size[0]} x {size[1]}")
        job = training(bench, shape, *size)
        saved = 1e3 * rate(job, *bench.sizes.steps)["seconds"]
        with mock.patch.multiple(
            "bertshift.training.loop", forward_pass=plain_pass, to_device=copied
        ):
            plain = 1e3 * rate(job, *bench.sizes.steps)["seconds"]
        found = {"with": saved, "without": plain, "ratio": plain / saved}
        yield {"model": shape, "batch": "{} x {}".format(*size)} | found


def sweep(bench: Bench) -> Iterator[dict]:
    """Runs of a row side by side, twice as many as train at once: seconds of a run once the first
    ones are done"""
    start, data, first = bench.start("base"), bench.folder(), {}
    write_data(data, bench.sizes.rows, np.random.default_rng(0))
    how = TRAINING | {"learning_rate": 2e-5, "batch_size": 32, "epochs": 2}
    for number in bench.sizes.at_once:
        say(f"sweep: {number} at once")
        run = {"task": TASK, "training": how, "variants": ["reinitL1H1"]}
        runs = {f"run{seed}": run | {"seed": seed} for seed in range(2 * number)}
        out, begun = bench.folder(), time.time()
        train_row(runs, start, data, out, at_once=number)
        ends = sorted((out / name / "scores.json").stat().st_mtime for name in runs)
        logs = {name: (out / name / "steps.tsv").read_bytes() for name in runs}
        first = first or logs
        yield {
            "runs at once": number,
            "until the first": ends[0] - begun,
            "seconds a run": (ends[-1] - ends[number - 1]) / number,
            "process MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
            "same losses": all(logs[name] == first[name] for name in first),
        }


# What will it cost?


def fitted(rows: pd.DataFrame) -> dict[str, float]:
    """The machine by which the plan of these trainings is nearest to what they took: least squares
    of ratios."""
    asked = np.stack([rows["flops"], rows["flops"] / rows["width"], rows["passes"]], 1)
    relative = asked / rows[["seconds"]].to_numpy()
    size = relative.mean(0)
    flop, narrow, one_pass = nnls(relative / size, np.ones(len(rows)))[0] / size
    flop = max(flop, 1e-18)  # where passes explain all of it
    return {"flops": 1 / flop, "half_width": narrow / flop, "pass": one_pass}


def costs(bench: Bench) -> Iterator[dict]:
    """Seconds of a step or an input as the plan expects them, to those measured: as shipped, and
    by what is fitted below"""
    table = yaml.safe_load((ROOT / "config/costs.yaml").read_text(encoding="utf-8"))
    rows, machines = read_tsv(bench.out / "speed.tsv").dropna(subset="seconds"), table["machines"]
    found = fitted(rows[rows["what"].str.startswith("training")])
    if (bench.out / "sweep.tsv").exists():
        process = read_tsv(bench.out / "sweep.tsv")["process MB"].max()
        found["memory_mb"] = max(0.0, process - table["rules"]["sweep"]["memory_mb"])
    own = machines["gpu"] | {key: float(f"{value:.3g}") for key, value in found.items()}
    card = read_tsv(bench.out / "machine.tsv").loc[0, "card"]
    own["origin"] = f"Times on a GPU were measured by benchmarks/gpu.py on {card}."
    write_text(bench.out / "gpu.yaml", yaml.safe_dump({"gpu": own}, sort_keys=False, width=110))
    for row in rows.to_dict("records"):
        expected = {}
        for name, gpu in {"shipped": machines["gpu"], "fitted": own}.items():
            products = row["flops"] * (1 + gpu["half_width"] / row["width"]) / gpu["flops"]
            seconds = (
                products + row["passes"] * gpu["pass"] + row["moved"] / machines["cpu"]["moved"]
            )
            expected[name] = seconds / row["seconds"]
        yield {"what": row["what"], "measured": row["seconds"]} | expected


def plan(bench: Bench) -> Iterator[dict]:
    """Hours that the scale `paper` takes on one such GPU, by config/costs.yaml and by what is
    fitted above"""
    room = {"cores": int(read_tsv(bench.out / "machine.tsv").loc[0, "cores"]), "GPUs": 1}
    options = ["--config", "scale=paper"]
    with chdir(ROOT):
        jobs = planning.dry_run("--cores", "1", *options)
        config, _ = planning.parse_options(options)
    shipped = yaml.safe_load((ROOT / "config/costs.yaml").read_text(encoding="utf-8"))
    own, texts = yaml.safe_load((bench.out / "gpu.yaml").read_text(encoding="utf-8")), []
    for name, machines in {"shipped": {}, "fitted": own}.items():
        table = shipped | {"machines": shipped["machines"] | machines}
        estimate = planning.Estimate(config, table, has_gpu=True)
        texts.append(planning.plan(jobs, jobs, estimate, room))
        seconds = {key: estimate.cost(job).seconds for key, job in jobs.items()}
        of_gpu = sum(seconds[key] for key, job in jobs.items() if job.gpu)
        until_end = planning.until_end(jobs, seconds, room)
        yield {"table": name, "of the GPU": of_gpu / 3600, "until the end": until_end / 3600}
    write_text(bench.out / "plan.txt", "\n\n".join(texts))


SECTIONS = {
    one.__name__: one
    for one in (machine, agreement, repeat, memory, speed, launches, sweep, costs, plan)
}
BESIDE = {"costs": "gpu.yaml", "plan": "plan.txt"}
OF_THE_PLAN = ["counted", "flops", "passes", "width", "moved"]  # columns for other sections
STARTED = time.monotonic()


def say(line: str) -> None:
    print(f"[{time.monotonic() - STARTED:4.0f} s] {line}", file=sys.__stderr__, flush=True)


def judgement(out: Path) -> tuple[bool, str]:
    """Whether all differences that were found so far are within their bounds, and a sentence that
    says so."""
    tables = [
        read_tsv(file)
        for name in ("agreement", "memory")
        if (file := out / f"{name}.tsv").exists()
    ]
    rows = [row for table in tables for row in table.to_dict("records")]
    beyond = [row for row in rows if not row["within"]]
    if not rows:
        return True, "Nothing was compared."
    if not beyond:
        return True, f"All {len(rows)} differences that were looked for are within their bounds."
    each = "{what} ({model}, {precision}): {difference:.2g}, bound {bound:g}"
    named = "; ".join(each.format(**row) for row in beyond)
    return False, f"{len(beyond)} of {len(rows)} differences are beyond their bounds: {named}."


def report(out: Path, notes: dict[str, str]) -> str:
    parts = [judgement(out)[1]]
    for name, section in SECTIONS.items():
        if (file := out / f"{name}.tsv").exists():
            table = read_tsv(file).drop(columns=OF_THE_PLAN, errors="ignore")
            lines = table.to_string(index=False, float_format="{:.3g}".format, na_rep="")
            parts.append(f"{name}: {section.__doc__}\n\n{lines}")
        if name in BESIDE and (file := out / BESIDE[name]).exists():
            parts.append(file.read_text(encoding="utf-8"))
        if name in notes:
            parts.append(notes[name])
    return "\n\n".join(parts) + "\n"


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
    if not (arguments.tiny or on_card() or {*arguments.only} <= {*BESIDE}):
        sys.exit(
            f"{gpus.unusable() or 'torch sees no GPU here'}; --tiny tries this script on the CPU."
        )
    card = {*torch.cuda.get_device_name().replace("-", " ").split()} if on_card() else set()
    known = [
        peak for words, peak in CARDS.items() if {*words.split()} <= card and "MIG" not in card
    ]
    out, sizes, notes, stopped = (
        arguments.out.resolve(),
        TINY if arguments.tiny else FULL,
        {},
        False,
    )
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        open(out / "log.txt", "a") as log,
        redirect_stderr(log),
    ):
        bench = Bench(out, Path(work), sizes, arguments.peak or next(iter(known), None))
        for name in arguments.only:
            say(name)
            rows = []
            (out / f"{name}.tsv").unlink(missing_ok=True)
            if on_card():
                torch.cuda.empty_cache()  # the sweep's processes need it
            try:
                for row in SECTIONS[name](bench):
                    rows.append(row)
                    write_tsv(out / f"{name}.tsv", pd.DataFrame(rows))
            except ModuleNotFoundError as error:
                package = error.name.partition(".")[0]
                again = f"where it is, call this again with the same --out and --only {name}"
                notes[name] = (
                    f"{name} needs the package {package}, which is not installed: {again}."
                )
            except Exception as error:  # noqa: BLE001 - the other sections are worth their time
                traceback.print_exc()
                stopped = True
                notes[name] = f"{name} stopped: {type(error).__name__}: {error} (see log.txt)."
            write_text(out / "report.txt", report(out, notes))
    print(report(out, notes))
    return int(stopped or not judgement(out)[0])


if __name__ == "__main__":
    sys.exit(main())
