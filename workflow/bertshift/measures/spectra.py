from bertshift.measures import POSITIVE, SHARE, Measure, Shown

MEASURE = Measure(
    title="spectra of the change of weights",
    reads="weights",
    has_blocks=False,
    ranges={"spectra": POSITIVE, "spectra rank1": SHARE, "spectra rank8": SHARE},
    words={
        "singular": "singular values",
        "norm": "norm of the change",
        "intruders": "intruder dimensions",
    },
    shown={
        "norm": Shown("Weights, relative norm of the change", {"variant": "norm"}),
        "intruders": Shown("Weights, intruder dimensions", {"variant": "intruders"}),
    },
    order=8,
    explained="Spectra of the change",
)
