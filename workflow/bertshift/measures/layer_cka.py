from bertshift.measures import CORRELATION, Measure, Shown

MEASURE = Measure(
    title="CKA of every layer with every layer",
    module="layer_cka",
    tokens="tokens",
    null="about 0",
    ranges={"layer_cka": CORRELATION},
    words={"across": "fine-tuned with pretrained"},
    shown={
        "layer_cka": Shown(
            "Hidden states, CKA of a layer with itself", {"variant": "across"}, is_similarity=True
        )
    },
    order=4,
    explained="Every layer with every layer",
)
