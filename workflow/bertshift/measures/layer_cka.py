from bertshift.measures.metric import CORRELATION, Metric, Shown

METRIC = Metric(
    module="layer_cka",
    tokens="tokens",
    all_layers=True,
    ranges={"layer_cka": CORRELATION},
    shown={
        "layer_cka": Shown("Hidden states, CKA of a layer with itself", {"variant": "across"}, alike=True)
    },
    place=4,
    # Of tokens with each other, once a layer, then of every two layers.
    products=16,
    variants=40,
    seconds=1.2,
)
