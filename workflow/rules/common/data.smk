from snakemake.iocontainers import Wildcards
from snakemake.output_index import OutputIndex

from bertshift.world import generate

WORLD = "results/world"


def mirror_files(name):
    """One file a split: the generated world has the first candidate, a user's mirror the first that exists."""
    spec = config["datasets"].get(name)
    if spec is None:
        known = ", ".join(config["datasets"])
        raise WorkflowError(f"no data set '{name}'; config/datasets.yaml has {known}.")
    if config["data"]["source"] == "hub":
        if "hub" not in spec:
            raise WorkflowError(
                f"config/datasets.yaml: '{name}' has no 'hub'; write where on the hub it is, or set data.source to mirror."
            )
        return []
    splits = spec.get("mirror", {})
    if config["data"]["source"] == "world":
        files = [candidates[0] for candidates in splits.values()]
        if not files or not set(files) <= set(generate.FILES):
            raise WorkflowError(
                f"the generated world has no '{name}'; set data.source to mirror or hub (scale: small)."
            )
        return [f"{WORLD}/{file}" for file in files]
    if not splits:
        raise WorkflowError(
            f"config/datasets.yaml: '{name}' has no 'mirror'; write which files below data.mirror hold its splits, "
            "or set data.source to hub."
        )
    root = Path(config["data"].get("mirror") or "")
    chosen = []
    for split, candidates in splits.items():
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
    where = {
        "world": lambda: {"mirror": WORLD},
        "mirror": lambda: {"mirror": data["mirror"], "stamps": stamps(mirror_files(name))},
        "hub": lambda: {"cache": data["cache"]},
    }
    return {"name": name, "spec": spec, "source": data["source"], **where[data["source"]]()}


# Stimuli with rules of their own: the sentences of all edge tasks, the treebank's, and those with relations marked.
PROBED = ["edges", "trees", "relations"]


@user_errors_as_sentences
def stimuli_datasets(wildcards):
    return unique(dataset for dataset, _ in stimuli.sources_of(wildcards.stimulus, config))


def stimuli_settings(name):
    form = config["stimuli"].get(name, {}).get("form", "inputs")
    text = form in ["sentences", "consecutive_pairs"]
    size = "text" if text else "combined" if "+" in name else "task"
    sources = stimuli.sources_of(name, config)
    return {
        "name": name,
        "sources": sources,
        "form": form,
        "number": config["samples"][size],
        "max_train": {
            dataset: settings.train_size(dataset, config) for dataset, split in sources if split == "train"
        },
    }
