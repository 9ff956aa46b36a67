from bertshift.measures import ANY, ONE, Measure

MEASURE = Measure(
    title="rank correlation of distance with behaviour",
    of=[ONE],
    reads="task",
    null="about 0",
    ranges={"grounding": ANY},  # distances of pairs, which have no interval
    has_blocks=False,
    explained="Grounding in behaviour",
)
