from bertshift.requests import activations

DUMP = directory("results/activations/{kind}/{model}/{stimuli}")
AFTER_AND_BEFORE = of_job(activations.after_and_before)


# Dump attention maps and hidden states as NPZ. One job does all replicates of a model.
rule activations:
    input:
        models=collect("{run.folder}/{file}", run=of_job(replicates), file=MODEL_FILES),
        stimuli=lambda wildcards: collect(
            "results/stimuli/{stimulus}.jsonl", stimulus=wildcards.stimuli.split("-")
        ),
    output:
        DUMP if config["keep_activations"] else temp(DUMP),
    log:
        "logs/activations/{kind}_{model}_{stimuli}.log",
    wildcard_constraints:
        kind=match_only(activations.WRITTEN),
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            runs=of_job(folders, replicates),
            max_length=config["samples"]["max_length"],
            attention=lambda wildcards: activations.KINDS[wildcards.kind]["attention"],
            precision=lambda wildcards: activations.KINDS[wildcards.kind]["precision"],
            sample=of_job(activations.sample),
        ),
        code=code("activations"),
    script:
        "../scripts/activations.py"


# Keep the attention maps of a few short inputs, before and after fine-tuning. This is too little for a GPU.
rule examples:
    input:
        models=collect("{run.folder}/{file}", run=AFTER_AND_BEFORE, file=MODEL_FILES),
        stimuli=path("results/stimuli/{task}.jsonl", task=of_job(task_of)),
    output:
        "results/examples/{model}.json",
    log:
        "logs/examples/{model}.log",
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            parent=lambda wildcards: str(AFTER_AND_BEFORE(wildcards)[1].model),
            run=lambda wildcards: AFTER_AND_BEFORE(wildcards)[0].name,
            before=lambda wildcards: AFTER_AND_BEFORE(wildcards)[1].folder,
            after=lambda wildcards: AFTER_AND_BEFORE(wildcards)[0].folder,
            number=config["samples"]["examples"],
            longest=min(activations.SHORT, config["samples"]["max_length"]),
        ),
        code=code("examples"),
    script:
        "../scripts/examples.py"
