from bertshift.measures import POSITIVE, SHARE, Metric

METRIC = Metric(
    module="attention_to",
    weights=True,
    annotations=True,
    by_heads=True,
    ranges={
        "attention_to": SHARE,
        "attention_to from_cls_norm": POSITIVE,
        "attention_to received_norm": POSITIVE,
    },
)
