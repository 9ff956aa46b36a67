from bertshift.measures import CORRELATION, Metric, Shown

METRIC = Metric(
    module="layer_cka",
    tokens="tokens",
    ranges={"layer_cka": CORRELATION},
    shown={
        "layer_cka": Shown(
            "Hidden states, CKA of a layer with itself", {"variant": "across"}, is_similarity=True
        )
    },
    order=4,
)
