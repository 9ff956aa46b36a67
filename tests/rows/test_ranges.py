import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from bertshift.errors import UserError
from bertshift.measures import ANY, CORRELATION, MEASURES, POSITIVE, SHARE
from bertshift.rows import ranges
from bertshift.rows.estimates import estimate
from bertshift.rows.ranges import distance, least_error, reached
from bertshift.tasks import dependency_parsing
from bertshift.tasks.question_answering import Answer, AnswerSpans
from bertshift.tasks.scores import CLASS_SCORES, REGRESSION_SCORES

ERROR, ERRORS = 0.01, np.array([-300.0, -20.0, 0.0, 1.0, 500.0])
STEPS = ERROR * ERRORS
# Metrics with a column `score`.
SCORED = ["frozen", "ablation", "ablation_split_half", "restored_score"]


def test_correlations_step_on_fishers_z_shares_on_the_logit_and_positive_numbers_on_the_logarithm():
    r, p, x = 0.95, 0.97, 2.5
    correlations = np.tanh(np.arctanh(r) + STEPS / (1 - r**2))
    assert reached(r, ERROR, ERRORS, CORRELATION) == pytest.approx(correlations)
    points = 100 * expit(logit(p) + STEPS / (p * (1 - p)))
    assert reached(100 * p, 100 * ERROR, ERRORS, (0.0, 100.0)) == pytest.approx(points)
    positive = np.exp(np.log(x) + STEPS / x)
    assert reached(x, ERROR, ERRORS, POSITIVE) == pytest.approx(positive)
    assert reached(-x, ERROR, -ERRORS, (-np.inf, 0.0)) == pytest.approx(-positive)
    assert reached(x, ERROR, ERRORS, ANY) == pytest.approx(x + STEPS)


def test_at_an_end_a_step_is_cut_there():
    """No scale has a value for an end: a layer that did not change has a similarity of 1 and no
    interval around it."""
    assert reached(1.0, 0.1, [-1, 0, 1], CORRELATION).tolist() == [0.9, 1.0, 1.0]
    assert reached(0.0, 0.1, [-1, 1], POSITIVE).tolist() == [0.0, 0.1]
    unchanged = estimate(np.ones(2), left_out=np.ones((2, 20)), bounds=CORRELATION)
    assert (unchanged.low, unchanged.high) == (1.0, 1.0)


def test_a_jump_of_the_jackknife_beyond_an_end_makes_no_wide_interval():
    """The SVCCA distance of a layer that hardly changed: without a block it keeps other
    directions."""
    assert reached(0.001, 0.002, [-4, 4], SHARE).tolist() == pytest.approx([0.0, 0.009])
    assert distance(0.001, 0.002, 0.009, SHARE) == pytest.approx(4)
    # Two replicates, one of them at the end, are no jump.
    two = estimate(np.array([0.0, 0.02]), bounds=SHARE)
    assert 0 < two.low < 1e-6 and 0.5 < two.high < 1


@pytest.mark.parametrize(("unit", "right"), [(1, 150), (1, 0), (100, 150)])
def test_a_share_of_all_or_none_of_n_examples_reaches_wilsons_limit(unit, right):
    """Two errors away, in the unit of the value."""
    wilson = stats.binomtest(right, 150).proportion_ci(stats.norm.cdf(2) * 2 - 1, method="wilson")
    value, bounds = unit * right / 150, (0.0, float(unit))
    limits = reached(value, least_error(value, 150, bounds), np.array([-2.0, 2.0]), bounds)
    assert limits == pytest.approx([unit * wilson.low, unit * wilson.high])


@pytest.mark.parametrize(
    "number",
    [(149 / 150, 150, SHARE), (1.0, np.nan, SHARE), (0.0, 150, POSITIVE), (1.0, 150, ANY)],
)
def test_other_numbers_have_no_least_error(number):
    assert not least_error(*number)


def test_a_share_of_examples_is_found_by_its_name_and_kind():
    rows = [
        ("accuracy", ""),
        ("f1", ""),
        ("frozen", "accuracy"),
        ("gain", "accuracy"),
        ("rsa", ""),
    ]
    table = pd.DataFrame(rows, columns=["metric", "score"])
    shares = [150, np.nan, 150, np.nan, np.nan]
    assert ranges.examples(table.assign(dev=150)).tolist() == pytest.approx(shares, nan_ok=True)
    assert ranges.examples(table.assign(n=7, dev=150))[0] == 7
    assert np.isnan(ranges.examples(table)).all()


def test_an_interval_and_its_probabilities_lie_inside_the_range():
    two = estimate([0.95, 0.99], bounds=SHARE)
    distribution = stats.t(1, logit(0.97), 0.02 / (0.97 * 0.03))  # of the logit
    assert (two.low, two.high) == pytest.approx(tuple(expit(distribution.interval(0.95))))
    probabilities = [two.below(end) for end in (0.0, 0.9, 1.0)]
    assert probabilities == pytest.approx([0, distribution.cdf(logit(0.9)), 1])
    cells = np.array([[0.95, 0.2], [0.99, 0.4]])
    mixed = estimate(cells, bounds=(np.array([0.0, -np.inf]), np.array([1.0, np.inf])))
    assert mixed.high == pytest.approx([two.high, estimate(cells[:, 1]).high])


def test_a_measure_is_found_by_its_name_and_kind():
    rows = [("js", "nats"), ("cka", "cka_debiased"), ("edge_probe_delta", "mix"), ("mine", "x")]
    table = pd.DataFrame(rows, columns=["metric", "variant"])
    assert ranges.of(table).tolist() == [[0.0, np.log(2)], [0.0, 2.0], [*ANY], [*ANY]]
    ranges.check_declared(table[:-1], "mine.tsv")
    with pytest.raises(UserError, match="mine.tsv: the metric 'mine', variant x"):
        ranges.check_declared(table, "mine.tsv")
    frozen = pd.DataFrame({"metric": "frozen", "variant": "constant", "score": ["f1", "pearson"]})
    assert ranges.of(frozen).tolist() == [[0.0, 1.0], [-1.0, 1.0]]
    with pytest.raises(UserError, match="-0.1, which lies outside"):
        ranges.check(pd.DataFrame({"value": [0.5, -0.1]}), np.array([SHARE, SHARE]))


def test_every_score_of_a_task_has_its_range():
    question = {"id": "q", "question": "a", "context": "b", "answers": [{"text": "b", "start": 0}]}
    questions = [question | {"impossible": impossible} for impossible in (False, True)]
    squad = AnswerSpans("squad2", "squad2").score(questions, [Answer("b", 0.0)] * 2)
    thresholds = {"best_f1_threshold", "best_exact_match_threshold"}
    assert len(squad) == 10
    for name in {*squad, *CLASS_SCORES, *REGRESSION_SCORES, *dependency_parsing.METRICS}:
        table = pd.DataFrame({"metric": [name, *SCORED], "variant": "x", "score": name})
        ranges.check_declared(table, "scores.tsv")
        assert (ranges.of(table) == ANY).all() == (name in thresholds)


def test_records_agree_on_the_range_of_a_metric():
    for measure in MEASURES.values():
        assert measure.ranges.items() <= ranges.RANGES.items()
