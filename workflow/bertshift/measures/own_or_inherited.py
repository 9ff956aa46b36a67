from bertshift.measures import NATS, SHARE, Metric, Shown

METRIC = Metric(
    module="own_or_inherited",
    weights=True,
    by_heads=True,
    ranges={"own_or_inherited": SHARE, "own_or_inherited js": NATS},
    shown={
        "own": Shown(
            "Attention, JS by the layer's own weights", {"measure": "js", "variant": "own"}
        ),
        "inherited": Shown(
            "Attention, JS by the layer's input", {"measure": "js", "variant": "inherited"}
        ),
    },
    order=7,
)
