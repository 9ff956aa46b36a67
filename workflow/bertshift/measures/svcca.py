from bertshift.measures import SHARE, Measure, Shown

TITLE = "SVCCA distance"
MEASURE = Measure(
    title=TITLE,
    module="svcca",
    tokens="svcca_tokens",
    null="`svcca99_null`, below 1",
    ranges={"svcca": SHARE},
    words={"svcca99": TITLE, "cca_full": "CCA of all directions"},
    shown={"svcca": Shown(f"Hidden states, {TITLE}", {"variant": "svcca99"}, "svcca99_null")},
    order=2,
    explained="SVCCA",
)
