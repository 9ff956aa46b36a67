from bertshift.measures import NATS, SHARE, Metric, Shown

METRIC = Metric(
    module="jensen_shannon",
    by_heads=True,
    ranges={"js": NATS, "js bits": SHARE},
    shown={"js": Shown("Attention, JS divergence in nats", {"variant": "nats"})},
    order=5,
)
