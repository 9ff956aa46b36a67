import re


localrules:
    corpus,
    edges,
    edge_sentences,
    trees,


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


def edge_corpus(task):
    """The folder and the files in it: Snakemake makes the world's, a mirror has the others, or they are downloaded."""
    spec, data = edge_set(task), config["data"]
    if data["source"] == "world":
        return WORLD, spec["files"]
    mirror = Path(data.get("mirror") or "")
    offered = {part: each["url"].partition("://")[2] for part, each in spec.get("download", {}).items()}
    # A mirror may hold downloads too, where they lie below results/corpora.
    for files in filter(None, [spec["files"], offered]):
        if all((mirror / file).exists() for file in files.values()):
            return str(mirror), files
    if data["source"] == "hub" and offered:
        return CORPORA, offered
    missing = [mirror / file for file in spec["files"].values() if not (mirror / file).exists()]
    raise WorkflowError(
        f"edge_tasks.{task}: {config['edge_tasks'][task]} needs {missing[0]}; fetch it from {spec['url']} "
        "and put it there, or set data.mirror to the folder that holds it."
    )


def edge_files(task):
    root, files = edge_corpus(task)
    return [str(Path(root) / file) for file in files.values()]


def edge_source(task):
    root, files = edge_corpus(task)
    spec = {key: value for key, value in edge_set(task).items() if key != "download"}
    return {
        "name": config["edge_tasks"][task],
        "spec": {**spec, "files": files},
        "root": root,
        "source": "download" if root == CORPORA else "mirror",
    }


def edge_sets():
    """The sidecar of every task: where it is, the three splits are whole."""
    return [f"{EDGES.format(task=task)}/edges.json" for task in config["edge_tasks"]]


def edge_tasks():
    return {task: EDGES.format(task=task) for task in config["edge_tasks"]}


def edge_sentence_settings():
    return {"tasks": edge_tasks(), "probe": config["probes"]["edge"], "source": config["data"]["source"]}


def tree_settings():
    return {
        "sizes": {"train": config["probes"]["structural"].get("max_train")},
        "source": config["data"]["source"],
    }


def probe_inputs(metric, stimuli):
    """Inputs of a probe: the dump of all replicates, and the sentences that it was made from."""
    return {
        "dump": lambda wildcards: ACTIVATIONS.format(
            metric=metric, model=parse_model(wildcards.model), stimuli=stimuli
        ),
        "sentences": f"results/stimuli/{stimuli}.jsonl",
        "description": f"results/stimuli/{stimuli}.json",
        "sidecars": lambda wildcards: trained_on(parse_model(wildcards.model)),
        "scores": lambda wildcards: training_scores(parse_model(wildcards.model)),
        "commits": lambda wildcards: records(parse_model(wildcards.model)),
    }


def probe_settings(kind, name):
    model = parse_model(name)
    runs = runs_of(model)
    # Online codes are made of edge probes, and trained as these unless said otherwise.
    shared = config["probes"]["edge"] if kind == "mdl" else {}
    return {
        "probe": {**shared, **config["probes"][kind]},
        "tasks": edge_tasks(),
        "runs": {run.name: [run.init, run.seed] for run in runs},
        **{
            key: value
            for key, value in provenance(model).items()
            if key in ["model", "scale", "source", "checkpoints"]
        },
    }


def edge_probe_settings(wildcards):
    model = parse_model(wildcards.model)
    lexical = ["lexical", "word_only"] if model.is_checkpoint else []
    return {
        **probe_settings("edge", wildcards.model),
        "variants": ["mix", "top", *lexical],
        "folders": {run.name: run.folder for run in runs_of(model)},
    }


def delta_settings(wildcards):
    pairs = naming.pair_runs(*parse_comparison(wildcards), config)
    return {
        "model": wildcards.model,
        "reference": wildcards.reference,
        "pairs": [[[run.init, run.seed], [other.init, other.seed]] for run, other in pairs],
    }


