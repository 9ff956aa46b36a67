from bertshift.measures import ONE, Measure
from bertshift.measures.scores import counted_of, ranges_of

MEASURE = Measure(
    title="scores of frozen encoders",
    of=[ONE],
    reads="task",
    null="the majority class",
    ranges=ranges_of("frozen"),
    counted=counted_of("frozen"),
    explained="Frozen encoders",
)
