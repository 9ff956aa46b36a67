from bertshift.measures import ONE, SHARE, Measure

MEASURE = Measure(
    title="which measure finds which planted change",
    of=[ONE],
    reads="weights",
    null="models without a change: at most 1 in 20 is found",
    ranges={"planted": SHARE},
    explained="Which measure finds which change",
)
