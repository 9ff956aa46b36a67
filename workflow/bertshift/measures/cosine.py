from bertshift.measures import SHARE, Metric, Shown

METRIC = Metric(
    module="cosine",
    by_heads=True,
    ranges={"cosine": SHARE},  # attention is nowhere below 0
    shown={"cosine": Shown("Attention, cosine of maps", {"variant": "crop"}, is_similarity=True)},
    order=6,
)
