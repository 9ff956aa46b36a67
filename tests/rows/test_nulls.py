import pandas as pd

from bertshift.naming import is_of_null
from bertshift.rows import nulls
from bertshift.rows.table import Table


def table(model, values, **more):
    """A metric table with one value a seed."""
    rows = pd.DataFrame(
        {"metric": "js", "model": model, "seed": seed, "value": value} | more
        for seed, value in enumerate(values, start=1)
    )
    return Table.of(rows)


def test_names_of_nulls():
    names = {"mnli": "", "mnli@large": "", "mnli.noise": "noise", "wnli+cola.noise@cased": "noise",
             "mnli.lora8.shuffled@large": "shuffled", "mnli.shuffled.at10": "shuffled"}  # fmt: skip
    assert {name: nulls.null_of(name) for name in names} == names
    models = ["mnli", "mnli@large", "mnli", "wnli+cola@cased", "mnli.lora8@large", "mnli.at10"]
    assert list(map(nulls.model_of, names)) == models
    assert is_of_null("results/js/mnli_vs_mnli.shuffled.tsv")
    assert not is_of_null("results/js/mnli.at10_vs_base.tsv")


def test_a_null_stands_in_for_its_model_and_its_draws_for_the_run_that_they_imitate():
    checkpoint = table("base", [0.5]).assign(seed=0)
    tables = {
        "model": table("mnli", [0.1, 0.2]),
        "noise": table("mnli.noise", [1.0, 2.0, 3.0, 4.0]),
        "shuffled": table("mnli.shuffled", [5.0, 6.0]),
        "base": checkpoint,
        "losses": Table.of(pd.DataFrame({"step": [1]})),
    }
    noise = nulls.standing_in(tables, nulls.NOISE)
    assert list(noise) == ["base", "noise"]
    assert {*noise["noise"]["model"]} == {"mnli"}
    assert noise["noise"].rows.groupby("seed")["value"].agg(list).to_dict() == {
        1: [1, 2],
        2: [3, 4],
    }
    shuffled = nulls.standing_in(tables, nulls.SHUFFLED)
    assert list(shuffled["shuffled"]["seed"]) == [1, 2]
    assert list(nulls.without_nulls(tables)) == ["model", "base", "losses"]
    del tables["noise"]
    assert nulls.standing_in(tables, nulls.NOISE) == {}
