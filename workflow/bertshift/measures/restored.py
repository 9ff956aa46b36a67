from bertshift.measures import ONE, SHARE, Measure
from bertshift.measures.scores import counted_of, ranges_of

MEASURE = Measure(
    title="SVCCA distance and score with one layer restored",
    of=[ONE],
    reads="task",
    null="`svcca99_null`, below 1",
    ranges={"restored": SHARE, **ranges_of("restored_score")},
    counted=counted_of("restored_score"),
    words={"restored": "SVCCA distance of the last layer"},
    explained="Layers restored",
)
