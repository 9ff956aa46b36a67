import pytest

from bertshift.config import lineage
from bertshift.errors import UserError
from bertshift.naming import Run, parse_comparison, parse_model
from bertshift.replicates import pair_runs, runs_of, sweep_of, sweep_runs_of

BASE = {"layers": 12, "heads": 12, "vocabulary": "uncased", "seeds": 2, "checkpoints": [{}, {}]}
CONFIG = {
    "tasks": {
        name: {"dataset": name, "kind": "spans" if name == "squad" else "classification"}
        for name in ("mnli", "cola", "rte", "wnli", "squad", "dep")
    },
    "datasets": {
        "mnli": {"labels": {"0": "no", "1": "yes", "2": "both", "-": "both"}},
        "squad": {},
        **{name: {"labels": {"0": "no", "1": "yes"}} for name in ("cola", "rte", "wnli", "dep")},
    },
    "bases": {
        "base": BASE,
        "cased": {**BASE, "vocabulary": "cased", "checkpoints": [{}]},
        "large": {**BASE, "layers": 24, "heads": 16, "checkpoints": [{}], "seeds": 3},
    },
    "snapshots": [0, 10],
    "noise": {"draws": 3},
    "edits": {
        "ff13": {"kind": "feed_forward", "layer": 13, "size": 0.3},
        "none": {"kind": "nothing"},
    },
}
# Every form that the papers need.
NAMES = [
    "base",
    "cased",
    "large",
    "mnli",
    "squad",
    "dep",
    "rte",
    "mnli@large",
    "cola@cased",
    "wnli+cola@cased",
    "mnli.random",
    "rte.reinit8@cased",
    "rte.reinit8b@cased",
    "rte.reinit8p@cased",
    "cola.reinitL11H3do@cased",
    "cola.reinitL11H3@cased",
    "cola.reinitL24H16@large",
    "squad.freeze8",
    "squad.freezeE",
    "squad.keep5",
    "mnli.keep0",
    "mnli.lora8",
    "mnli.keep5.lora16",
    "wnli+cola.lora8.carry@cased",
    "rte.lora8.bertadam.plateau@cased",
    "wnli+cola.carry@cased",
    "mnli+rte+cola@cased",
    "mnli.bertadam",
    "rte.reinit8.plateau@cased",
    "mnli.at10",
    "wnli+cola.freeze8.at0@cased",
    "base.random",
    "mnli.noise",
    "mnli.at10.noise",
    "mnli.shuffled",
    "mnli.lora8.shuffled.at10",
    "mnli.lora8.noise",
    "wnli+cola.noise@cased",
    "squad.keep5.noise",
    "rte.reinit8.noise@cased",
    "base.edit_none",
    "large.edit_ff13",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_read_and_written_alike(name):
    assert str(parse_model(name, CONFIG)) == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mnly", "mnli"),
        ("MNLI", "nearest: mnli"),
        ("mnli@Large", "nearest: large"),
        (
            "+".join(50 * ["mnli"]),
            r"'mnli\+mnli\+mnli\+mnli\+\.\.\.' has 249 characters; write a name of 100 or fewer",
        ),
        ("mnli@lage", "large"),
        ("mnli@base", "write 'mnli'"),
        ("mnli.freeze12", "0 to 11"),
        ("mnli.reinitL1H13", "1 to 12"),
        ("mnli.frozen8", "freeze8"),
        ("mnli.keep5.random", "'.random.keep5'"),
        ("mnli.random.random", "'.random'"),
        ("cola.carry", "earlier task"),
        (
            "mnli.freeze8.lora8",
            r"LoRA on a frozen layer: \.lora8 freezes all weights .*; leave out one",
        ),
        ("mnli.lora8.freezeE", "LoRA on a frozen layer"),
        ("mnli.random.lora8", r"\.lora8 would never train the weights that \.random draws"),
        ("rte.reinitL1H2.lora8", r"never train the weights that \.reinitL1H2 draws"),
        ("mnli.keep0.lora8", r"\.keep0 leaves no layer for the adapters of \.lora8"),
        ("mnli.lora8.keep5", r"in the order '\.keep5\.lora8'"),
        ("mnli.lora0", "lora8"),
        ("base.lora8", "not fine-tuned"),
        (
            "cola+mnli.carry@cased",
            r"'cola' \(classification, 2 labels\) cannot serve 'mnli' .* write 'cola\+mnli@cased'",
        ),
        (
            "squad+cola.keep5.carry",
            r"'squad' \(spans, 0 labels\) cannot serve .* write 'squad\+cola.keep5'",
        ),
        ("base@large", "without"),
        ("base.reinit3", "not fine-tuned"),
        ("mnli.reinit08", "reinit8"),
        ("base.edit_ff13", "layer 13 of its edit is out of range for 'base', .* from 1 to 12"),
        ("base.edit_nome", r"no edit 'nome'; nearest: none"),
        ("mnli.edit_none@cased", r"a change is made in a checkpoint; write 'cased\.edit_none'"),
        ("base.edit_none.edit_none", "can only be"),
        ("mnli.at100@large", "after all steps write 'mnli@large'"),
        ("mnli.at7", r"add 7 to 'snapshots', or name one of \.at0, \.at10"),
        ("mnli.at10.freeze8", r"'\.freeze8\.at10'"),
        ("rte.plateau.at10", "write 'rte.plateau'"),
        ("base.at10", "not fine-tuned"),
        ("base.noise", "not fine-tuned"),
        ("mnli.noise1", "not a variant"),
        ("mnli.noise10", "not a variant"),
        ("mnli.at10.shuffled", r"'\.shuffled\.at10'"),
        ("base.shuffled", "not fine-tuned"),
        ("mnli.noise.at10", r"'\.at10\.noise'"),
        ("mnli.random.noise@large", r"no change from the parent .*; write 'mnli\.noise@large'"),
        ("wnli+cola.random.carry.noise", r"write 'wnli\+cola\.carry\.noise'"),
    ],
)
def test_a_wrong_name_says_what_to_write(name, hint):
    with pytest.raises(UserError, match=hint):
        assert str(parse_model(name, CONFIG)) == name


