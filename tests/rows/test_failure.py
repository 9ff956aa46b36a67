import pytest

from bertshift.rows.provenance import failed


def outcome(metric, majority, **scores):
    return {"metric": metric, "scores": scores, "majority": majority}


@pytest.mark.parametrize(
    ("score", "verdict"), [(0.5, True), (0.52, True), (0.521, False), (0.4, True)]
)
def test_two_points_above_the_majority_class(score, verdict):
    assert failed(outcome("accuracy", {"accuracy": 0.5}, accuracy=score)) is verdict


def test_correlations_of_a_constant_are_nothing():
    assert failed(outcome("mcc", {"mcc": 0.0}, mcc=0.02)) and not failed(
        outcome("mcc", {"mcc": 0.0}, mcc=0.1)
    )


def test_f1_is_judged_by_accuracy():
    """MRPC's majority class is positive, QQP's negative: a constant has F1 .81 in one, 0 in the
    other."""
    mrpc, qqp = {"f1": 0.812, "accuracy": 0.684}, {"f1": 0.0, "accuracy": 0.632}
    assert failed(outcome("f1", mrpc, f1=0.805, accuracy=0.68))
    assert failed(outcome("f1", qqp, f1=0.05, accuracy=0.633))
    assert failed(outcome("f1", qqp, f1=0.538, accuracy=0.368))  # always "duplicate"
    assert not failed(outcome("f1", qqp, f1=0.6, accuracy=0.75))
    assert failed(
        outcome("f1", {"f1": 0.1, "exact_match": 0.1}, f1=0.11, exact_match=0.1)
    )  # SQuAD
