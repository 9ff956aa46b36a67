from bertshift.measures import SHARE, Measure, Shown

WORDS = {
    "pwcca_reference": "PWCCA, weighted by the pretrained model",
    "pwcca_model": "PWCCA, weighted by the fine-tuned model",
    "cka_debiased": "CKA, debiased",
    "cka_biased": "CKA, biased",
    "procrustes": "Procrustes distance",
}
MEASURE = Measure(
    title="distance by PWCCA, CKA and Procrustes",
    module="similarity",
    tokens="svcca_tokens",
    null="`<variant>_null`, below 1",
    ranges={
        "cka": (0.0, 2.0),  # 1 minus a correlation, which the debiased form may find below 0
        "procrustes": SHARE,
        "pwcca": SHARE,
    },
    words=WORDS,
    shown={
        name: Shown(
            f"Hidden states, {WORDS[name]}",
            {"tokens": "content", "variant": name},
            f"{name}_null",
        )
        for name in ("pwcca_reference", "cka_debiased", "procrustes")
    },
    order=3,
    explained="PWCCA",
)
