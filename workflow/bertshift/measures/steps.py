from bertshift.measures import ONE, POSITIVE, Measure

MEASURE = Measure(
    title="size of the steps of training",
    of=[ONE],
    reads="training",
    ranges={"steps": POSITIVE},
    has_blocks=False,
    explained="Step sizes",
)
