from bertshift.measures import Measure
from bertshift.measures.scores import COUNTED, RANGES

MEASURE = Measure(
    title="difference of scores",
    reads="task",
    null="0",
    ranges=RANGES,
    counted=COUNTED,
    explained="Gains",
)
