from bertshift.measures import NATS, POSITIVE, SHARE, Measure, Shown

MEASURE = Measure(
    title="change by a layer's own weights and by its input",
    module="own_or_inherited",
    weights=True,
    by_heads=True,
    ranges={
        "own_or_inherited": SHARE,
        "own_or_inherited js": NATS,
        "own_or_inherited rsa_distance": (0.0, 2.0),  # 1 minus a correlation
        "own_or_inherited cka_distance": (0.0, 2.0),  # as debiased CKA is found below 0
        "own_or_inherited relative_norm": POSITIVE,
    },
    words={
        "cosine_distance": "cosine distance",
        "rsa_distance": "RSA distance of hidden states",
        "own": "by the layer's own weights",
        "inherited": "by its input",
        "total": "by both",
        "made": "made in the layer",
        "arrived": "arrived from below",
        "both": "made and arrived",
    },
    shown={
        "own": Shown(
            "Attention, JS by the layer's own weights", {"measure": "js", "variant": "own"}
        ),
        "inherited": Shown(
            "Attention, JS by the layer's input", {"measure": "js", "variant": "inherited"}
        ),
        "made": Shown(
            "Hidden states, 1 − RSA made in the layer",
            {"measure": "rsa_distance", "variant": "made"},
        ),
        "arrived": Shown(
            "Hidden states, 1 − RSA arrived from below",
            {"measure": "rsa_distance", "variant": "arrived"},
        ),
    },
    order=7,
    explained="Own or inherited",
)
