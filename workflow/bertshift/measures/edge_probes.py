from bertshift.measures import ANY, ONE, SHARE, TWO, Measure

MEASURE = Measure(
    title="F1 of edge probes",
    of=[TWO, ONE],
    reads="edges",
    null="`lexical`, `word_only`, `randomized`",
    ranges={"edge_probe": SHARE, "edge_probe_delta": ANY},
    words={"micro_all": "F1"},
    on_page=True,
    explained="Edge probes",
)
