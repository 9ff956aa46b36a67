RUN = "results/models/{model}/init{init}_seed{seed}"


def run_of(wildcards):
    run = naming.Run(parse_model(wildcards.model), int(wildcards.init), int(wildcards.get("seed", 0)))
    if run not in runs_of(run.model):
        raise WorkflowError(
            f"'{run.model}' has no replicate {run.name} at this scale; raise its checkpoint's 'runs' or 'seeds'."
        )
    return run


def finetune_settings(wildcards):
    run = run_of(wildcards)
    model = run.model
    if not model.tasks:
        raise WorkflowError(f"'{model}' is not fine-tuned and has no seed; ask for init{wildcards.init}.")
    return {
        **settings.task_settings(model, config),
        "variants": [variant.text for variant in model.variants],
        # Without the variants: runs of a sweep see the same batches and draw the same head.
        "seed": seed_from("finetune", "+".join(model.tasks), model.base, run.init, run.seed),
    }


def dataset_of(wildcards):
    task = parse_model(wildcards.model).task
    return config["tasks"][task]["dataset"]


# One job a run, so that a new seed costs one job and a kill costs one run.
rule finetune:
    input:
        start=lambda wildcards: run_files(run_of(wildcards).parent),
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
    output:
        [f"{RUN}/{name}" for name in MODEL_FILES],
        f"{RUN}/scores.json",
        f"{RUN}/predictions.tsv",
        f"{RUN}/steps.tsv",
        f"{RUN}/layers.tsv",
    log:
        "logs/finetune/{model}_init{init}_seed{seed}.log",
    benchmark:
        "logs/finetune/{model}_init{init}_seed{seed}.cost.tsv"
    threads: config["threads"]["train"]
    resources:
        gpu=1,
    params:
        code=code("finetune"),
        settings=lambda wildcards: settings.canonical(finetune_settings(wildcards)),
        start=lambda wildcards: run_of(wildcards).parent.folder,
        directory=RUN,
    script:
        "../scripts/finetune.py"


# A checkpoint that is not fine-tuned but changed: `base.random`, `base.keep2`.
rule derive:
    input:
        start=lambda wildcards: run_files(run_of(wildcards).checkpoint),
    output:
        [f"results/models/{{model}}/init{{init}}/{name}" for name in MODEL_FILES],
    log:
        "logs/derive/{model}_init{init}.log",
    params:
        code=code("derive"),
        variants=lambda wildcards: settings.canonical(
            [variant.text for variant in parse_model(wildcards.model).variants]
        ),
        start=lambda wildcards: run_of(wildcards).checkpoint.folder,
        directory="results/models/{model}/init{init}",
    script:
        "../scripts/derive.py"


def runs_with_scores(wildcards):
    model = parse_model(wildcards.model)
    if not model.tasks:
        raise WorkflowError(f"'{model}' is not fine-tuned, so it has no score; name a task's model.")
    return runs_of(model)


rule scores:
    input:
        scores=lambda wildcards: [f"{run.folder}/scores.json" for run in runs_with_scores(wildcards)],
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
    output:
        "results/scores/{model}.tsv",
    log:
        "logs/scores/{model}.log",
    params:
        code=code("scores"),
        provenance=lambda wildcards: settings.canonical(provenance(parse_model(wildcards.model))),
    script:
        "../scripts/scores.py"


def provenance(model):
    return {
        "model": str(model),
        "task": model.task,
        "runs": [[run.init, run.seed] for run in runs_of(model)],
        "scale": config["scale"],
        "source": config["data"]["source"],
        "checkpoints": {
            str(run.init): settings.describe_base(model.base, run.init, config) for run in runs_of(model)
        },
    }


rule all_scores:
    input:
        tables=[f"results/scores/{model}.tsv" for model in config["scored"]],
    output:
        "results/scores.tsv",
    log:
        "logs/all_scores.log",
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"
