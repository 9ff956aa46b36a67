"""Fine-tunings that taught a model nothing."""

from collections.abc import Mapping

MARGIN = 0.02


def failed(outcome: Mapping) -> bool:
    """Did the run with this scores.json end at most MARGIN above the majority class on the development set?

    Mosbach et al. 2021 call a run failed that is not above the majority class; the margin, ours, is for runs above it
    by chance. It goes by the headline score, whose value for a constant is 0 if it is a correlation; but by accuracy
    in the place of F1, which for a constant depends on the class that happens to be the larger one.
    """
    metric = outcome["metric"]
    if metric == "f1" and "accuracy" in outcome["scores"]:
        metric = "accuracy"
    # Scores are fractions of a few hundred examples: one that equals the bound may miss it by rounding alone.
    return outcome["scores"][metric] <= outcome["majority"].get(metric, 0.0) + MARGIN + 1e-9
