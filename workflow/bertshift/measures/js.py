from bertshift.measures import NATS, SHARE, Measure, Shown

MEASURE = Measure(
    title="JS divergence of attention",
    short="JS",
    unit="nats",
    module="jensen_shannon",
    by_heads=True,
    ranges={"js": NATS, "js bits": SHARE},
    words={"nats": "nats", "bits": "bits"},
    shown={"js": Shown("Attention, JS divergence in nats", {"variant": "nats"})},
    order=5,
    explained="Jensen-Shannon divergence",
)
