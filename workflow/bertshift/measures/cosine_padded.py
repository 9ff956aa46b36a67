from bertshift.measures import SHARE, Measure

MEASURE = Measure(
    title="cosine of attention maps, with padding",
    reads="padded",
    by_heads=True,
    ranges={"cosine": SHARE},
    words={"padded": "padded inputs"},
    explained="Padded cosine",
)
