from bertshift.requests import pretraining


localrules:
    checkpoint,


rule vocabulary:
    input:
        inputs_of(pretraining.vocabulary),
    output:
        pretraining.vocabulary_files("{vocabulary}"),
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
        settings=settings_of(pretraining.vocabulary),
    script:
        "../scripts/vocabulary.py"


# Masked-LM and next-sentence pretraining from scratch; one job an independent run.
rule pretrain:
    input:
        inputs_of(pretraining.pretrain),
    output:
        [f"{pretraining.CHECKPOINT}/{name}" for name in MODEL_FILES],
        f"{pretraining.CHECKPOINT}/pretraining.json",
        f"{pretraining.CHECKPOINT}/steps.tsv",
    log:
        "logs/pretrain/{base}_init{init}.log",
    benchmark:
        "logs/pretrain/{base}_init{init}.cost.tsv"
    wildcard_constraints:
        base=only(pretraining.pretrained_here(config)),
    conda:
        ENVIRONMENT
    threads: config["threads"]["train"]
    resources:
        **reserve("train"),
        gpu=1,
    params:
        code=code("pretrain"),
        settings=settings_of(pretraining.pretrain),
    script:
        "../scripts/pretrain.py"


rule checkpoint:
    output:
        [f"{pretraining.CHECKPOINT}/{name}" for name in MODEL_FILES if name != SOURCE],
        # Kept when the rule runs again: it holds the commit of an entry without a revision.
        update(f"{pretraining.CHECKPOINT}/{SOURCE}"),
    log:
        "logs/checkpoint/{base}_init{init}.log",
    benchmark:
        "logs/checkpoint/{base}_init{init}.cost.tsv"
    wildcard_constraints:
        base=only(pretraining.pretrained_elsewhere(config)),
    conda:
        ENVIRONMENT
    params:
        code=code("checkpoint"),
        settings=settings_of(pretraining.checkpoint),
    script:
        "../scripts/checkpoint.py"
