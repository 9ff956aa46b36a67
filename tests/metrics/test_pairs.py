from functools import partial
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from test_docs import TEMPLATE

from bertshift.activations.sampling import sampled
from bertshift.errors import UserError
from bertshift.figures.numbers import stack
from bertshift.measures.metric import Metric
from bertshift.metrics import cosine, jensen_shannon, rsa, similarity, svcca
from bertshift.metrics.pairs import Pair, frame, matched_layers
from bertshift.rows.blocks import WITHOUT


def test_layers_are_matched_by_relative_depth():
    assert matched_layers(3, 3) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert matched_layers(4, 12, first=1) == [(1, 3), (2, 6), (3, 9), (4, 12)]
    assert matched_layers(12, 4)[:4] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_rows_without_a_column_are_refused_by_its_name():
    row = {"metric": "distance", "layer": 1, "ref_layer": 1, "head": 0, "value": 0.5, "sd": 0.1, "n": 3}
    with pytest.raises(
        UserError, match="rows of metric 'distance' have no 'variant'; let its module give each one"
    ):
        frame([row])
    with pytest.raises(UserError, match=r"old\.tsv has no column 'variant'"):
        stack({"old.tsv": pd.DataFrame([row | {"stimuli": "mnli"}])}, "distance", ["mean"])


def test_the_metric_of_the_guide_compares_the_tokens_that_a_dump_holds(make_file, tmp_path):
    for name, code in zip(("module.py", "record.py"), TEMPLATE, strict=True):
        (tmp_path / name).write_text(code)
    compare = run_path(tmp_path / "module.py")["compare"]
    assert run_path(tmp_path / "record.py")["METRIC"].reads == "sampled"
    states = np.random.default_rng(0).normal(size=(2, 2, 300, 5)).astype(np.float32)

    def table(**kept):
        model, base = (make_file(f"{name}.npz", states[name], [10] * 30, **kept) for name in (0, 1))
        return compare([Pair(model, base, {"metric": "mine", "stimuli": "wiki"})], tokens=100)

    of_all = table()
    assert set(of_all["n"]) == {100} and of_all["value"].between(-1, 1).all()
    pd.testing.assert_frame_equal(table(kept=partial(sampled, count=100, stimuli="wiki")), of_all)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"reads": "sampled", "tokens": "svcca_tokens"}, "tokens='svcca_tokens'; .* write tokens='tokens'"),
        ({"reads": "sample"}, "reads='sample'; write one of attention, sampled"),
    ],
)
def test_a_record_that_no_dump_can_serve_is_refused(how, said):
    with pytest.raises(UserError, match=said):
        Metric(module="mine", **how)


def test_different_tokens_are_refused_with_both_names(make_file):
    hidden = np.random.default_rng(0).normal(size=(2, 6, 3))
    one = make_file("one.npz", hidden, [3, 3])
    two = make_file("two.npz", hidden, [3, 3], token_ids=np.arange(6, dtype=np.int32)[::-1])
    with pytest.raises(UserError, match=r"one\.npz and .*two\.npz .* tokenizer"):
        rsa.compare([Pair(one, two)])


@pytest.mark.parametrize("metric", [rsa, svcca, similarity])
def test_a_layer_whose_tokens_are_all_alike_has_no_row_and_the_others_have(metric, make_file, capsys):
    states = np.random.default_rng(0).normal(size=(3, 120, 5)).astype(np.float32)
    base = make_file("base.npz", states, [12] * 10)
    states[2] = 0.1 * states[2, 0]
    table = metric.compare([Pair(make_file("collapsed.npz", states, [12] * 10), base)])
    assert set(table["layer"]) == {0, 1} and table["value"].notna().all()
    assert "do not differ in layer 2: " in capsys.readouterr().err


@pytest.mark.parametrize("metric", [cosine, jensen_shannon])
def test_other_numbers_of_heads_are_refused_with_a_way_out(metric, make_file):
    hidden = np.zeros((2, 3, 4))
    one, two = (make_file(f"{h}.npz", hidden, [3], [[np.full((h, 3, 3), 1 / 3)]]) for h in (2, 4))
    with pytest.raises(UserError, match="1 layers x 2 heads .* 1 x 4.* rsa or svcca"):
        metric.compare([Pair(one, two)])


def test_maps_of_decoders_count_the_cells_that_are_seen(make_file):
    """The zeros above the diagonal change neither value nor n: the same by rows of what each query sees."""
    rng, lengths = np.random.default_rng(0), [1, 2, 5, 9]
    maps = [
        [np.stack([[seen(rng, q, n) for q in range(n)] for _ in range(2)]) for n in lengths] for _ in range(2)
    ]
    paths = [make_file(f"{k}.npz", np.zeros((2, 17, 3)), lengths, [side]) for k, side in enumerate(maps)]
    js, cos = np.zeros((2, 4, 2))
    for k, (p, q) in enumerate(zip(*maps, strict=True)):
        for head in range(2):
            rows = [
                (p[head, i, : i + 1].astype(float), q[head, i, : i + 1].astype(float))
                for i in range(len(p[0]))
            ]
            middles = [(a + b) / 2 for a, b in rows]
            js[k, head] = np.mean(
                [(a @ np.log(a / m) + b @ np.log(b / m)) / 2 for (a, b), m in zip(rows, middles)]
            )
            a, b = map(np.concatenate, zip(*rows, strict=True))
            cos[k, head] = a @ b / np.sqrt(a @ a * (b @ b))
    for metric, expected in ((jensen_shannon, js), (cosine, cos)):
        table = metric.compare([Pair(*paths)]).query("variant != 'bits' and head > 0")
        np.testing.assert_allclose(table["value"], expected.mean(axis=0), rtol=1e-6)
        assert (table["n"] == 4).all()


def seen(rng, query, length):
    return np.append(rng.dirichlet(np.ones(query + 1)), np.zeros(length - query - 1)).astype(np.float32)


def test_columns_keep_the_keys_first(attention_pair):
    model, base, *_ = attention_pair
    table = jensen_shannon.compare([Pair(model, base, {"model": "rte", "seed": 1})])
    assert list(table.columns) == [
        "model",
        "seed",
        "variant",
        "layer",
        "ref_layer",
        "head",
        "value",
        "sd",
        "n",
        *WITHOUT,
    ]
    assert len(table) == 2 * 2 * 4
