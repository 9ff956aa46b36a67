from bertshift.requests import probing


localrules:
    corpus,
    trees,


# A file that a publisher offers. No digest of code: what an address with a commit holds depends on none.
rule corpus:
    output:
        f"{probing.CORPORA}/{{path}}",
    log:
        "logs/corpus/{path}.log",
    benchmark:
        "logs/corpus/{path}.cost.tsv"
    wildcard_constraints:
        path=only(probing.places_of_downloads(config)),
    conda:
        ENVIRONMENT
    params:
        settings=settings_of(probing.corpus),
    script:
        "../scripts/corpus.py"


# A corpus as records of edge probing, whatever its publisher's layout.
rule edges:
    input:
        inputs_of(probing.edges),
    output:
        probing.edge_files("{task}"),
    log:
        "logs/edges/{task}.log",
    benchmark:
        "logs/edges/{task}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("edges"),
        settings=settings_of(probing.edges),
    script:
        "../scripts/edges.py"


# Every sentence of every task once, so that all probes of a model share one forward pass.
rule edge_sentences:
    input:
        inputs_of(probing.edge_sentences),
    output:
        rows="results/stimuli/edges.jsonl",
        description="results/stimuli/edges.json",
    log:
        "logs/stimuli/edges.log",
    benchmark:
        "logs/stimuli/edges.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("edge_sentences"),
        settings=settings_of(probing.edge_sentences),
    script:
        "../scripts/edge_sentences.py"


rule trees:
    input:
        inputs_of(probing.trees),
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
        settings=settings_of(probing.trees),
    script:
        "../scripts/trees.py"


# Probes extract a replicate's states themselves, read them and delete them: those of all replicates would fill a disk
# for as long as probes train. What they have finished when they are stopped is kept beside their table.
rule edge_probes:
    input:
        inputs_of(probing.edge_probes),
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
        **reserve("probe", probing.dumped_edges),
        gpu=1,
    params:
        code=code("edge_probes"),
        settings=settings_of(probing.edge_probes),
    script:
        "../scripts/edge_probes.py"


rule edge_probe_deltas:
    input:
        inputs_of(probing.edge_probe_deltas),
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
        settings=settings_of(probing.edge_probe_deltas),
    script:
        "../scripts/edge_probe_deltas.py"


rule mdl:
    input:
        inputs_of(probing.mdl),
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
        **reserve("probe", probing.dumped_edges),
        gpu=1,
    params:
        code=code("mdl"),
        settings=settings_of(probing.mdl),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        inputs_of(probing.structural_probes),
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
        **reserve("probe", probing.dumped_trees),
        gpu=1,
    params:
        code=code("structural_probes"),
        settings=settings_of(probing.structural_probes),
    script:
        "../scripts/structural_probes.py"
