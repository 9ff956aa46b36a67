def sweep_samples(task):
    shared, own = config["sweeps"], config["sweeps"]["tasks"].get(task, {})
    sizes = {key: own.get(key, shared.get(key)) for key in ["max_train", "max_dev"]}
    return {key: size for key, size in sizes.items() if size is not None}


@user_errors_as_sentences
def sweep_settings(wildcards):
    run = run_of(wildcards)
    row = {}
    for position, one in naming.sweep_of(run, wildcards.sweep, config):
        name = str(one.model) if one.seed == run.seed else f"{one.model}_seed{one.seed}"
        row[name] = position, one
    runs = {name: run_settings(one) for name, (_, one) in row.items()}
    for each in runs.values():
        each["task"] |= sweep_samples(run.model.task)
    return {
        "runs": runs,
        "row": {
            name: {"model": str(one.model), "init": one.init, "seed": one.seed, "position": position}
            for name, (position, one) in row.items()
        },
        "layers": naming.shape_of(config["bases"][run.model.base])["layers"],
        "provenance": {**provenance(run.model), "runs": [[run.init, run.seed]]},
    }


def rows_of_sweep(name, kind, ending="tsv"):
    model = parse_model(name)
    return [f"results/sweeps/{name}.{kind}/{run.name}.{ending}" for run in runs_to_score(model)]


def layers_of_rows(name):
    """{file of a row of re-initialised heads: their layer}, counted from 1 where the configuration counts from the top."""
    layers = naming.shape_of(config["bases"][parse_model(name).base])["layers"]
    wanted = unique(n if n > 0 else layers + 1 + n for n in config["sweeps"]["head_layers"])
    return {file: layer for layer in wanted for file in rows_of_sweep(name, f"reinitL{layer}")}


# Runs that differ in one thing, say one layer more frozen each time: a row is one job, as they share data and process.
rule sweep:
    input:
        start=lambda wildcards: run_files(run_of(wildcards).parent),
        examples=lambda wildcards: examples(dataset_of(wildcards)),
        sidecar=lambda wildcards: sidecar(dataset_of(wildcards)),
        commits=lambda wildcards: records(parse_model(wildcards.model)),
    output:
        scores="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.tsv",
        losses="results/sweeps/{model}.{sweep}/init{init}_seed{seed}.losses.tsv",
    log:
        "logs/sweep/{model}.{sweep}_init{init}_seed{seed}.log",
    benchmark:
        "logs/sweep/{model}.{sweep}_init{init}_seed{seed}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: max(config["threads"]["train"], config["sweeps"]["runs_at_once"])
    resources:
        **reserve("sweep"),
        gpu=1,
        # Not a parameter: the numbers do not depend on it.
        runs_at_once=config["sweeps"]["runs_at_once"],
    params:
        code=code("sweep"),
        settings=lambda wildcards: settings.canonical(sweep_settings(wildcards)),
        start=lambda wildcards: run_of(wildcards).parent.folder,
    script:
        "../scripts/sweep.py"


rule sweep_table:
    input:
        scores=lambda wildcards: rows_of_sweep(wildcards.model, wildcards.sweep),
        losses=lambda wildcards: rows_of_sweep(wildcards.model, wildcards.sweep, "losses.tsv"),
    output:
        scores="results/sweeps/{model}.{sweep}.tsv",
        losses="results/sweeps/{model}.{sweep}.losses.tsv",
    log:
        "logs/sweep_table/{model}.{sweep}.log",
    benchmark:
        "logs/sweep_table/{model}.{sweep}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("sweep_table"),
    script:
        "../scripts/sweep_table.py"


# Every head of some layers re-initialised, beside the plain model with as many seeds as it takes to know chance.
rule reinit_heads:
    input:
        heads=lambda wildcards: list(layers_of_rows(wildcards.model)),
        baselines=lambda wildcards: rows_of_sweep(wildcards.model, "seeds"),
    output:
        "results/reinit_heads/{model}.tsv",
    log:
        "logs/reinit_heads/{model}.log",
    benchmark:
        "logs/reinit_heads/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    resources:
        **reserve("table"),
    params:
        code=code("reinit_heads"),
        layers=lambda wildcards: settings.canonical(layers_of_rows(wildcards.model)),
    script:
        "../scripts/reinit_heads.py"
