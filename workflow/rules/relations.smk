localrules:
    relations,


# Sentences with a predicate and its arguments marked: as annotation, and as inputs that show none of it.
rule relations:
    input:
        lambda wildcards: relation_source()[0],
    output:
        rows="results/relations/relations.jsonl",
        sidecar="results/relations/relations.json",
        stimuli="results/stimuli/relations.jsonl",
        description="results/stimuli/relations.json",
    log:
        "logs/relations.log",
    benchmark:
        "logs/relations.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("relations"),
        origin=lambda wildcards: relation_source()[1],
    script:
        "../scripts/relations.py"


rule relation_heads:
    input:
        **probe_inputs("relations"),
        dump=lambda wildcards: dump_read_by("relation_heads", parse_model(wildcards.model), ["relations"]),
        relations="results/relations/relations.jsonl",
    output:
        "results/relation_heads/{model}.tsv",
    log:
        "logs/relation_heads/{model}.log",
    benchmark:
        "logs/relation_heads/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("relation_heads"),
        settings=lambda wildcards: settings.canonical(relation_settings(wildcards)),
    script:
        "../scripts/relation_heads.py"
