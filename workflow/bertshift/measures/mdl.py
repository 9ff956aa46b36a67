from bertshift.measures import ONE, POSITIVE, SHARE, Measure

MEASURE = Measure(
    title="description length of the edge tasks' labels",
    of=[ONE],
    reads="edges",
    unit="bits",
    null="`uniform`",
    ranges={"mdl": POSITIVE, "mdl f1": SHARE},
    explained="Description length",
)
