from bertshift.measures import ONE, SHARE, Measure

MEASURE = Measure(
    title="attention of heads from predicates to arguments",
    of=[ONE],
    reads="relations",
    null="`null` and `null_99`, other places",
    ranges=dict.fromkeys(["relation_heads", "relation_map"], SHARE),
    by_heads=True,
    words={
        "max_fe_to_lu": "largest weight to the predicate",
        "code_zip": "as the paper's notebook calculates",
        "null_99": "99th percentile of the null",
    },
    explained="Relation heads",
)
