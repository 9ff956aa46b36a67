from bertshift.requests import pretraining

made_by(
    pretraining.vocabulary,
    *pretraining.vocabulary_files("{vocabulary}"),
    kind="table",
    log="vocabulary/{vocabulary}",
)


# Pretraining from scratch, by the objective of the base's family; one job an independent run.
rule pretrain:
    input:
        inputs_of(pretraining.pretrain),
    output:
        [f"{pretraining.CHECKPOINT}/{name}" for name in MODEL_FILES],
        f"{pretraining.CHECKPOINT}/pretraining.json",
        f"{pretraining.CHECKPOINT}/steps.tsv",
    log:
        "logs/pretrain/{base}_init{init}.log",
    wildcard_constraints:
        base=only(pretraining.pretrained_here(config)),
    threads: config["threads"]["train"]
    resources:
        **reserve("train"),
        gpu=1,
    params:
        **depends_on(pretraining.pretrain),
    script:
        "../scripts/pretrain.py"


rule checkpoint:
    output:
        [f"{pretraining.CHECKPOINT}/{name}" for name in MODEL_FILES if name != SOURCE],
        # Kept when the rule runs again: it holds the commit of an entry without a revision.
        update(f"{pretraining.CHECKPOINT}/{SOURCE}"),
    log:
        "logs/checkpoint/{base}_init{init}.log",
    wildcard_constraints:
        base=only(pretraining.pretrained_elsewhere(config)),
    localrule: True
    params:
        **depends_on(pretraining.checkpoint),
    script:
        "../scripts/checkpoint.py"
