from bertshift.requests import probing


# Download a publisher's file. There is no digest of code, as the file at an address with a commit cannot change.
rule corpus:
    input:
        inputs_of(probing.corpus),
    output:
        "results/corpora/{path}",
    log:
        "logs/corpus/{path}.log",
    wildcard_constraints:
        path=match_only(probing.downloads(config)),
    priority: 10
    localrule: True
    conda:
        "../../envs/compute.yaml"
    params:
        **settings_of(probing.corpus, "url sha256"),
    script:
        "../scripts/corpus.py"


rule trees:
    input:
        inputs_of(probing.trees),
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
        **settings_of(probing.trees, "sizes"),
        code=code("trees"),
    script:
        "../scripts/trees.py"


# Convert a corpus from its publisher's layout to records of edge probing.
rule edges:
    input:
        inputs_of(probing.edges),
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
        **settings_of(probing.edges, "name spec root origin"),
        code=code("edges"),
    script:
        "../scripts/edges.py"


# List each sentence of all edge tasks once, so that all probes of a model share one forward pass.
rule edge_sentences:
    input:
        inputs_of(probing.edge_sentences),
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
        **settings_of(probing.edge_sentences, "tasks probe"),
        code=code("edge_sentences"),
    script:
        "../scripts/edge_sentences.py"


# Train edge probes. The job extracts the states of one replicate at a time and deletes them: those of all replicates
# would fill a disk. What was finished when the job is stopped is kept next to its table.
rule edge_probes:
    input:
        inputs_of(probing.edge_probes),
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
            probing.edge_probes,
            "model runs folders trained tasks probe variants max_length scale checkpoints",
        ),
        code=code("edge_probes"),
    script:
        "../scripts/edge_probes.py"


rule mdl:
    input:
        inputs_of(probing.mdl),
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
        **settings_of(probing.mdl, "model runs folders trained tasks probe max_length scale checkpoints"),
        code=code("mdl"),
    script:
        "../scripts/mdl.py"


rule structural_probes:
    input:
        inputs_of(probing.structural_probes),
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
            probing.structural_probes,
            "model runs folders trained tasks probe max_length scale checkpoints",
        ),
        code=code("structural_probes"),
    script:
        "../scripts/structural_probes.py"


rule edge_probe_deltas:
    input:
        inputs_of(probing.edge_probe_deltas),
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
        **settings_of(probing.edge_probe_deltas, "model reference pairs"),
        code=code("edge_probe_deltas"),
    script:
        "../scripts/edge_probe_deltas.py"
