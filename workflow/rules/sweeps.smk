from bertshift.requests import sweeps


# Runs that differ in one thing, say one layer more frozen each time: a row is one job, as they share data and process.
# The plain model is taken from `finetune`, where that trains it alike.
rule sweep:
    input:
        inputs_of(sweeps.row),
    output:
        scores="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.tsv",
        blocks="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.blocks.npy",
        losses="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.losses.tsv",
    log:
        "logs/sweep/{model}.{sweep}_init{init}_seed{seed}.log",
    priority: 3
    conda:
        "../../envs/compute.yaml"
    threads: max(config["threads"]["train"], config["sweeps"]["runs_at_once"] or 1)
    resources:
        gpu=1,
        mem_mb=memory("sweep"),
        runtime=minutes("sweep"),
        # Not parameters: the numbers do not depend on them. 0: as many as the GPU's memory holds.
        runs_at_once=config["sweeps"]["runs_at_once"] or 0,
        run_mb=answer_to(sweeps.largest_run_mb),
    params:
        **settings_of(sweeps.row, "runs models row layers provenance"),
        code=code_for_model("sweep"),
        # What makes a run another one: a new column of its table does not.
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
        "logs/sweep_table/{model}.{sweep}.log",
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


# Every head of some layers re-initialised, beside the plain model with as many seeds as it takes to know chance.
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
