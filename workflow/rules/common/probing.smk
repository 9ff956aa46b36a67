import re

EDGES = "results/edges/{task}"
PROBE_SPLITS = ["train", "dev", "test"]


def edge_set(task):
    return config["edge_sets"][config["edge_tasks"][task]]


# What the catalogue's entries download, by its place: the address without its scheme.
CORPORA = "results/corpora"
DOWNLOADS = {
    each["url"].partition("://")[2]: each
    for each in [
        *(each for spec in config["edge_sets"].values() for each in spec.get("download", {}).values()),
        config["relations"]["download"],
    ]
}


def generated(name):
    return set(config["edge_sets"][name]["files"].values()) <= set(generate.FILES)


def check_generated():
    """WorkflowError for edge sets that the generated world does not have, of all edge tasks at once."""
    absent = {task: name for task, name in config["edge_tasks"].items() if not generated(name)}
    if absent:
        tasks = [config["edge_sets"][name]["task"] for name in absent.values()]
        instead = [
            name for name, spec in config["edge_sets"].items() if generated(name) and spec["task"] in tasks
        ]
        raise WorkflowError(
            f"edge_tasks.{', '.join(absent)}: the generated world has no {', '.join(unique(absent.values()))}; write "
            f"{', '.join(instead)}, or set data.source to mirror or hub (scale: small)."
        )


def edge_corpus(task):
    """The folder and the files in it: Snakemake makes the world's, a mirror has the others, or they are downloaded."""
    spec, data = edge_set(task), config["data"]
    if data["source"] == "world":
        check_generated()
        return WORLD, spec["files"]
    mirror = Path(data.get("mirror") or "")
    offered = {part: each["url"].partition("://")[2] for part, each in spec.get("download", {}).items()}
    # A mirror may hold downloads too, where they lie below results/corpora.
    for files in filter(None, [spec["files"], offered]):
        if all((mirror / file).exists() for file in files.values()):
            return str(mirror), files
    if data["source"] == "hub" and offered:
        return CORPORA, offered
    if generated(config["edge_tasks"][task]):
        raise WorkflowError(
            f"edge_tasks.{task}: only the generated world has {config['edge_tasks'][task]}; write a corpus of "
            "config/edges.yaml, or set data.source to world."
        )
    missing = [mirror / file for file in spec["files"].values() if not (mirror / file).exists()]
    whence = f" from {spec['url']}" if "url" in spec else ""
    raise WorkflowError(
        f"edge_tasks.{task}: {config['edge_tasks'][task]} needs {missing[0]}; fetch it{whence} and put it there, or set "
        "data.mirror to the folder that holds it."
    )


def edge_files(task):
    root, files = edge_corpus(task)
    return [str(Path(root) / file) for file in files.values()]


def edge_source(task):
    root, files = edge_corpus(task)
    spec = {key: value for key, value in edge_set(task).items() if key != "download"}
    own = [] if root in (WORLD, CORPORA) else edge_files(task)
    return {
        "stamps": stamps(own),
        "name": config["edge_tasks"][task],
        "spec": {**spec, "files": files},
        "root": root,
        "origin": "world" if root == WORLD else "hub" if root == CORPORA else "mirror",
    }


def edge_sets():
    """The sidecar of every task: where it is, the three splits are whole."""
    return [f"{EDGES.format(task=task)}/edges.json" for task in config["edge_tasks"]]


def edge_tasks():
    return {task: EDGES.format(task=task) for task in config["edge_tasks"]}


def edge_sentence_settings():
    return {"tasks": edge_tasks(), "probe": config["probes"]["edge"]}


def tree_settings():
    return {"sizes": {"train": config["probes"]["structural"].get("max_train")}}


def probe_inputs(stimuli):
    """Inputs of a probe beside the models of all replicates: the sentences that they read, and what both were made from."""
    return {
        "sentences": f"results/stimuli/{stimuli}.jsonl",
        "description": f"results/stimuli/{stimuli}.json",
        "scores": lambda wildcards: training_scores(parse_model(wildcards.model)),
        "outcomes": lambda wildcards: outcomes(runs_of(parse_model(wildcards.model))),
        "sources": lambda wildcards: records(runs_of(parse_model(wildcards.model))),
    }


def disk_of_states(model, stimuli):
    """MB of one replicate's states, as probes store them."""
    run = runs_of(parse_model(model))[0]
    return disk_of_dump(model, stimuli, dump_settings("states16", [run]))


def probe_settings(kind, name):
    model = parse_model(name)
    runs = runs_of(model)
    # Online codes are made of edge probes, and trained as these unless said otherwise; the library's patience is another.
    shared = config["probes"]["edge"] if kind == "mdl" else {}
    return {
        "probe": {**shared, **config["probes"][kind]},
        "tasks": edge_tasks(),
        "runs": {run.name: [run.init, run.seed] for run in runs},
        "folders": {run.name: run.folder for run in runs},
        "max_length": config["samples"]["max_length"],
        "trained": names_of(runs),
        **{
            key: value for key, value in provenance(model).items() if key in ["model", "scale", "checkpoints"]
        },
    }


def edge_probe_settings(wildcards):
    model = parse_model(wildcards.model)
    lexical = ["lexical", "word_only"] if model.is_checkpoint else []
    return {
        **probe_settings("edge", wildcards.model),
        "variants": ["mix", "top", *lexical],
    }


def delta_settings(wildcards):
    pairs = naming.pair_runs(*parse_comparison(wildcards), config)
    return {
        "model": wildcards.model,
        "reference": wildcards.reference,
        "pairs": [[[run.init, run.seed], [other.init, other.seed]] for run, other in pairs],
    }
