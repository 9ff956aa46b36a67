"""The record of scores, and the ranges of scores for other records."""

from bertshift.measures import ANY, CORRELATION, ONE, SHARE, Measure, Range

RANGES: dict[str, Range] = {
    **dict.fromkeys(
        [
            "accuracy",
            "f1",
            "macro_f1",
            "exact_match",
            "uas",
            "las_ud",
            "las_full",
            "las_nopunct",
            "las_wordpiece",
            "label_accuracy_gold_heads",
        ],
        SHARE,
    ),
    **{
        f"{part}_{score}": SHARE
        for part in ("no_answer", "has_answer", "best")
        for score in ("f1", "exact_match")
    },
    "best_f1_threshold": ANY,  # a difference of logits
    "best_exact_match_threshold": ANY,
    **dict.fromkeys(["mcc", "pearson", "spearman"], CORRELATION),
}
# Words of a sentence are not independent: the number of examples is that of the sentences.
COUNTED = ["accuracy", "exact_match", "uas", "las_ud", "las_full"]


def ranges_of(metric: str) -> dict[str, Range]:
    """Name the ranges of a metric that has a column `score`."""
    return {f"{metric} {score}": bounds for score, bounds in RANGES.items()}


def counted_of(metric: str) -> list[str]:
    return [f"{metric} {score}" for score in COUNTED]


MEASURE = Measure(
    title="scores",
    of=[ONE],
    reads="task",
    null="the majority class",
    ranges=RANGES,
    counted=COUNTED,
    on_page=True,
    explained="Scores",
)
