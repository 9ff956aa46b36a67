localrules:
    dataset,
    stimuli,


WORLD = "results/world"
# What the generated world holds beside the data sets: text for pretraining, and gold annotation.
WORLD_EXTRAS = ["corpus/documents.txt", "heads/relations.jsonl", "README.txt"] + [
    f"edges/{task}/{split}.jsonl"
    for task in ["pos", "constituents", "dependencies", "entities", "srl", "coref", "spr", "relations"]
    for split in ["train", "dev", "test"]
]


def mirror_files(name):
    """One file a split: the generated world has the first candidate, a user's mirror the first that exists."""
    spec = config["datasets"].get(name)
    if spec is None:
        known = ", ".join(config["datasets"])
        raise WorkflowError(f"no data set '{name}'; config/datasets.yaml has {known}.")
    if config["data"]["source"] == "hub":
        return []
    if config["data"]["source"] == "world":
        return [f"{WORLD}/{candidates[0]}" for candidates in spec["mirror"].values()]
    root = Path(config["data"].get("mirror") or "")
    chosen = []
    for split, candidates in spec["mirror"].items():
        found = [root / candidate for candidate in candidates if (root / candidate).is_file()]
        if not found:
            raise WorkflowError(
                f"data.mirror: {root} has none of {', '.join(candidates)} ({split} split of '{name}'); "
                "put the file there, or set data.source to hub."
            )
        chosen.append(str(found[0]))
    return chosen


def sidecar(name):
    return f"results/data/{name}/dataset.json"


def examples(name):
    return f"results/data/{name}/examples.jsonl"


def world_files():
    datasets = [
        candidates[0] for spec in config["datasets"].values() for candidates in spec["mirror"].values()
    ]
    return [f"{WORLD}/{path}" for path in dict.fromkeys(datasets + WORLD_EXTRAS)]


if config["data"]["source"] == "world":

    localrules:
        world,

    rule world:
        output:
            world_files(),
        log:
            "logs/world.log",
        params:
            code=code("world"),
            settings=settings.canonical(config["world"]),
            directory=WORLD,
        script:
            "../scripts/world.py"


# The only rule that reaches the network, and only where data.source is hub.
rule dataset:
    input:
        files=lambda wildcards: mirror_files(wildcards.dataset),
    output:
        examples("{dataset}"),
        sidecar("{dataset}"),
    log:
        "logs/dataset/{dataset}.log",
    params:
        code=code("dataset"),
        source=lambda wildcards: settings.canonical(dataset_source(wildcards.dataset)),
    script:
        "../scripts/dataset.py"


def dataset_source(name):
    spec = config["datasets"][name]
    data = config["data"]
    root = WORLD if data["source"] == "world" else data.get("mirror")
    where = {"cache": data["cache"]} if data["source"] == "hub" else {"mirror": root}
    return {"name": name, "spec": spec, "source": data["source"], **where}


rule stimuli:
    input:
        examples=lambda wildcards: [examples(name) for name in stimuli_datasets(wildcards)],
        sidecars=lambda wildcards: [sidecar(name) for name in stimuli_datasets(wildcards)],
    output:
        rows="results/stimuli/{stimuli}.jsonl",
        description="results/stimuli/{stimuli}.json",
    log:
        "logs/stimuli/{stimuli}.log",
    params:
        code=code("stimuli"),
        settings=lambda wildcards: settings.canonical(stimuli_settings(wildcards.stimuli)),
    script:
        "../scripts/stimuli.py"


@user_errors_as_sentences
def stimuli_datasets(wildcards):
    return stimuli.datasets_of(wildcards.stimuli, config)


def stimuli_settings(name):
    stimulus = config["stimuli"].get(name, {})
    size = "text" if stimulus else "combined" if "+" in name else "task"
    return {
        "name": name,
        "datasets": stimuli.datasets_of(name, config),
        "form": stimulus.get("form"),
        "number": config["samples"][size],
        "source": config["data"]["source"],
    }
