from bertshift.requests import probing


# A file that a publisher offers. No digest of code: what an address with a commit holds depends on none.
rule corpus:
    output:
        f"{probing.CORPORA}/{{path}}",
    log:
        "logs/corpus/{path}.log",
    wildcard_constraints:
        path=only(probing.downloads(config)),
    localrule: True
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
    resources:
        **reserve("table"),
    params:
        **depends_on(probing.edges),
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
    resources:
        **reserve("table"),
    params:
        **depends_on(probing.edge_sentences),
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
    localrule: True
    params:
        **depends_on(probing.trees),
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
        blocks="results/edge_probes/{model}.blocks.npy",
    log:
        "logs/edge_probes/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe", probing.dumped_edges),
        gpu=1,
    params:
        **depends_on(probing.edge_probes),
    script:
        "../scripts/edge_probes.py"


rule edge_probe_deltas:
    input:
        inputs_of(probing.edge_probe_deltas),
    output:
        "results/edge_probes/{model}_vs_{reference}.tsv",
        "results/edge_probes/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/edge_probe_deltas/{model}_vs_{reference}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(probing.edge_probe_deltas),
    script:
        "../scripts/edge_probe_deltas.py"


rule mdl:
    input:
        inputs_of(probing.mdl),
    output:
        "results/mdl/{model}.tsv",
    log:
        "logs/mdl/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe", probing.dumped_edges),
        gpu=1,
    params:
        **depends_on(probing.mdl),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        inputs_of(probing.structural_probes),
    output:
        "results/structural_probes/{model}.tsv",
        "results/structural_probes/{model}.blocks.npy",
    log:
        "logs/structural_probes/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("probe", probing.dumped_trees),
        gpu=1,
    params:
        **depends_on(probing.structural_probes),
    script:
        "../scripts/structural_probes.py"
