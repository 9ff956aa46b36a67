from bertshift.requests import finetuning, pretraining

LEFT_BY_TRAINING = [*MODEL_FILES, "scores.json", "predictions.tsv", "steps.tsv", "layers.tsv"]
SHARES = sorted(config["snapshots"])


# Fine-tune one run, so that a new seed costs one job. Snapshots and noise have rules of their own.
rule finetune:
    input:
        inputs_of(finetuning.finetune),
    output:
        "results/models/{model}/init{init}_seed{seed}/config.json",
        "results/models/{model}/init{init}_seed{seed}/model.safetensors",
        "results/models/{model}/init{init}_seed{seed}/tokenizer.json",
        "results/models/{model}/init{init}_seed{seed}/tokenizer_config.json",
        "results/models/{model}/init{init}_seed{seed}/source.json",
        "results/models/{model}/init{init}_seed{seed}/scores.json",
        "results/models/{model}/init{init}_seed{seed}/predictions.tsv",
        "results/models/{model}/init{init}_seed{seed}/steps.tsv",
        "results/models/{model}/init{init}_seed{seed}/layers.tsv",
    log:
        "logs/finetune/{model}_init{init}_seed{seed}.log",
    wildcard_constraints:
        model=rf"(?![^/]+\.(?:at(?:{match_only(map(str, SHARES))})|noise)(?:@[^/]+)?/)[^/]+",
    priority: 2
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["train"]
    resources:
        gpu=1,
        mem_mb=memory("train"),
        runtime=minutes("train"),
    params:
        **settings_of(finetuning.finetune, "task training variants seed"),
        code=code_for_model("finetune"),
    script:
        "../scripts/finetune.py"


# Train a run again and keep its weights after shares of its steps. The job stops after the largest share.
rule snapshots:
    input:
        inputs_of(finetuning.snapshots),
    output:
        *[
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
    priority: 2
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["train"]
    resources:
        gpu=1,
        mem_mb=memory("train"),
        runtime=minutes("train"),
    params:
        **settings_of(finetuning.snapshots, "task training variants seed shares"),
        code=code_for_model("snapshots", model="{stem}{checkpoint}"),
    script:
        "../scripts/snapshots.py"


# Change a checkpoint without fine-tuning it: `base.random`, `base.keep2`.
rule derive:
    input:
        inputs_of(pretraining.derive),
    output:
        "results/models/{model}/init{init}/config.json",
        "results/models/{model}/init{init}/model.safetensors",
        "results/models/{model}/init{init}/tokenizer.json",
        "results/models/{model}/init{init}/tokenizer_config.json",
        "results/models/{model}/init{init}/source.json",
    log:
        "logs/derive/{model}_init{init}.log",
    priority: 1
    conda:
        "../../envs/compute.yaml"
    resources:
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(pretraining.derive, "variants"),
        code=code_for_model("derive"),
    script:
        "../scripts/derive.py"


# Add noise to the parent of a run, as large as the run's change: `mnli.noise`.
rule noise:
    input:
        inputs_of(pretraining.noise),
    output:
        "results/models/{model}/init{init}_seed{seed}/config.json",
        temp("results/models/{model}/init{init}_seed{seed}/model.safetensors"),
        "results/models/{model}/init{init}_seed{seed}/tokenizer.json",
        "results/models/{model}/init{init}_seed{seed}/tokenizer_config.json",
        "results/models/{model}/init{init}_seed{seed}/source.json",
    log:
        "logs/noise/{model}_init{init}_seed{seed}.log",
    wildcard_constraints:
        model=r"[^/@]+\.noise(?:@[^/]+)?",
    priority: 2
    group:
        "noise"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(pretraining.noise, "seed"),
        code=code("noise"),
    script:
        "../scripts/noise.py"


# Score a task on an encoder that is not fine-tuned, with random heads and with linear probes.
rule frozen:
    input:
        inputs_of(finetuning.frozen),
    output:
        table="results/frozen/{model}.tsv",
        blocks="results/frozen/{model}.blocks.npy",
    log:
        "logs/frozen/{model}.log",
    priority: 8
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(finetuning.frozen, "model child task runs starts max_train scale checkpoints"),
        code=code_for_model("frozen"),
    script:
        "../scripts/frozen.py"


# Tabulate how far each layer moved at each step, relative to the weights before fine-tuning.
rule steps:
    input:
        inputs_of(finetuning.steps),
    output:
        "results/steps/{model}.tsv",
    log:
        "logs/steps/{model}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(finetuning.steps, "model task reference runs trained scale checkpoints"),
        code=code("steps"),
    script:
        "../scripts/steps.py"


rule scores:
    input:
        inputs_of(finetuning.scores),
    output:
        table="results/scores/{model}.tsv",
        blocks="results/scores/{model}.blocks.npy",
    log:
        "logs/scores/{model}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(finetuning.scores, "model task runs scale checkpoints"),
        code=code("scores"),
    script:
        "../scripts/scores.py"


# Test two models of one task against each other on its examples. One job does all replicates.
rule gains:
    input:
        inputs_of(finetuning.gains),
    output:
        table="results/gains/{model}_vs_{reference}.tsv",
        blocks="results/gains/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/gains/{model}_vs_{reference}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(finetuning.gains, "model reference task runs pairs scale checkpoints"),
        code=code("gains"),
    script:
        "../scripts/gains.py"


rule losses:
    input:
        inputs_of(finetuning.losses),
    output:
        "results/losses/{model}.tsv",
    log:
        "logs/losses/{model}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(finetuning.losses, "model task runs scale checkpoints"),
        code=code("losses"),
    script:
        "../scripts/losses.py"


rule all_scores:
    input:
        tables=expand("results/scores/{model}.tsv", model=config["scored"]),
    output:
        "results/scores.tsv",
    log:
        "logs/all_scores.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    resources:
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"
