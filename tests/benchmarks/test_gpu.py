"""benchmarks/gpu.py on the CPU, with tiny models."""

import importlib.util
import os
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT

from bertshift.files import read_tsv, write_tsv

SCRIPT = ROOT / "benchmarks/gpu.py"


@pytest.fixture(scope="module")
def gpu():
    spec = importlib.util.spec_from_file_location("benchmark_of_gpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow("a whole benchmark")
def test_a_cpu_gives_its_own_numbers_and_every_section_a_table(gpu, tmp_path):
    alone = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, SCRIPT, "--tiny", "--out", tmp_path]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tables = {name: read_tsv(tmp_path / f"{name}.tsv") for name in gpu.SECTIONS}
    assert all(len(table) for table in tables.values())
    assert all(f"\n{name}: " in done.stdout for name in gpu.SECTIONS)
    agreement, memory, speed = (tables[name] for name in ("agreement", "memory", "speed"))
    assert set(agreement["what"]) | {"gradient"} == set(gpu.BOUNDS)
    assert (agreement["difference"] == 0).all() and tables["repeat"]["same"].all()
    assert memory["divided"].all() and memory["within"].all() and (memory["difference"] > 0).all()
    assert (speed["inputs/s"] > 0).all() and (speed["TFLOP/s"] > 0).all()
    assert tables["sweep"]["same losses"].all() and (tables["plan"]["of the GPU"] > 0).all()


@pytest.mark.parametrize("planted, within", [(1e-6, True), (1e-3, False), (float("nan"), False)])
def test_a_difference_beyond_its_bound_is_reported(gpu, tmp_path, monkeypatch, planted, within):
    def made(bench, shape, device, precision, ablated=None):
        folder = bench.folder()
        (folder / "trained").mkdir()
        losses = [0.5, 1 + planted if (device, shape) == ("gpu", "large") else 1.0]
        write_tsv(folder / "trained/steps.tsv", pd.DataFrame({"step": [1, 2], "loss": losses}))
        return folder

    monkeypatch.setattr(gpu, "small_jobs", made)
    bench = gpu.Bench(tmp_path, tmp_path, gpu.TINY)
    bench.precisions = ["float32"]
    write_tsv(tmp_path / "agreement.tsv", pd.DataFrame(gpu.agreement(bench)))
    good, sentence = gpu.judgement(tmp_path)
    assert good == within
    assert ("1 of 2" in sentence and "trained/steps.tsv (large, float32)" in sentence) == (
        not within
    )
