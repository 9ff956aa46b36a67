localrules:
    corpus,
    edges,
    edge_sentences,
    trees,


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


# Probes extract a replicate's states themselves, read them and delete them: those of all replicates would fill a disk
# for as long as probes train. What they have finished when they are stopped is kept beside their table.
rule edge_probes:
    input:
        **probe_inputs("edges"),
        models=models_read,
        edges=edge_sets(),
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
        **reserve("probe", lambda wildcards: disk_of_states(wildcards.model, "edges")),
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
        **probe_inputs("edges"),
        models=models_read,
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
        **reserve("probe", lambda wildcards: disk_of_states(wildcards.model, "edges")),
        gpu=1,
    params:
        code=code("mdl"),
        settings=lambda wildcards: settings.canonical(probe_settings("mdl", wildcards.model)),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        **probe_inputs("trees"),
        models=models_read,
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
        **reserve("probe", lambda wildcards: disk_of_states(wildcards.model, "trees")),
        gpu=1,
    params:
        code=code("structural_probes"),
        settings=lambda wildcards: settings.canonical(probe_settings("structural", wildcards.model)),
    script:
        "../scripts/structural_probes.py"