def test_replicates_and_their_parents():
    runs = runs_of(parse_model("wnli+cola", CONFIG), CONFIG)
    assert [run.name for run in runs] == [
        "init1_seed1",
        "init1_seed2",
        "init2_seed1",
        "init2_seed2",
    ]
    assert runs[3].parent.folder == "results/models/wnli/init2_seed2"
    assert runs[3].parent.parent.folder == "results/pretrained/base/init2"


def test_random_weights_inherit_no_pretraining_run():
    """Models with random weights have one pretraining run, unless they take over an earlier head
    or are not fine-tuned, where each run is another draw."""
    names = {
        "mnli.random": 2,
        "mnli.random.keep5": 2,
        "base.random": 2,
        "wnli+cola.random.carry": 4,
        "mnli.keep5": 4,
    }
    for name, replicates in names.items():
        runs = runs_of(parse_model(name, CONFIG), CONFIG)
        assert len(runs) == replicates and {run.init for run in runs} == (
            {1} if name[:11] == "mnli.random" else {1, 2}
        )


def _pairs(name, reference):
    pairs = pair_runs(*parse_comparison(name, reference, CONFIG), CONFIG)
    return [(a.name, b.name) for a, b in pairs]


def test_a_model_meets_its_own_parent_its_twin_or_itself():
    assert _pairs("mnli", "base") == [
        (f"init{i}_seed{s}", f"init{i}") for i in (1, 2) for s in (1, 2)
    ]
    assert _pairs("mnli", "rte")[1] == ("init1_seed2", "init1_seed2")
    assert _pairs("mnli", "mnli") == [
        ("init1_seed1", "init1_seed2"),
        ("init2_seed1", "init2_seed2"),
    ]
    assert _pairs("base", "base") == [("init1", "init2")]
    assert _pairs("base", "mnli") == [("init1", "init1_seed1"), ("init1", "init1_seed2")] + [
        ("init2", "init2_seed1"), ("init2", "init2_seed2")]  # fmt: skip
    assert _pairs("mnli.random", "base") == [("init1_seed1", "init1"), ("init1_seed2", "init1")]
    assert _pairs("mnli", "mnli.random") == [
        ("init1_seed1", "init1_seed1"),
        ("init1_seed2", "init1_seed2"),
    ]
    assert _pairs("mnli.random", "mnli.random") == [("init1_seed1", "init1_seed2")]
    assert _pairs("mnli@large", "mnli") == [
        ("init1_seed1", "init1_seed1"),
        ("init1_seed2", "init1_seed2"),
    ]


def test_noise_has_draws_of_every_run_and_its_parent_is_that_of_the_run():
    runs = runs_of(parse_model("wnli+cola.at10.noise@large", CONFIG), CONFIG)
    assert [run.seed for run in runs] == list(range(1, 3 * 3 + 1))
    facts = [(run.imitated.name, run.draw, run.parent.name) for run in runs]
    seeds = [f"init1_seed{seed}" for seed in (1, 1, 1, 2, 2, 2, 3, 3, 3)]
    assert facts == [(name, draw, name) for name, draw in zip(seeds, 3 * (1, 2, 3), strict=True)]
    assert {str(run.imitated.model) for run in runs} == {"wnli+cola.at10@large"}
    assert {str(run.parent.model) for run in runs} == {"wnli@large"}
    assert runs[3].folder == "results/models/wnli+cola.at10.noise@large/init1_seed4"


