from bertshift.measures import POSITIVE, SHARE, Measure

MEASURE = Measure(
    title="attention to kinds of words",
    module="attention_to",
    weights=True,
    annotations=True,
    by_heads=True,
    ranges={
        "attention_to": SHARE,
        "attention_to from_cls_norm": POSITIVE,
        "attention_to received_norm": POSITIVE,
    },
    words={
        "sep_sum": "all separators together",
        "punct": "punctuation",
        "noun": "nouns",
        "verb": "verbs",
        "pron": "pronouns",
        "subj": "subjects",
        "obj": "objects",
        "neg": "negations",
        "received": "attention",
        "received_norm_share": "attention times the length of the value",
        "from_cls": "attention of the first token",
    },
    explained="Attention to kinds of words",
)
