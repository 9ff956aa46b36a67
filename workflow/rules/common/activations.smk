# `stimuli` lists one or several input sets, joined by hyphens: one job reads a model once for all of them.
ACTIVATIONS = "results/activations/{metric}/{model}/{stimuli}"
METRICS_OF_ATTENTION = ["cosine", "js", "relation_heads"]
# Who reads what another metric has dumped, if both look at the same inputs: extracting it costs more than either. In
# return one of the two made anew runs the other as well.
READS_THE_DUMP_OF = {
    "attention_to": "cosine",
    "own_or_inherited": "cosine",
    "svcca": "js",
    "similarity": "svcca",
}
PROBES = ["edge_probes", "mdl", "structural_probes"]


def dump_of(metric):
    return dump_of(READS_THE_DUMP_OF[metric]) if metric in READS_THE_DUMP_OF else metric


def keep(path):
    return path if config["keep_activations"] else temp(path)