def test_noise_meets_what_the_run_that_it_imitates_would_meet():
    draws = [(f"init1_seed{n}", f"init1_seed{s}") for n, s in enumerate((1, 1, 1, 2, 2, 2), 1)]
    assert _pairs("wnli+cola.noise", "wnli")[:6] == draws
    assert _pairs("mnli.noise", "mnli")[:6] == draws
    assert _pairs("mnli", "mnli.noise")[:6] == [(run, draw) for draw, run in draws]
    assert _pairs("mnli.noise", "base")[5:7] == [
        ("init1_seed6", "init1"),
        ("init2_seed1", "init2"),
    ]
    assert len(_pairs("mnli.noise", "mnli.noise")) == 2 * 6 * 5 / 2


def test_a_checkpoint_meets_the_one_that_it_was_trained_from(monkeypatch):
    tuned = {**BASE, "parent": "base"}
    bases = CONFIG["bases"] | {"chat": {**tuned, "parent": "tuned"}, "tuned": tuned}
    monkeypatch.setitem(CONFIG, "bases", bases)
    assert (
        _pairs("tuned", "base")
        == _pairs("base", "chat")
        == [("init1", "init1"), ("init2", "init2")]
    )
    assert lineage("chat", bases) == ["chat", "tuned", "base"]
    assert lineage("a", {"a": {"parent": "b"}, "b": {"parent": "a"}}) == ["a", "b", "a"]


def test_models_that_cannot_be_compared():
    with pytest.raises(UserError, match="one vocabulary"):
        parse_comparison("cola@cased", "base", CONFIG)
    with pytest.raises(
        UserError, match="one pretraining run only; list more 'checkpoints'.* of bases.cased"
    ):
        _pairs("cased", "cased")
    config = CONFIG | {"tasks": {"mnli": {"seeds": 1}}}
    for name in (
        "mnli",
        "mnli.random",
    ):  # pretraining runs of a fine-tuned model are not its seeds
        alone = parse_model(name, config)
        with pytest.raises(UserError, match="one seed only; raise 'bases.base.seeds'"):
            pair_runs(alone, alone, config)


def row(name, kind, seed=1, **sweeps):
    config = CONFIG | {"sweeps": {"baseline_seeds": 5} | sweeps}
    sweep = sweep_of(Run(parse_model(name, CONFIG), 1, seed), kind, config)
    return {position: str(run.model) for position, run in sweep}, [run.seed for _, run in sweep]


def test_a_row_of_re_initialised_layers_ends_at_the_plain_model():
    models, seeds = row("rte.plateau@cased", "reinitd", seed=2)
    assert models[3] == "rte.reinit3d.plateau@cased" and models[13] == "rte.plateau@cased"
    assert list(models) == [*range(1, 14)] and set(seeds) == {2}


def test_a_row_of_heads_has_those_of_one_layer():
    assert row("rte@cased", "reinitbp")[0][3] == "rte.reinit3bp@cased"
    assert row("cola@cased", "reinitL11o")[0][3] == "cola.reinitL11H3o@cased"
    models, _ = row("cola@large", "reinitL24")
    assert models[16] == "cola.reinitL24H16@large" and len(models) == 16
    with pytest.raises(UserError, match="layer here goes from 1 to 12"):
        row("cola@cased", "reinitL13")


def test_replicates_share_out_the_further_seeds():
    """Two seeds on `cased`, five baselines; three on `large`."""
    assert [row("cola@cased", "seeds", seed)[1] for seed in (1, 2)] == [[1, 3, 5], [2, 4]]
    assert [row("cola@large", "seeds", seed)[1] for seed in (1, 2, 3)] == [[1, 4], [2, 5], [3]]
    # The rows that there are make up as many baselines between them.
    assert row("cola@large", "seeds", 2, seeds=2)[1] == [2, 4]
    assert row("cola@cased", "seeds", 1, seeds=1)[1] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "sweeps", "expected"),
    [
        ("mnli", {}, ["init1_seed1", "init1_seed2", "init2_seed1", "init2_seed2"]),
        ("mnli", {"seeds": 1}, ["init1_seed1", "init2_seed1"]),
        ("mnli", {"pretraining_runs": 1}, ["init1_seed1", "init1_seed2"]),
        ("mnli", {"seeds": 9, "pretraining_runs": 9}, ["init1_seed1", "init1_seed2", "init2_seed1", "init2_seed2"]),
        ("mnli", {"seeds": 1, "per_base": {"base": {"seeds": None}}, "pretraining_runs": 1}, ["init1_seed1", "init1_seed2"]),
        ("rte@large", {"seeds": 1, "per_base": {"large": {"seeds": 2}}}, ["init1_seed1", "init1_seed2"]),
        ("rte@cased", {"seeds": 1, "per_base": {"large": {"seeds": 2}}}, ["init1_seed1"]),
    ],
)  # fmt: skip
def test_rows_of_runs_have_as_many_replicates_as_the_sweeps_allow(name, sweeps, expected):
    found = sweep_runs_of(parse_model(name, CONFIG), CONFIG | {"sweeps": sweeps})
    assert [run.name for run in found] == expected
