from bertshift.measures import POSITIVE, SHARE, Metric, Shown

METRIC = Metric(
    reads="weights",
    ranges={"spectra": POSITIVE, "spectra rank1": SHARE, "spectra rank8": SHARE},
    shown={
        "norm": Shown("Weights, relative norm of the change", {"variant": "norm"}),
        "intruders": Shown("Weights, intruder dimensions", {"variant": "intruders"}),
    },
    order=8,
)
