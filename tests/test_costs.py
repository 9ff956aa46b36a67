from dataclasses import replace

import pytest
import yaml
from conftest import ROOT

from bertshift import costs
from bertshift.config import load_config
from bertshift.costs import Cost, Resources, duration, estimate, plan, simulate
from bertshift.work import WORK, Job

TABLE = costs.read_table(ROOT / "config/costs.yaml")


@pytest.fixture(scope="module")
def config():
    return load_config(yaml.safe_load((ROOT / "config/experiments.yaml").read_text()), ROOT)


def training(number=1, task="mnli", model="mnli", epochs=3, variants=(), **more):
    settings = {
        "task": {"dataset": task, "max_length": 128},
        "training": {"epochs": epochs, "batch_size": 16},
        "variants": list(variants),
    }
    return Job(number, "finetune", {"model": model}, settings, gpu=True, **more)


def finished(tmp_path, job, seconds, megabytes):
    record = tmp_path / f"{job.number}.cost.tsv"
    record.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{seconds}\t0:00:00\t{megabytes}\t1\n")
    return replace(job, needed=False, record=str(record))


def work(job, config):
    return WORK[job.rule](job, costs.sizes_of(config, TABLE))


def test_work_grows_with_what_is_computed(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    once, twice = work(training(epochs=3), config), work(training(epochs=6), config)
    dev = 2 * once.flops - twice.flops
    assert 0 < dev < 0.1 * once.flops
    assert work(training(variants=["keep2"]), config).flops == pytest.approx(once.flops / 2)
    assert work(training(task="squad", model="squad"), config).flops > once.flops
    # Four bytes a parameter: four layers of width 128, 2500 word pieces.
    assert once.disk == pytest.approx(1.22e6 * 4, rel=0.06)


def test_pretraining_on_random_lengths_is_estimated(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = config["bases"]["base"]["pretrain"]
    random, fixed = (
        work(
            Job(1, "pretrain", {"base": "base"}, how | {"lengths": {"longest": 512, "short_length": n}}),
            config,
        )
        for n in (None, 128)
    )
    assert random == fixed


def test_a_prepared_data_set_tells_its_own_size(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = work(training(), config)
    (tmp_path / "results/data/mnli").mkdir(parents=True)
    (tmp_path / "results/data/mnli/dataset.json").write_text('{"rows": {"train": 36, "dev": 5}}')
    assert work(training(), config).flops == pytest.approx(before.flops / 100)


def test_finished_jobs_move_an_estimate_to_what_they_took(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left, other = training(9), Job(10, "rsa_of_mine")
    alone = estimate([left, other], config, TABLE, False)
    own = [
        finished(tmp_path, training(number), 3 * alone[9].seconds, 2 * alone[9].memory / 1e6)
        for number in (1, 2)
    ]
    refined = estimate([*own, left, other], config, TABLE, False)
    assert refined[9].seconds == pytest.approx(3 * alone[9].seconds)
    assert refined[9].memory == pytest.approx(2 * alone[9].memory)
    # A slow machine is slow for all rules, but what a rule needs says nothing of another's memory.
    assert refined[10].seconds == pytest.approx(3 * alone[10].seconds)
    assert refined[10].memory == alone[10].memory
    assert "2 of your own jobs, 3.00 of the time expected" in plan(
        [*own, left], config, TABLE, Resources(cores=2)
    )


@pytest.mark.parametrize("text", ["", "s\th:m:s\tmax_rss\tcpu_time\n-\t-\t-\t-\n"])
def test_a_record_that_tells_nothing_is_none(config, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    job = finished(tmp_path, training(), 100, 100)
    (tmp_path / "1.cost.tsv").write_text(text)
    assert costs.own_cost(job) is None


def test_too_short_to_be_measured(tmp_path):
    assert costs.own_cost(finished(tmp_path, training(), 0.2, "NA")) == Cost(0.2, 0, 0)


def test_a_job_that_runs_again_is_not_its_own_measure(tmp_path):
    assert costs.own_cost(replace(finished(tmp_path, training(), 1, 1), needed=True)) is None


def test_a_gpu_counts_gpu_hours(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        plan([training()], config, TABLE, limits).split("total")[1].split()[:3]
        for limits in (Resources(cores=2), Resources(jobs=100, has_gpu=True))
    ]
    assert rows[0][:2] == ["1", "-"] and rows[1][0] == "1" and rows[1][2] == "-"
    assert "assumed" in plan([training()], config, TABLE, Resources(jobs=100, has_gpu=True))


def jobs_of_seconds(*seconds, **more):
    jobs = [Job(number, "any", **more) for number in range(len(seconds))]
    return jobs, {number: Cost(one, 0, 7) for number, one in enumerate(seconds)}


def test_time_until_the_last_job_ends():
    jobs, each = jobs_of_seconds(10, 10, 10, 30)
    assert simulate(jobs, each, Resources(cores=2)) == (30, 0)
    assert simulate(jobs, each, Resources(jobs=1)) == (60, 0)
    assert simulate(jobs, each, Resources(cores=8)) == (30, 0)
    chain = [replace(job, after=(job.number - 1,) if job.number else ()) for job in jobs]
    assert simulate(chain, each, Resources(cores=8)) == (60, 0)
    # What needs more threads than there are cores runs with those that there are.
    assert simulate([replace(job, threads=8) for job in jobs], each, Resources(cores=2)) == (60, 0)
    assert simulate([replace(job, gpu=True) for job in jobs], each, Resources(cores=8, gpus=1)) == (60, 0)
    assert simulate([], {}, Resources(cores=2)) == (0, 0)


def test_temporary_files_are_held_until_all_have_read_them():
    jobs, each = jobs_of_seconds(1, 1, 5, 5, temporary=True)
    readers = [replace(jobs[n + 2], after=(n,), temporary=False) for n in (0, 1)]
    assert simulate([*jobs[:2], *readers], each, Resources(cores=2))[1] == 14
    # On one core, the first is read before the second is made.
    assert simulate([*jobs[:2], *readers], each, Resources(cores=1))[1] == 7


def test_durations_as_a_person_says_them():
    assert [duration(n) for n in (40, 1440, 12000, 187200)] == ["40 s", "24 min", "3 h 20 min", "2 days 4 h"]
