from bertshift.measures import CORRELATION, ONE, SHARE, Measure

MEASURE = Measure(
    title="trees by structural probes",
    of=[ONE],
    reads="trees",
    null="the parent, and layer 0",
    ranges={"structural_probe": SHARE, "structural_probe spearman": CORRELATION},
    counted=["structural_probe root_accuracy"],
    words={"uuas": "undirected attachments", "root_accuracy": "roots found"},
    on_page=True,
    explained="Structural probes",
)
