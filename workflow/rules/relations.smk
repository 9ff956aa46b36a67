from bertshift.requests import relations


# Prepare sentences with a predicate and its arguments: the annotation, and the plain sentences as inputs.
rule relations:
    input:
        inputs_of(relations.relations),
    output:
        rows="results/relations/relations.jsonl",
        sidecar="results/relations/relations.json",
        stimuli="results/stimuli/relations.jsonl",
        description="results/stimuli/relations.json",
    log:
        "logs/relations.log",
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
        **settings_of(relations.relations, "origin"),
        code=code("relations"),
    script:
        "../scripts/relations.py"


rule relation_heads:
    input:
        inputs_of(relations.relation_heads),
    output:
        table="results/relation_heads/{model}.tsv",
        blocks="results/relation_heads/{model}.blocks.npy",
    log:
        "logs/relation_heads/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(relations.relation_heads, "model task runs trained dump scale checkpoints"),
        code=code("relation_heads"),
    script:
        "../scripts/relation_heads.py"
