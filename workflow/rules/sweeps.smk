from bertshift.requests import sweeps


# Runs that differ in one thing, say one layer more frozen each time: a row is one job, as they share data and process.
# The plain model is taken from `finetune`, where that trains it alike.
rule sweep:
    input:
        inputs_of(sweeps.row),
    output:
        scores="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.tsv",
        blocks=blocks_beside("results/sweeps/{model}.{sweep}/init{init}_seed{seed}.tsv"),
        losses="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.losses.tsv",
    log:
        "logs/sweep/{model}.{sweep}_init{init}_seed{seed}.log",
    priority: priority_of("sweep")
    conda:
        ENVIRONMENT
    threads: max(config["threads"]["train"], config["sweeps"]["runs_at_once"] or 1)
    resources:
        **reserve("sweep"),
        # Not parameters: the numbers do not depend on them. 0: as many as the GPU's memory holds.
        gpu=1,
        runs_at_once=config["sweeps"]["runs_at_once"] or 0,
        run_mb=answer_to(sweeps.largest_run_mb),
    params:
        code=code("sweep"),
        # What makes a run another one: a new column of its table does not.
        training=code(module="training/finetuning"),
        settings=settings_of(sweeps.row),
    script:
        "../scripts/sweep.py"


made_by(
    sweeps.sweep_table,
    scores="results/sweeps/{model}.{sweep}.tsv",
    blocks=blocks_beside("results/sweeps/{model}.{sweep}.tsv"),
    losses="results/sweeps/{model}.{sweep}.losses.tsv",
    depends={"code": code("sweep_table")},
    kind="table",
)
# Every head of some layers re-initialised, beside the plain model with as many seeds as it takes to know chance.
made_by(sweeps.reinit_heads, *with_blocks("results/reinit_heads/{model}.tsv"), kind="table")
