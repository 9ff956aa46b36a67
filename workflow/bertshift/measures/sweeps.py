from bertshift.measures import ROW, Measure
from bertshift.measures.scores import COUNTED, RANGES

MEASURE = Measure(
    title="scores by layers frozen, kept or re-initialised",
    of=[ROW],
    reads="task",
    null="the majority class",
    ranges=RANGES,
    counted=COUNTED,
    words={"reinit": "re-initialised"},
    explained="Freezing",
)
