from bertshift.measures import ONE, POSITIVE, Measure

MEASURE = Measure(
    title="loss over training",
    of=[ONE],
    reads="training",
    unit="nats",
    ranges={"loss": POSITIVE},
    has_blocks=False,
    explained="Losses",
)
