from bertshift.measures import SHARE, Metric, Shown

METRIC = Metric(
    module="svcca",
    tokens="svcca_tokens",
    ranges={"svcca": SHARE},
    shown={
        "svcca": Shown("Hidden states, SVCCA distance", {"variant": "svcca99"}, "svcca99_null")
    },
    order=2,
)
