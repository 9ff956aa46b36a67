from bertshift.measures import CORRELATION, Measure, Shown

TITLE = "RSA similarity"
MEASURE = Measure(
    title=TITLE,
    short="RSA",
    reads="sampled",
    module="rsa",
    tokens="tokens",
    null="about 0",
    ranges={"rsa": CORRELATION},
    shown={"rsa": Shown(f"Hidden states, {TITLE}", {"variant": "content"}, is_similarity=True)},
    order=1,
    explained="RSA",
)
