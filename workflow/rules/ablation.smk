from bertshift.requests import ablation


# Disable each head and each layer of a fine-tuned model. One job does all replicates.
rule ablation:
    input:
        inputs_of(ablation.ablation),
    output:
        table="results/ablation/{model}.tsv",
        blocks="results/ablation/{model}.blocks.npy",
        examples="results/ablation/{model}.npz",
    log:
        "logs/ablation/{model}.log",
    priority: 6
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(ablation.ablation, "model task runs ablation scale checkpoints"),
        code=code_for_model("ablation"),
    script:
        "../scripts/ablation.py"


# Give each layer of a fine-tuned model its parent's weights, one layer at a time. One job does all replicates.
rule restored:
    input:
        inputs_of(ablation.restored),
    output:
        table="results/restored/{model}.tsv",
        blocks="results/restored/{model}.blocks.npy",
    log:
        "logs/restored/{model}.log",
    priority: 6
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            ablation.restored,
            "model task reference runs trained stimuli tokens max_length max_dev scale checkpoints",
        ),
        code=code_for_model("restored"),
    script:
        "../scripts/restored.py"
