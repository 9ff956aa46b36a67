from bertshift.measures import ONE, SHARE, Measure

MEASURE = Measure(
    title="shares of the patterns of attention maps",
    of=[ONE],
    reads="task",
    ranges=dict.fromkeys(
        ["pattern_confusion", "pattern_f1", "pattern_map", "pattern_share"], SHARE
    ),
    counted=["pattern_share"],  # maps of an input are not independent: inputs count
    by_heads=True,
    explained="Patterns of attention maps",
)
