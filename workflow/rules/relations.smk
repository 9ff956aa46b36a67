from bertshift.requests import relations


# Sentences with a predicate and its arguments marked: as annotation, and as inputs that show none of it.
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
    resources:
        **reserve("table"),
    params:
        **depends_on(relations.relations),
    script:
        "../scripts/relations.py"


rule relation_heads:
    input:
        inputs_of(relations.relation_heads),
    output:
        "results/relation_heads/{model}.tsv",
        "results/relation_heads/{model}.blocks.npy",
    log:
        "logs/relation_heads/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        **depends_on(relations.relation_heads),
    script:
        "../scripts/relation_heads.py"
