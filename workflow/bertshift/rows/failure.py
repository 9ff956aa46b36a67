"""Fine-tunings that taught a model nothing."""

from collections.abc import Mapping

MARGIN = 0.02


def failed(outcome: Mapping) -> bool:
    """Test whether the run with this scores.json ended at most MARGIN above the majority class on
    the development set.

    Mosbach et al. 2021 call a run failed that is not above the majority class; the margin, ours,
    is for runs above it by chance. A run that gives one answer to every input must count,
    whichever it gives. It goes by the headline score where that bounds all constants: no accuracy
    or macro-F1 of one is above the majority's, every correlation is 0. In the place of F1, which
    is above that of a negative majority if the constant is the positive class, it goes by
    accuracy.
    """
    metric = outcome["metric"]
    if metric == "f1" and "accuracy" in outcome["scores"]:
        metric = "accuracy"
    # Scores are fractions of a few hundred examples: one that equals the bound may miss it by
    # rounding alone.
    return outcome["scores"][metric] <= outcome["majority"].get(metric, 0.0) + MARGIN + 1e-9
