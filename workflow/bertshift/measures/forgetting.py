from bertshift.measures import ANY, ONE, POSITIVE, Measure

MEASURE = Measure(
    title="forgetting",
    of=[ONE],
    reads="sentences",
    unit="nats a word",
    null="`unigram`, word frequencies",
    ranges={
        "forgetting": ANY,  # `forgotten` is a difference
        "forgetting model": POSITIVE,
        "forgetting parent": POSITIVE,
        "weights_moved": POSITIVE,
    },
    explained="Forgetting",
)
