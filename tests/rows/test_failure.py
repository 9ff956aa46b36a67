import pytest

from bertshift.rows.provenance import failed

# MRPC's majority class is positive, QQP's negative: a constant has F1 .81 in one, 0 in the other.
RTE, COLA = {"accuracy": 0.5}, {"mcc": 0.0}
MRPC, QQP = {"f1": 0.812, "accuracy": 0.684}, {"f1": 0.0, "accuracy": 0.632}
SQUAD = {"f1": 0.1, "exact_match": 0.1}


@pytest.mark.parametrize(
    ("majority", "scores", "verdict"),
    [
        (RTE, [0.52], True),
        (RTE, [0.521], False),
        (COLA, [0.02], True),
        (COLA, [0.1], False),
        (MRPC, [0.805, 0.68], True),
        (QQP, [0.538, 0.368], True),  # always "duplicate"
        (QQP, [0.6, 0.75], False),
        (SQUAD, [0.11, 0.1], True),
    ],
)
def test_a_run_failed_unless_two_points_above_the_majority_class_by_accuracy_if_there_is_one(
    majority, scores, verdict
):
    scores = dict(zip(majority, scores))
    outcome = {"metric": next(iter(majority)), "scores": scores, "majority": majority}
    assert failed(outcome) is verdict


@pytest.mark.parametrize(("score", "verdict"), [(0.4, False), (0.69, False), (0.71, True)])
def test_a_run_on_shuffled_labels_failed_if_it_learnt_all_the_same(score, verdict):
    outcome = {"metric": "accuracy", "scores": {"accuracy": score}, "majority": RTE}
    assert failed(outcome | {"shuffled": True}) is verdict
