import math

# A dump is called by what it holds, and metrics that look at the same inputs share it: extracting it costs more than they
# do. In return, where one of them is made anew, so is the deleted dump, and with it run the others.
# `stimuli` lists one or several input sets, joined by hyphens: one job reads a model once for all of them.
ACTIVATIONS = "results/activations/{kind}/{model}/{stimuli}"
KINDS = {
    # Attention maps and hidden states.
    "attention": {"attention": True, "precision": "float32", "sample": None},
    # Hidden states of a sample of tokens: of eleven sets of stimuli, those of all would fill a disk.
    "sampled": {
        "attention": False,
        "precision": "float32",
        "sample": {"metric": "rsa", "count": config["samples"]["tokens"]},
    },
    # Hidden states as probes read them; never a file of its own.
    "states16": {"attention": False, "precision": "float16", "sample": None},
}
KIND_READ_BY = {
    "cosine": "attention",
    "attention_to": "attention",
    "own_or_inherited": "attention",
    "js": "attention",
    "relation_heads": "attention",
    "svcca": "attention",
    "similarity": "attention",
    "rsa": "sampled",
}


def dump_read_by(metric, model, stimuli):
    return ACTIVATIONS.format(kind=KIND_READ_BY[metric], model=model, stimuli="-".join(stimuli))


def models_read(wildcards):
    return [file for run in runs_of(parse_model(wildcards.model)) for file in run_files(run)]


def how_dumped(kind):
    return {"max_length": config["samples"]["max_length"], **KINDS[kind]}


def recipe_of_dump(metric):
    """What a deleted dump was made by: whoever reads it has this among its own settings, or a change would go unseen."""
    return {"code": code("activations"), **how_dumped(KIND_READ_BY[metric])}


def dump_settings(kind, runs):
    return {"runs": {run.name: run.folder for run in runs}, **how_dumped(kind)}


def settings_of_dump(wildcards):
    return dump_settings(wildcards.kind, runs_of(parse_model(wildcards.model)))


def disk_of_dump(model, stimuli, dumped):
    """MB, as the plan expects them."""
    job = work.Job(0, "activations", {"model": model, "stimuli": stimuli}, dumped)
    (cost,) = costs.shipped([job], config, COSTS, has_gpu=False).values()
    return math.ceil(cost.disk / costs.MB)


def disk_of_activations(wildcards):
    return disk_of_dump(wildcards.model, wildcards.stimuli, settings_of_dump(wildcards))


def keep(path):
    return path if config["keep_activations"] else temp(path)
