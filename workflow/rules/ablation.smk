from bertshift.requests import ablation


# Every head and every layer of a fine-tuned model disabled, all replicates in one job.
rule ablation:
    input:
        inputs_of(ablation.ablation),
    output:
        table="results/ablation/{model}.tsv",
        examples="results/ablation/{model}.npz",
    log:
        "logs/ablation/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(ablation.ablation),
    script:
        "../scripts/ablation.py"


# Every layer of a fine-tuned model with its parent's weights, one at a time, all replicates in one job.
rule restored:
    input:
        inputs_of(ablation.restored),
    output:
        "results/restored/{model}.tsv",
        "results/restored/{model}.blocks.npy",
    log:
        "logs/restored/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(ablation.restored),
    script:
        "../scripts/restored.py"
