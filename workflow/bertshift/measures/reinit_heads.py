from bertshift.measures import ONE, Measure
from bertshift.measures.scores import COUNTED, RANGES

MEASURE = Measure(
    title="scores after a head is re-initialised",
    of=[ONE],
    reads="task",
    null="other seeds",
    ranges=RANGES,
    counted=COUNTED,
    explained="Re-initialised heads",
)
