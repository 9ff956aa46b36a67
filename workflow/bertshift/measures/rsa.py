from bertshift.measures import CORRELATION, Metric, Shown

METRIC = Metric(
    reads="sampled",
    module="rsa",
    tokens="tokens",
    ranges={"rsa": CORRELATION},
    shown={
        "rsa": Shown("Hidden states, RSA similarity", {"variant": "content"}, is_similarity=True)
    },
    order=1,
)
