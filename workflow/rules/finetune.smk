from bertshift.requests import data, edits, finetuning, pretraining

LEFT_BY_TRAINING = [*MODEL_FILES, "scores.json", "predictions.tsv", "steps.tsv", "layers.tsv"]
SHARES = sorted(config["snapshots"])


# Fine-tune one run, so that a new seed costs one job. Snapshots and noise have rules of their own.
rule finetune:
    input:
        start=collect("{run.parent.folder}/{file}", run=of_job(finetuning.trained_run), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
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
        **settings_of(
            task=of_job(finetuning.task, finetuning.trained_run),
            training=of_job(finetuning.training, finetuning.trained_run),
            variants=of_job(finetuning.variants, finetuning.trained_run),
            seed=of_job(finetuning.random_seed, finetuning.trained_run),
        ),
        code=code_for_model("finetune"),
    script:
        "../scripts/finetune.py"


# Train a run again and keep its weights after shares of its steps. The job stops after the largest share.
rule snapshots:
    input:
        start=collect("{run.parent.folder}/{file}", run=of_job(finetuning.trained_run), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
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
        **settings_of(
            task=of_job(finetuning.task, finetuning.trained_run),
            training=of_job(finetuning.training, finetuning.trained_run),
            variants=of_job(finetuning.variants, finetuning.trained_run),
            seed=of_job(finetuning.random_seed, finetuning.trained_run),
            shares=SHARES,
        ),
        code=code_for_model("snapshots", model="{stem}{checkpoint}"),
    script:
        "../scripts/snapshots.py"


# Change a checkpoint without fine-tuning it: `base.random`, `base.keep2`.
rule derive:
    input:
        start=collect("{run.checkpoint.folder}/{file}", run=of_job(run_named), file=MODEL_FILES),
    output:
        "results/models/{model}/init{init}/config.json",
        "results/models/{model}/init{init}/model.safetensors",
        "results/models/{model}/init{init}/tokenizer.json",
        "results/models/{model}/init{init}/tokenizer_config.json",
        "results/models/{model}/init{init}/source.json",
    log:
        "logs/derive/{model}_init{init}.log",
    wildcard_constraints:
        model=r"(?![^/]+\.edit_)[^/]+",
    priority: 1
    conda:
        "../../envs/compute.yaml"
    resources:
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            variants=of_job(finetuning.variants, run_named),
        ),
        code=code_for_model("derive"),
    script:
        "../scripts/derive.py"


# Plant a change of known place and size in a checkpoint: `base.edit_ff2`.
rule edit:
    input:
        start=collect("{run.checkpoint.folder}/{file}", run=of_job(run_named), file=MODEL_FILES),
        changed=collect("{run.folder}/{file}", run=of_job(edits.background, run_named), file=WEIGHTS),
    output:
        "results/models/{model}/init{init}/config.json",
        "results/models/{model}/init{init}/model.safetensors",
        "results/models/{model}/init{init}/tokenizer.json",
        "results/models/{model}/init{init}/tokenizer_config.json",
        "results/models/{model}/init{init}/source.json",
    log:
        "logs/edit/{model}_init{init}.log",
    wildcard_constraints:
        model=r"[^/]+\.edit_[^/]+",
    priority: 1
    conda:
        "../../envs/compute.yaml"
    resources:
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            edit=of_job(edits.entry, run_named),
            seed=of_job(edits.random_seed, run_named),
        ),
        code=code("edit"),
    script:
        "../scripts/edit.py"


# Add noise to the parent of a run, as large as the run's change: `mnli.noise`.
rule noise:
    input:
        start=collect("{run.parent.folder}/{file}", run=of_job(run_named), file=MODEL_FILES),
        changed=collect("{run.imitated.folder}/{file}", run=of_job(run_named), file=WEIGHTS),
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
        **settings_of(
            seed=of_job(pretraining.seed_of_noise, run_named),
        ),
        code=code("noise"),
    script:
        "../scripts/noise.py"


# Score a task on an encoder that is not fine-tuned, with random heads and with linear probes.
rule frozen:
    input:
        starts=collect("{run.folder}/{file}", run=of_job(finetuning.frozen), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
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
        **settings_of(
            model=of_job(finetuning.parent),
            child="{model}",
            task=of_job(finetuning.settings_of_task),
            runs=of_job(numbers, replicates),
            starts=of_job(finetuning.seeds_of_heads),
            max_train=config["frozen"]["max_train"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, finetuning.frozen),
        ),
        code=code_for_model("frozen", computes=["frozen"]),
    script:
        "../scripts/frozen.py"


# Tabulate how far each layer moved at each step, relative to the weights before fine-tuning.
rule steps:
    input:
        logs=collect(
            "results/models/{run.model}/{run.name}/layers.tsv", run=of_job(models, finetuning.stepping)
        ),
        starts=collect("{run.folder}/{file}", run=of_job(references, finetuning.stepping), file=WEIGHTS),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(outcomes, both_sides, finetuning.stepping),
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
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
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            reference=of_job(finetuning.parent),
            runs=of_job(children, finetuning.stepping),
            trained=of_job(trained, both_sides, finetuning.stepping),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("steps", computes=["steps"]),
    script:
        "../scripts/steps.py"


rule scores:
    input:
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(scored)),
        predictions=collect("results/models/{run.model}/{run.name}/predictions.tsv", run=of_job(scored)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
        sources=collect("{run.folder}/source.json", run=of_job(scored)),
    output:
        table=report(
            "results/scores/{model}.tsv",
            category="Scores",
            caption="../report/scores.rst",
            labels={"model": "{model}"},
        ),
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
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            runs=of_job(numbers, scored),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, scored),
        ),
        code=code("scores", computes=["scores"]),
    script:
        "../scripts/scores.py"


# Test two models of one task against each other on its examples. One job does all replicates.
rule gains:
    input:
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(each_side, finetuning.gaining)
        ),
        predictions=collect(
            "results/models/{run.model}/{run.name}/predictions.tsv",
            run=of_job(each_side, finetuning.gaining),
        ),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
        trainings=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(trainings, each_side, finetuning.gaining),
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
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
        **settings_of(
            model="{model}",
            reference="{reference}",
            task=of_job(task_of),
            runs=of_job(numbers, replicates),
            pairs=of_job(numbers_of_pairs, finetuning.gaining),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("gains", computes=["gains"]),
    script:
        "../scripts/gains.py"


rule losses:
    input:
        steps=collect("results/models/{run.model}/{run.name}/steps.tsv", run=of_job(scored)),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(scored)),
        trainings=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, scored)),
        sources=collect("{run.folder}/source.json", run=of_job(scored)),
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
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            runs=of_job(numbers, scored),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, scored),
        ),
        code=code("losses", computes=["losses"]),
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