# A file that a publisher offers. No digest of code: what an address with a commit holds depends on none.
rule corpus:
    output:
        f"{CORPORA}/{{path}}",
    log:
        "logs/corpus/{path}.log",
    benchmark:
        "logs/corpus/{path}.cost.tsv"
    wildcard_constraints:
        path=only(map(re.escape, DOWNLOADS)),
    conda:
        ENVIRONMENT
    params:
        source=lambda wildcards: settings.canonical(DOWNLOADS[wildcards.path]),
    script:
        "../scripts/corpus.py"


# A corpus as records of edge probing, whatever its publisher's layout.
rule edges:
    input:
        files=lambda wildcards: edge_files(wildcards.task),
    output:
        [f"{EDGES}/{split}.jsonl" for split in PROBE_SPLITS],
        f"{EDGES}/edges.json",
    log:
        "logs/edges/{task}.log",
    benchmark:
        "logs/edges/{task}.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("edges"),
        source=lambda wildcards: settings.canonical(edge_source(wildcards.task)),
    script:
        "../scripts/edges.py"


# Every sentence of every task once, so that all probes of a model share one forward pass.
rule edge_sentences:
    input:
        edge_sets(),
    output:
        rows="results/stimuli/edges.jsonl",
        description="results/stimuli/edges.json",
    log:
        "logs/stimuli/edges.log",
    benchmark:
        "logs/stimuli/edges.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("edge_sentences"),
        settings=settings.canonical(edge_sentence_settings()),
    script:
        "../scripts/edge_sentences.py"


rule trees:
    input:
        examples=examples(config["treebank"]),
        sidecar=sidecar(config["treebank"]),
    output:
        rows="results/stimuli/trees.jsonl",
        description="results/stimuli/trees.json",
    log:
        "logs/stimuli/trees.log",
    benchmark:
        "logs/stimuli/trees.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("trees"),
        settings=settings.canonical(tree_settings()),
    script:
        "../scripts/trees.py"


rule edge_probes:
    input:
        **probe_inputs("edge_probes", "edges"),
        edges=edge_sets(),
        # Their word embeddings are one of the baselines.
        checkpoints=lambda wildcards: [
            file
            for run in runs_of(parse_model(wildcards.model))
            if run.model.is_checkpoint
            for file in run_files(run)
        ],
    output:
        table="results/edge_probes/{model}.tsv",
        counts="results/edge_probes/{model}.npz",
    log:
        "logs/edge_probes/{model}.log",
    benchmark:
        "logs/edge_probes/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe"),
        gpu=1,
    params:
        code=code("edge_probes"),
        settings=lambda wildcards: settings.canonical(edge_probe_settings(wildcards)),
    script:
        "../scripts/edge_probes.py"


rule edge_probe_deltas:
    input:
        model="results/edge_probes/{model}.npz",
        reference="results/edge_probes/{reference}.npz",
        table="results/edge_probes/{model}.tsv",
    output:
        "results/edge_probes/{model}_vs_{reference}.tsv",
    log:
        "logs/edge_probe_deltas/{model}_vs_{reference}.log",
    benchmark:
        "logs/edge_probe_deltas/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("edge_probe_deltas"),
        settings=lambda wildcards: settings.canonical(delta_settings(wildcards)),
    script:
        "../scripts/edge_probe_deltas.py"


rule mdl:
    input:
        **probe_inputs("mdl", "edges"),
        edges=edge_sets(),
    output:
        "results/mdl/{model}.tsv",
    log:
        "logs/mdl/{model}.log",
    benchmark:
        "logs/mdl/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe"),
        gpu=1,
    params:
        code=code("mdl"),
        settings=lambda wildcards: settings.canonical(probe_settings("mdl", wildcards.model)),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        **probe_inputs("structural_probes", "trees"),
    output:
        "results/structural_probes/{model}.tsv",
    log:
        "logs/structural_probes/{model}.log",
    benchmark:
        "logs/structural_probes/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe"),
        gpu=1,
    params:
        code=code("structural_probes"),
        settings=lambda wildcards: settings.canonical(probe_settings("structural", wildcards.model)),
    script:
        "../scripts/structural_probes.py"
