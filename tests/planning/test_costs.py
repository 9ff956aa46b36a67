import json
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from conftest import ROOT

from bertshift.activations.store import writing
from bertshift.config import load_config, read_yaml
from bertshift.measures.registry import METRICS
from bertshift.planning import costs
from bertshift.planning.costs import (
    Cost,
    Job,
    Resources,
    duration,
    estimate,
    plan,
    simulate,
)
from bertshift.requests import comparing, data, figures, finetuning, pretraining, probing
from bertshift.requests.work import ROW_BYTES, Shape

TABLE = read_yaml(ROOT / "config/costs.yaml")


@pytest.fixture(scope="module")
def config():
    return load_config(yaml.safe_load((ROOT / "config/experiments.yaml").read_text()), ROOT)


@pytest.fixture
def paper(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    user = yaml.safe_load((ROOT / "config/experiments.yaml").read_text())
    return load_config(user | {"scale": "paper"}, ROOT)


def work(request, config, **wildcards):
    return request(config, **wildcards).work(costs.sizes_of(config, TABLE))


def changed(config, section, **values):
    return config | {section: config[section] | values}


def tuned(config, model="mnli", **task):
    config = changed(config, "tasks", mnli=config["tasks"]["mnli"] | task)
    return work(finetuning.finetune, config, model=model, init="1", seed="1")


def training(config, number=1, **more):
    return Job(number, "finetune", tuned(config), gpu=True, **more)


def test_snapshots_cost_what_their_share_of_the_training_does(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = config | {"snapshots": [0, 10, 50]}
    whole, half = tuned(config, epochs=4), tuned(config, epochs=2)
    dev = 2 * half.flops - whole.flops
    asked = {"stem": "mnli", "checkpoint": "", "init": "1", "seed": "1"}
    tasks = changed(config, "tasks", mnli=config["tasks"]["mnli"] | {"epochs": 4})
    snapshots = work(finetuning.snapshots, tasks, **asked)
    assert snapshots.flops == pytest.approx(half.flops + 2 * dev)
    assert snapshots.disk == pytest.approx(3 * whole.disk)


def finished(tmp_path, job, seconds, megabytes):
    record = tmp_path / f"{job.number}.cost.tsv"
    record.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{seconds}\t0:00:00\t{megabytes}\t1\n")
    return replace(job, needed=False, record=str(record))


def test_work_grows_with_what_is_computed(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    once, twice = tuned(config, epochs=3), tuned(config, epochs=6)
    dev = 2 * once.flops - twice.flops
    assert 0 < dev < 0.1 * once.flops
    assert tuned(config, "mnli.keep2", epochs=3).flops == pytest.approx(once.flops / 2)
    # Four bytes a parameter: four layers of width 128, 2500 word pieces.
    assert once.disk == pytest.approx(1.22e6 * 4, rel=0.06)


def test_every_rule_has_a_stage():
    files = [*(ROOT / "workflow/rules").glob("*.smk")]
    named = {name for file in files for name in re.findall(r"^ *rule (\w+):", file.read_text(), re.MULTILINE)}
    rules = named - {"plan"} | METRICS.keys()
    assert len(rules) > 40
    assert {rule for rule in rules if costs.stage(rule, TABLE) == len(TABLE["stages"])} == set()
    assert TABLE["rules"].keys() <= {*rules, "other"}


@pytest.mark.parametrize("how", [("float32", True, None), ("float16", False, None), ("float32", False, 50)])
def test_a_dump_is_as_large_as_its_file(tmp_path, how):
    precision, attention, count = how
    layers, heads, width, lengths = 3, 2, 16, np.array([27, 93] * 20)
    kept = {"kept_tokens": np.arange(count)} if count else {}
    index = {
        "token_ids": np.zeros(lengths.sum(), np.int32),
        "example_offsets": np.append(0, lengths.cumsum()),
    }
    index |= {"map_offsets": np.append(0, (lengths**2).cumsum())} | kept
    with writing(tmp_path / "a.npz", index, layers, width, heads * attention, precision):
        pass
    settings = {"precision": precision, "attention": attention, "sample": count}
    said = Shape(layers, heads, width, 100).dump([(len(lengths), lengths.mean())], settings)
    assert said == pytest.approx((tmp_path / "a.npz").stat().st_size, rel=0.05, abs=20_000)


def test_probes_hold_the_states_of_a_corpus(paper):
    # Of EWT's dependencies 16,622 sentences of some 23 word pieces, 13 x 768 numbers of two bytes each.
    states = 16_622 * 23 * 13 * 768 * 2
    alone = paper | {"edge_tasks": {"dependencies": paper["edge_tasks"]["dependencies"]}}
    assert 0.9 * states < work(probing.edge_probes, alone, model="mnli").device < 3 * states
    assert 0.5 * states < work(probing.structural_probes, paper, model="mnli").memory < 3 * states


def test_a_code_has_the_patience_of_its_own_library(paper):
    paper = changed(paper, "probes", mdl=paper["probes"]["mdl"] | {"validate_every": 1000})
    patient = [
        changed(paper, "probes", mdl=paper["probes"]["mdl"] | more)
        for more in ({}, {"patience": 10}, {"patience": 20})
    ]
    flops = [work(probing.mdl, one, model="mnli").flops for one in patient]
    assert flops[0] == flops[1] < flops[2]


def test_the_probes_of_a_pretrained_model_are_three(paper):
    paper = changed(paper, "probes", structural={"probe_seeds": 1})
    inits, tuned = 3, 9  # runs of either model at this scale
    base, mnli = (work(probing.structural_probes, paper, model=model) for model in ("base", "mnli"))
    states = mnli.flops / tuned - (base.flops / inits - mnli.flops / tuned) / 2
    assert 0 < states < mnli.flops / tuned


def test_stimuli_are_as_long_as_their_form_says(paper):
    sizes = costs.sizes_of(paper, TABLE)
    (wiki,), (pair,), (like,), (squad,) = map(
        sizes.inputs, (["wiki"], ["wiki_pair"], ["wiki_like_squad"], ["squad"])
    )
    assert like == squad and pair[1] == 2 * wiki[1] and wiki[0] == 2000


def test_whole_articles_are_kept(paper):
    found = work(data.dataset, paper, dataset="wikipedia")
    assert 20_000 * 10_000 < found.disk < 20_000 * 100_000 and found.memory > found.disk


def pretrained(config, **how):
    base = config["bases"]["base"]
    config = changed(config, "bases", base=base | {"pretrain": base["pretrain"] | how})
    return work(pretraining.pretrain, config, base="base", init="1")


def test_pretraining_on_random_lengths_is_estimated(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random, fixed = (pretrained(config, lengths={"longest": 512, "short_length": n}) for n in (None, 128))
    assert random == fixed


def test_a_decoder_predicts_every_word(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = config["bases"]["roberta"]["pretrain"]
    encoder, decoder = (
        pretrained(config, vocabulary=how["vocabulary"], family=family).flops
        for family in ("roberta", "gpt2")
    )
    masked = 0.15 * 6 * how["width"] * config["vocabularies"][how["vocabulary"]]["size"]
    weights = 3 * 24 * how["width"] ** 2 * how["layers"]
    assert 1 < decoder / encoder < 1 + masked / 0.15 / weights


def test_a_prepared_data_set_tells_its_own_size(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tuned(config)
    (tmp_path / "results/data/mnli").mkdir(parents=True)
    prepared = tmp_path / "results/data/mnli/dataset.json"
    hundredth = {"train": config["tasks"]["mnli"]["max_train"] // 100, "dev": 5}
    prepared.write_text(json.dumps({"rows": hundredth, "origin": "world"}))
    assert tuned(config).flops == pytest.approx(before.flops / 100)
    # Those of another configuration tell nothing.
    prepared.write_text(json.dumps({"rows": hundredth, "origin": "mirror"}))
    assert tuned(config) == before


def test_claims_hold_the_tables_that_they_read(paper):
    alone = paper | {"noise": paper["noise"] | {"of": []}}
    memory = [work(figures.claims, alone, paper=name).memory for name in ("kovaleva2019", "hao2020")]
    # Seven tables of nine runs and 12 x 13 heads, 60 kinds of token each.
    assert 7 * 9 * 156 * 60 * 360 < memory[0] < 3e9 and memory[1] < memory[0] / 10
    assert work(figures.claims, paper, paper="hao2020").memory > memory[1]  # noise has tables of its own


def test_a_table_takes_disk_by_its_rows(paper):
    found = work(comparing.compare, paper, metric="cosine", model="rte", reference="base")
    [pairs] = {
        len(comparing.compare(paper, metric="cosine", model="rte", reference="base").settings["pairs"])
    }
    assert costs.of_job(Job(1, "cosine", found), TABLE, False).disk == pytest.approx(
        1e5 + ROW_BYTES * pairs * 13 * 13
    )


def test_a_checkpoint_of_the_hub_is_kept_as_it_was_downloaded(paper, tmp_path, monkeypatch):
    asked, shape = {"base": "base", "init": "1"}, costs.sizes_of(paper, TABLE).shape("base")
    assert 4 * shape.parameters == pytest.approx(4.4e8, rel=0.03)
    assert work(pretraining.checkpoint, paper, **asked).disk == 2 * 4 * shape.parameters
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr(pretraining.published, "check", lambda folder, shape: None)
    paper["bases"]["base"]["checkpoints"][0] = {"path": str(tmp_path / "mine")}
    assert work(pretraining.checkpoint, paper, **asked).disk == 4 * shape.parameters


@pytest.mark.parametrize("folder", ["results/pretrained/base/init1", "mine"])
def test_a_checkpoint_on_disk_tells_its_own_width(paper, tmp_path, folder):
    paper["bases"]["base"]["checkpoints"][0] = {"path": str(tmp_path / "mine")}
    before = tuned(paper)
    (tmp_path / folder).mkdir(parents=True)
    made = {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 48, "vocab_size": 2000}
    described = tmp_path / folder / "config.json"
    described.write_text(json.dumps(made))
    assert tuned(paper).flops < before.flops / 100
    # One of another configuration tells nothing.
    described.write_text(json.dumps(made | {"num_hidden_layers": 4}))
    assert tuned(paper) == before


def test_finished_jobs_move_an_estimate_to_what_they_took(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left, other = training(config, 9), Job(10, "rsa_of_mine")
    alone = costs.shipped([left, other], TABLE, False)
    own = [
        finished(tmp_path, training(config, number), 3 * alone[9].seconds, 2 * alone[9].memory / 1e6)
        for number in (1, 2)
    ]
    jobs = [*own, left, other]
    refined = estimate(jobs, costs.shipped(jobs, TABLE, False), costs.finished(jobs))
    assert refined[9].seconds == pytest.approx(3 * alone[9].seconds)
    assert refined[9].memory == pytest.approx(2 * alone[9].memory)
    # A slow machine is slow for all rules, but what a rule needs says nothing of another's memory.
    assert refined[10].seconds == pytest.approx(3 * alone[10].seconds)
    assert refined[10].memory == alone[10].memory
    told = plan([*own, left], config, TABLE, Resources(cores=2))
    assert "2 of your own jobs: 3.00 of the time expected, 2.00 of the memory, " in told


HEADER = "s\th:m:s\tmax_rss\tcpu_time\n"


@pytest.mark.parametrize(
    "text", ["", f"{HEADER}-\t-\t-\t-\n", f"{HEADER}\xff\xfe", f"{HEADER}9\t0:00:09\tmuch\t1\n"]
)
def test_a_record_that_tells_nothing_is_none(config, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    job = finished(tmp_path, training(config), 100, 100)
    (tmp_path / "1.cost.tsv").write_bytes(text.encode("latin-1"))
    assert costs.own_cost(job) is None


def test_too_short_to_be_measured(config, tmp_path):
    assert costs.own_cost(finished(tmp_path, training(config), 0.2, "NA")) == Cost(0.2, 0, 0)


def test_a_job_that_runs_again_is_not_its_own_measure(config, tmp_path):
    assert costs.own_cost(replace(finished(tmp_path, training(config), 1, 1), needed=True)) is None


def test_a_gpu_counts_gpu_hours(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        plan([training(config)], config, TABLE, limits).split("total")[1].split()[:3]
        for limits in (Resources(cores=2), Resources(jobs=100, has_gpu=True))
    ]
    assert rows[0][:2] == ["1", "-"] and rows[1][0] == "1" and rows[1][2] == "-"
    assert "assumed" in plan([training(config)], config, TABLE, Resources(jobs=100, has_gpu=True))


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


def test_what_a_job_needs_while_it_runs_is_temporary(config, tmp_path, monkeypatch):
    jobs, each = jobs_of_seconds(1, 1)
    each = {number: replace(cost, scratch=5) for number, cost in each.items()}
    assert simulate(jobs, each, Resources(cores=2))[1] == 10
    assert simulate(jobs, each, Resources(cores=1))[1] == 5


def test_operations_are_told(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = training(config)
    told = f"{job.work.flops:.1e}".replace("e+", "e")
    printed = plan([job], config, TABLE, Resources(cores=2))
    assert f"{told} floating-point operations" in printed and printed.count(told) == 3


def test_durations_as_a_person_says_them():
    assert [duration(n) for n in (40, 1440, 12000, 187200)] == ["40 s", "24 min", "3 h 20 min", "2 days 4 h"]
