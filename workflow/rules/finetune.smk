from bertshift.requests import finetuning, pretraining

LEFT_BY_TRAINING = [*MODEL_FILES, "scores.json", "predictions.tsv", "steps.tsv", "layers.tsv"]
SHARES = sorted(config["snapshots"])


# One job a run, so that a new seed costs one job and a kill costs one run.
rule finetune:
    input:
        inputs_of(finetuning.finetune),
    output:
        [f"results/models/{{model}}/init{{init}}_seed{{seed}}/{name}" for name in LEFT_BY_TRAINING],
    log:
        "logs/finetune/{model}_init{init}_seed{seed}.log",
    wildcard_constraints:
        # What `snapshots` makes, it makes alone.
        model=rf"(?![^/]+\.at(?:{only(map(str, SHARES))})(?:@[^/]+)?/)[^/]+",
    threads: config["threads"]["train"]
    resources:
        **reserve("train"),
        gpu=1,
    params:
        **depends_on(finetuning.finetune),
    script:
        "../scripts/finetune.py"


# The same run after shares of its steps: all shares in one job, which stops after the largest. It makes no finished model
# again, and no finished model has to wait for it.
rule snapshots:
    input:
        inputs_of(finetuning.snapshots),
    output:
        [
            temp(file) if name.endswith(".safetensors") and not config["keep_snapshots"] else file
            for share in SHARES
            for name in LEFT_BY_TRAINING
            for file in [f"results/models/{{stem}}.at{share}{{checkpoint}}/init{{init}}_seed{{seed}}/{name}"]
        ],
    log:
        "logs/snapshots/{stem}{checkpoint}_init{init}_seed{seed}.log",
    wildcard_constraints:
        stem=r"[^/@]+",
        checkpoint=r"(?:@[^/]+)?",
    threads: config["threads"]["train"]
    resources:
        **reserve("train", finetuning.snapshot_weights),
        gpu=1,
    params:
        **depends_on(finetuning.snapshots),
    script:
        "../scripts/snapshots.py"


# A checkpoint that is not fine-tuned but changed: `base.random`, `base.keep2`.
rule derive:
    input:
        inputs_of(pretraining.derive),
    output:
        [f"results/models/{{model}}/init{{init}}/{name}" for name in MODEL_FILES],
    log:
        "logs/derive/{model}_init{init}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(pretraining.derive),
    script:
        "../scripts/derive.py"


# What the task gets from the encoder before: under random heads, and under linear probes.
rule frozen:
    input:
        inputs_of(finetuning.frozen),
    output:
        "results/frozen/{model}.tsv",
    log:
        "logs/frozen/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(finetuning.frozen),
    script:
        "../scripts/frozen.py"


# Step sizes by layer, relative to the weights that fine-tuning began with.
rule steps:
    input:
        inputs_of(finetuning.steps),
    output:
        "results/steps/{model}.tsv",
    log:
        "logs/steps/{model}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(finetuning.steps),
    script:
        "../scripts/steps.py"


rule scores:
    input:
        inputs_of(finetuning.scores),
    output:
        "results/scores/{model}.tsv",
        "results/scores/{model}.blocks.npy",
    log:
        "logs/scores/{model}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(finetuning.scores),
    script:
        "../scripts/scores.py"


# Two models of one task, tested against each other on its examples: all replicates in one job.
rule gains:
    input:
        inputs_of(finetuning.gains),
    output:
        "results/gains/{model}_vs_{reference}.tsv",
        "results/gains/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/gains/{model}_vs_{reference}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(finetuning.gains),
    script:
        "../scripts/gains.py"


rule losses:
    input:
        inputs_of(finetuning.losses),
    output:
        "results/losses/{model}.tsv",
    log:
        "logs/losses/{model}.log",
    resources:
        **reserve("table"),
    params:
        **depends_on(finetuning.losses),
    script:
        "../scripts/losses.py"


rule all_scores:
    input:
        tables=[f"results/scores/{model}.tsv" for model in config["scored"]],
    output:
        "results/scores.tsv",
    log:
        "logs/all_scores.log",
    resources:
        **reserve("table"),
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"
