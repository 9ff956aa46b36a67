from snakemake.iocontainers import Wildcards
from snakemake.output_index import OutputIndex

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


# The rules that reach a network, where the configuration says so.
FETCHING = ["dataset", "checkpoint", "corpus"]


def fetched_for(target):
    """What they make of all that a rule is made from; found, as Snakemake does, by asking each file's rule for its inputs."""
    makers_of = OutputIndex(list(workflow.rules)).match_producers
    queue, seen, fetched = [(workflow.get_rule(target), ())], set(), []
    while queue:
        maker, wildcards = queue.pop()
        for file in maker.expand_input(Wildcards(fromdict=dict(wildcards)))[0]:
            for below in makers_of(file):
                job = below, tuple(below.get_wildcards(file).items())
                if job not in seen:
                    seen.add(job)
                    queue.append(job)
                    if below.name in FETCHING:
                        fetched.append(file)
    return fetched


def dataset_source(name):
    spec = config["datasets"][name]
    data = config["data"]
    root = WORLD if data["source"] == "world" else data.get("mirror")
    where = {"cache": data["cache"]} if data["source"] == "hub" else {"mirror": root}
    return {"name": name, "spec": spec, "source": data["source"], **where}


# Stimuli with rules of their own: the sentences of all edge tasks, the treebank's, and those with relations marked.
PROBED = ["edges", "trees", "relations"]


@user_errors_as_sentences
def stimuli_datasets(wildcards):
    return unique(dataset for dataset, _ in stimuli.sources_of(wildcards.stimulus, config))


def stimuli_settings(name):
    form = config["stimuli"].get(name, {}).get("form", "inputs")
    text = form in ["sentences", "consecutive_pairs"]
    size = "text" if text else "combined" if "+" in name else "task"
    return {
        "name": name,
        "sources": stimuli.sources_of(name, config),
        "form": form,
        "number": config["samples"][size],
        "source": config["data"]["source"],
    }
