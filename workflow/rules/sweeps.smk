from bertshift.requests import data, sweeps


# Train a row of runs that differ in one thing, such as one more frozen layer each. One job does the row, as its runs
# share data and a process. The plain model comes from `finetune` if that trains it in the same way.
rule sweep:
    input:
        start=collect("{run.parent.folder}/{file}", run=of_job(run_named), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(sweeps.plain_runs, sweeps.row)
        ),
        steps=collect(
            "results/models/{run.model}/{run.name}/steps.tsv", run=of_job(sweeps.plain_runs, sweeps.row)
        ),
        predictions=collect(
            "results/models/{run.model}/{run.name}/predictions.tsv",
            run=of_job(sweeps.plain_runs, sweeps.row),
        ),
    output:
        scores="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.tsv",
        blocks="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.blocks.npy",
        losses="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.losses.tsv",
    log:
        "logs/sweeps/{model}.{sweep}_init{init}_seed{seed}.log",
    priority: 3
    conda:
        "../../envs/compute.yaml"
    threads: max(config["threads"]["train"], config["sweeps"]["runs_at_once"] or 1)
    resources:
        gpu=1,
        mem_mb=memory("sweep"),
        runtime=minutes("sweep"),
        # These are no params, as no number depends on them. 0 means as many as the GPU's memory holds.
        runs_at_once=config["sweeps"]["runs_at_once"] or 0,
        # The plan reads the width from a checkpoint's config.json, if that is there.
        run_mb=of_job(sweeps.largest_run_mb, sweeps.row),
    params:
        **settings_of(
            runs=of_job(sweeps.settings_of_runs, sweeps.row),
            models=of_job(sweeps.folders_of_plain, sweeps.row),
            row=of_job(sweeps.described_members, sweeps.row),
            layers=of_job(sweeps.layers),
            provenance=of_job(sweeps.provenance, sweeps.row),
        ),
        code=code_for_model("sweep", computes=["sweeps"]),
        # Only this code counts for the runs; a new column of the table trains none again.
        training_code=code_for_model(module="training/finetuning"),
    script:
        "../scripts/sweep.py"


rule sweep_table:
    input:
        scores=collect(
            "results/sweeps/{model}.{sweep}/{run.name}.tsv", run=of_job(sweeps.rows), allow_missing=True
        ),
        blocks=collect(
            "results/sweeps/{model}.{sweep}/{run.name}.blocks.npy",
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
        losses=collect(
            "results/sweeps/{model}.{sweep}/{run.name}.losses.tsv",
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
    output:
        scores="results/sweeps/{model}.{sweep}.tsv",
        blocks="results/sweeps/{model}.{sweep}.blocks.npy",
        losses="results/sweeps/{model}.{sweep}.losses.tsv",
    log:
        "logs/sweeps/{model}.{sweep}.log",
    priority: 3
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        code=code("sweep_table", computes=["sweeps"]),
    script:
        "../scripts/sweep_table.py"


# Compare runs with one re-initialised head with several seeds of the plain model.
rule reinit_heads:
    input:
        heads=collect(
            "results/sweeps/{model}.reinitL{layer}/{run.name}.tsv",
            layer=of_job(sweeps.layers_of_heads),
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
        heads_blocks=collect(
            "results/sweeps/{model}.reinitL{layer}/{run.name}.blocks.npy",
            layer=of_job(sweeps.layers_of_heads),
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
        baselines=collect(
            "results/sweeps/{model}.seeds/{run.name}.tsv",
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
        baselines_blocks=collect(
            "results/sweeps/{model}.seeds/{run.name}.blocks.npy",
            run=of_job(sweeps.rows),
            allow_missing=True,
        ),
    output:
        table="results/reinit_heads/{model}.tsv",
        blocks="results/reinit_heads/{model}.blocks.npy",
    log:
        "logs/reinit_heads/{model}.log",
    priority: 3
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
            layers=of_job(sweeps.layers_of_files),
        ),
        code=code("reinit_heads", computes=["reinit_heads"]),
    script:
        "../scripts/reinit_heads.py"
