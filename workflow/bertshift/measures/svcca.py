from bertshift.measures.metric import SHARE, Metric, Shown

METRIC = Metric(
    module="svcca",
    tokens="svcca_tokens",
    ranges={"svcca": SHARE},
    shown={"svcca": Shown("Hidden states, SVCCA distance", {"variant": "svcca99"}, "svcca99_null")},
    place=2,
    products=6,
    decompositions=43,  # three, and two for each block that is left out
    variants=5,
    seconds=0.7,
)
