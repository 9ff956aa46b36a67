from bertshift.measures import ONE, Measure
from bertshift.measures.scores import counted_of, ranges_of

MEASURE = Measure(
    title="scores with heads and layers disabled",
    of=[ONE],
    reads="task",
    ranges=ranges_of("ablation") | ranges_of("ablation_split_half"),
    counted=[*counted_of("ablation"), *counted_of("ablation_split_half")],
    by_heads=True,
    words={"uniform": "disabled", "none": "nothing disabled"},
    explained="Heads and layers disabled",
)
