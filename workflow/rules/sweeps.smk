from bertshift.requests import sweeps


# Train a row of runs that differ in one thing, such as one more frozen layer each. One job does the row, as its runs
# share data and a process. The plain model comes from `finetune` if that trains it in the same way.
rule sweep:
    input:
        inputs_of(sweeps.row),
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
        run_mb=answer_to(sweeps.largest_run_mb),
    params:
        **settings_of(sweeps.row, "runs models row layers provenance"),
        code=code_for_model("sweep"),
        # Only this code counts for the runs; a new column of the table trains none again.
        training_code=code_for_model(module="training/finetuning"),
    script:
        "../scripts/sweep.py"


rule sweep_table:
    input:
        inputs_of(sweeps.sweep_table),
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
        code=code("sweep_table"),
    script:
        "../scripts/sweep_table.py"


# Compare runs with one re-initialised head with several seeds of the plain model.
rule reinit_heads:
    input:
        inputs_of(sweeps.reinit_heads),
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
        **settings_of(sweeps.reinit_heads, "layers"),
        code=code("reinit_heads"),
    script:
        "../scripts/reinit_heads.py"
