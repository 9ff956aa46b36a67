localrules:
    checkpoint,


rule vocabulary:
    input:
        corpus=lambda wildcards: config["corpora"][vocabulary(wildcards)["corpus"]],
    output:
        vocabulary_files("{vocabulary}"),
    log:
        "logs/vocabulary/{vocabulary}.log",
    benchmark:
        "logs/vocabulary/{vocabulary}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("vocabulary"),
        settings=lambda wildcards: settings.canonical(vocabulary(wildcards)),
    script:
        "../scripts/vocabulary.py"


# Masked-LM and next-sentence pretraining from scratch; one job an independent run.
rule pretrain:
    input:
        corpus=lambda wildcards: config["corpora"][architecture(wildcards)["corpus"]],
        tokenizer=lambda wildcards: vocabulary_files(architecture(wildcards)["vocabulary"]),
    output:
        [f"{CHECKPOINT}/{name}" for name in MODEL_FILES],
        f"{CHECKPOINT}/pretraining.json",
        f"{CHECKPOINT}/steps.tsv",
    log:
        "logs/pretrain/{base}_init{init}.log",
    benchmark:
        "logs/pretrain/{base}_init{init}.cost.tsv"
    wildcard_constraints:
        base=only(PRETRAINED_HERE),
    conda:
        ENVIRONMENT
    threads: config["threads"]["train"]
    resources:
        **reserve("train"),
        gpu=1,
    params:
        code=code("pretrain"),
        settings=lambda wildcards: settings.canonical(
            {key: value for key, value in architecture(wildcards).items() if key != "runs"}
        ),
    script:
        "../scripts/pretrain.py"


rule checkpoint:
    output:
        [f"{CHECKPOINT}/{name}" for name in MODEL_FILES if name != SOURCE],
        # Kept when the rule runs again: it holds the commit of an entry without a revision.
        update(f"{CHECKPOINT}/{SOURCE}"),
    log:
        "logs/checkpoint/{base}_init{init}.log",
    benchmark:
        "logs/checkpoint/{base}_init{init}.cost.tsv"
    wildcard_constraints:
        base=only(PRETRAINED_ELSEWHERE),
    conda:
        ENVIRONMENT
    params:
        code=code("checkpoint"),
        source=lambda wildcards: settings.canonical(checkpoint_source(wildcards)),
        shape=lambda wildcards: settings.canonical(
            {key: config["bases"][wildcards.base][key] for key in ["layers", "heads"]}
        ),
        cache=config["data"]["cache"],
    script:
        "../scripts/checkpoint.py"
