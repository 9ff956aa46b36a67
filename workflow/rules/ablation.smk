from bertshift.requests import ablation, data, finetuning


# Disable each head and each layer of a fine-tuned model. One job does all replicates.
rule ablation:
    input:
        models=collect("{run.folder}/{file}", run=of_job(scored), file=MODEL_FILES),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(scored)),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
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
        **settings_of(
            model="{model}",
            task=of_job(finetuning.settings_of_task),
            runs=of_job(numbers_by_folder, scored),
            ablation=config["ablation"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, scored),
        ),
        code=code_for_model("ablation", computes=["ablation"]),
    script:
        "../scripts/ablation.py"


# Give each layer of a fine-tuned model its parent's weights, one layer at a time. One job does all replicates.
rule restored:
    input:
        models=collect("{run.folder}/{file}", run=of_job(both_sides, ablation.restored), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
        stimuli=path("results/stimuli/{task}.jsonl", task=of_job(task_of)),
        description=path("results/stimuli/{task}.json", task=of_job(task_of)),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(outcomes, both_sides, ablation.restored),
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
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
            model="{model}",
            task=of_job(finetuning.settings_of_task),
            reference=of_job(finetuning.parent),
            runs=of_job(children, ablation.restored),
            trained=of_job(trained, both_sides, ablation.restored),
            stimuli=of_job(task_of),
            tokens=config["samples"]["svcca_tokens"],
            max_length=config["samples"]["max_length"],
            max_dev=config["ablation"]["max_dev"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code_for_model("restored", computes=["restored"]),
    script:
        "../scripts/restored.py"
