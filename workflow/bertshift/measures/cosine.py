from bertshift.measures import SHARE, Measure, Shown

MEASURE = Measure(
    title="cosine of attention maps",
    module="cosine",
    by_heads=True,
    ranges={"cosine": SHARE},  # attention is nowhere below 0
    words={"crop": "real tokens alone (crop)"},
    shown={"cosine": Shown("Attention, cosine of maps", {"variant": "crop"}, is_similarity=True)},
    order=6,
    explained="Cosine of attention maps",
)
