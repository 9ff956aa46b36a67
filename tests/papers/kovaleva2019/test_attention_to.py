import numpy as np
import pandas as pd
import pytest
from made_attention import attention_to as made
from made_attention import of_kovaleva
from matplotlib.text import Text

from bertshift.errors import UserError
from bertshift.figures import numbers
from bertshift.papers import by_name
from bertshift.papers.kovaleva2019 import panels


def draw(item, published, inputs):
    return by_name.draw(f"kovaleva2019/{item}", inputs, published["kovaleva2019"])


def compared(figure):
    """What stands above the published panels; above others stand names of models, or nothing."""
    titles = [axes.get_title() for axes in figure.axes]
    return [title for title in titles if title not in ("", "MRPC", "QQP")]


def test_correlation_only_between_the_same_heads(published):
    for item in ("figure6", "figure7"):
        figure, _, _ = draw(item, published, of_kovaleva(12, 12, tasks=["mrpc", "qqp"], inits=1))
        assert compared(figure) and all(words.startswith("r = ") for words in compared(figure))
        for shape in ((4, 4), (6, 12)):
            figure, _, _ = draw(item, published, of_kovaleva(*shape, tasks=["mrpc", "qqp"], inits=1))
            assert set(compared(figure)) == {panels.NOT_COMPARABLE}
    ours, theirs = (
        pd.DataFrame(numbers.cells(one)) for one in np.random.default_rng(0).normal(size=(2, 9, 12))
    )
    fewer = ours[ours["layer"] != 3]  # as a kind of token that no input of ours has
    both = fewer["value"], theirs["value"][fewer.index]
    assert panels.agreement(fewer, theirs) == f"r = {np.corrcoef(*both)[0, 1]:.2f}".replace("-", "−")


def test_before_and_after_are_told_apart_and_stay_apart(published):
    """The reference's rows, with its own runs, are `before`; a task's own inputs never mix with another's."""
    inputs = of_kovaleva(4, 4, tasks=["mrpc", "rte"], inits=1, seeds=2, noise=0)
    inputs = {
        path: table.assign(value=table["value"] + 0.01 * table["seed"]) for path, table in inputs.items()
    }
    _, table, _ = draw("figure6", published, inputs)
    ours = table[(table["source"] == "ours") & (table["token"] == "cls") & (table["layer"] == 1)]
    cell = ours[ours["head"] == 1].set_index(["panel", "when"])
    assert cell.loc[("mrpc", "after"), "value"] == pytest.approx(0.3 * 0.75 + 0.015)
    assert cell.loc[("mrpc", "before"), "value"] == pytest.approx(0.3 * 0.75)
    assert cell["replicates"].to_dict() == {(p, w): 2 if w == "after" else 1 for p, w in cell.index}


def test_the_control_shows_mean_and_largest_head_of_each_replicate(published):
    table = made("rte", 3, 4, inits=2, noise=0)
    largest = (table["model"] == "rte") & (table["token"] == "noun") & (table["variant"] == "received")
    for init, (layer, head) in {1: (1, 2), 2: (3, 4)}.items():  # another head in each run
        where = largest & (table["init"] == init) & (table["layer"] == layer) & (table["head"] == head)
        table.loc[where, "value"] = 0.5
    figure, drawn, caption = draw("linguistic", published, {"results/attention_to/rte_vs_base.tsv": table})
    assert "Control" in figure.legends[0].get_title().get_text() and set(drawn["source"]) == {"ours"}
    noun = drawn[(drawn["token"] == "noun") & (drawn["variant"] == "received") & (drawn["when"] == "after")]
    found = noun.set_index("statistic")["value"]
    assert found["largest"] == pytest.approx(0.5)
    assert found["mean"] == pytest.approx(0.09)  # head 0 of each layer, which is left as it was
    assert "upos init1_seed1 (accuracy 0.950)" in caption


def test_kinds_that_no_input_has_stay_blank(published):
    inputs = of_kovaleva(4, 4, tasks=["mrpc"], inits=1, without=["neg", "pron"])
    for item in ("figure7", "linguistic"):
        _, table, _ = draw(item, published, inputs)
        ours = table[table["source"] == "ours"]
        assert not {"neg", "pron"} & set(ours["token"]) and ours["value"].notna().all()


def test_a_decoder_has_no_separators_and_no_names_of_berts(published):
    inputs = of_kovaleva(4, 4, tasks=["mrpc"], inits=1, without=["sep", "sep_sum"])
    inputs = {
        path: table.assign(checkpoint="gpt2@607a30d, family gpt2", family="gpt2")
        for path, table in inputs.items()
    }
    for item in ("figure6", "figure7", "linguistic"):
        figure, _, caption = draw(item, published, inputs)
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert texts.count("no\nseparators") == (2 if item == "figure6" else 0)  # before, after
        assert any("first token" in text for text in texts) and not any("[CLS]" in text for text in texts)
        assert "family gpt2" in caption


def test_a_model_against_itself_has_no_before(published):
    table = made("rte", inits=1).assign(model="base")
    with pytest.raises(UserError, match="compares a model with itself"):
        draw("figure6", published, {"results/attention_to/base_vs_base.tsv": table})
