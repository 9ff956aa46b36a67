from bertshift.measures import SHARE, Metric, Shown


def _content(name: str, title: str) -> Shown:
    return Shown(f"Hidden states, {title}", {"tokens": "content", "variant": name}, f"{name}_null")


METRIC = Metric(
    module="similarity",
    tokens="svcca_tokens",
    ranges={
        "cka": (0.0, 2.0),  # 1 minus a correlation, which the debiased form may find below 0
        "procrustes": SHARE,
        "pwcca": SHARE,
    },
    shown={
        "pwcca_reference": _content("pwcca_reference", "PWCCA, weighted by the pretrained model"),
        "cka_debiased": _content("cka_debiased", "CKA, debiased"),
        "procrustes": _content("procrustes", "Procrustes distance"),
    },
    order=3,
)
