from functools import partial

from bertshift.data import sources
from bertshift.requests import probing

DOWNLOADS = sources.edge_downloads(config)
EDGE_FILES = ["train.jsonl", "dev.jsonl", "test.jsonl", "edges.json"]


# Download a publisher's file. There is no digest of code, as the file at an address with a commit cannot change.
rule corpus:
    output:
        "results/corpora/{path}",
    log:
        "logs/corpus/{path}.log",
    wildcard_constraints:
        path=match_only(DOWNLOADS),
    priority: 10
    localrule: True
    conda:
        "../../envs/compute.yaml"
    params:
        **settings_of(
            url=lambda wildcards: DOWNLOADS[wildcards.path]["url"],
            sha256=lambda wildcards: DOWNLOADS[wildcards.path].get("sha256"),
        ),
    script:
        "../scripts/corpus.py"


rule trees:
    input:
        examples=f"results/data/{config['treebank']}/examples.jsonl",
        sidecar=f"results/data/{config['treebank']}/dataset.json",
    output:
        rows="results/stimuli/trees.jsonl",
        description="results/stimuli/trees.json",
    log:
        "logs/stimuli/trees.log",
    priority: 10
    localrule: True
    conda:
        "../../envs/compute.yaml"
    params:
        **settings_of(
            sizes={"train": config["probes"]["structural"].get("max_train")},
        ),
        code=code("trees"),
    script:
        "../scripts/trees.py"


# Convert a corpus from its publisher's layout to records of edge probing.
rule edges:
    input:
        files=given(of_job(probing.edge_files)),
    output:
        "results/edges/{task}/train.jsonl",
        "results/edges/{task}/dev.jsonl",
        "results/edges/{task}/test.jsonl",
        "results/edges/{task}/edges.json",
    log:
        "logs/edges/{task}.log",
    priority: 10
    group:
        "inputs"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            name=lambda wildcards: config["edge_tasks"][wildcards.task],
            spec=of_job(probing.specification),
            root=of_job(probing.root),
            origin=of_job(probing.origin),
            own=of_job(probing.edge_files),
        ),
        code=code("edges"),
    script:
        "../scripts/edges.py"


# List each sentence of all edge tasks once, so that all probes of a model share one forward pass.
rule edge_sentences:
    input:
        edges=collect(
            "results/edges/{task}/{file}",
            task=config["edge_tasks"],
            file=EDGE_FILES,
        ),
    output:
        rows="results/stimuli/edges.jsonl",
        description="results/stimuli/edges.json",
    log:
        "logs/stimuli/edges.log",
    priority: 10
    group:
        "inputs"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            tasks=probing.edge_tasks(config),
            probe=config["probes"]["edge"],
        ),
        code=code("edge_sentences"),
    script:
        "../scripts/edge_sentences.py"


# Train edge probes. The job extracts the states of one replicate at a time and deletes them: those of all replicates
# would fill a disk. What was finished when the job is stopped is kept next to its table.
rule edge_probes:
    input:
        sentences="results/stimuli/edges.jsonl",
        description="results/stimuli/edges.json",
        edges=collect(
            "results/edges/{task}/{file}",
            task=config["edge_tasks"],
            file=EDGE_FILES,
        ),
        models=collect("{run.folder}/{file}", run=of_job(replicates), file=MODEL_FILES),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, replicates)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
    output:
        table="results/edge_probes/{model}.tsv",
        counts="results/edge_probes/{model}.npz",
        blocks="results/edge_probes/{model}.blocks.npy",
    log:
        "logs/edge_probes/{model}.log",
    priority: 8
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("probe"),
        runtime=minutes("probe"),
    params:
        **settings_of(
            model="{model}",
            runs=of_job(numbers_by_name, replicates),
            folders=of_job(folders, replicates),
            trained=of_job(trained, replicates),
            tasks=probing.edge_tasks(config),
            probe=of_job(partial(probing.probe, kind="edge")),
            variants=of_job(probing.variants),
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("edge_probes", computes=["edge_probes"]),
    script:
        "../scripts/edge_probes.py"


rule mdl:
    input:
        sentences="results/stimuli/edges.jsonl",
        description="results/stimuli/edges.json",
        edges=collect(
            "results/edges/{task}/{file}",
            task=config["edge_tasks"],
            file=EDGE_FILES,
        ),
        models=collect("{run.folder}/{file}", run=of_job(replicates), file=MODEL_FILES),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, replicates)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
    output:
        table="results/mdl/{model}.tsv",
        blocks="results/mdl/{model}.blocks.npy",
    log:
        "logs/mdl/{model}.log",
    priority: 8
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("probe"),
        runtime=minutes("probe"),
    params:
        **settings_of(
            model="{model}",
            runs=of_job(numbers_by_name, replicates),
            folders=of_job(folders, replicates),
            trained=of_job(trained, replicates),
            tasks=probing.edge_tasks(config),
            probe=of_job(partial(probing.probe, kind="mdl")),
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("mdl", computes=["mdl"]),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        sentences="results/stimuli/trees.jsonl",
        description="results/stimuli/trees.json",
        models=collect("{run.folder}/{file}", run=of_job(replicates), file=MODEL_FILES),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, replicates)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
    output:
        table="results/structural_probes/{model}.tsv",
        blocks="results/structural_probes/{model}.blocks.npy",
    log:
        "logs/structural_probes/{model}.log",
    priority: 8
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("probe"),
        runtime=minutes("probe"),
    params:
        **settings_of(
            model="{model}",
            runs=of_job(numbers_by_name, replicates),
            folders=of_job(folders, replicates),
            trained=of_job(trained, replicates),
            tasks=probing.edge_tasks(config),
            probe=of_job(partial(probing.probe, kind="structural")),
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("structural_probes", computes=["structural_probes"]),
    script:
        "../scripts/structural_probes.py"


rule edge_probe_deltas:
    input:
        model="results/edge_probes/{model}.npz",
        reference="results/edge_probes/{reference}.npz",
        table="results/edge_probes/{model}.tsv",
    output:
        table="results/edge_probes/{model}_vs_{reference}.tsv",
        blocks="results/edge_probes/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/edge_probes/{model}_vs_{reference}.log",
    priority: 8
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            model="{model}",
            reference="{reference}",
            pairs=of_job(numbers_of_pairs, compared),
        ),
        code=code("edge_probe_deltas", computes=["edge_probes"]),
    script:
        "../scripts/edge_probe_deltas.py"
