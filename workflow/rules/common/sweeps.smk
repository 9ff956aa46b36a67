from bertshift import work


def sweep_samples(task):
    shared, own = config["sweeps"], config["sweeps"]["tasks"].get(task, {})
    sizes = {key: own.get(key, shared.get(key)) for key in ["max_train", "max_dev"]}
    return {key: size for key, size in sizes.items() if size is not None}


@user_errors_as_sentences
def row_of_sweep(wildcards):
    """{name: (position, run)}"""
    run = run_of(wildcards)
    if run not in naming.sweep_runs_of(run.model, config):
        raise WorkflowError(
            f"'{run.model}.{wildcards.sweep}' has no replicate {run.name}; raise sweeps.seeds or "
            f"sweeps.pretraining_runs, or those of sweeps.per_base.{run.model.base}."
        )
    row = {}
    for position, one in naming.sweep_of(run, wildcards.sweep, config):
        name = str(one.model) if one.seed == run.seed else f"{one.model}_seed{one.seed}"
        row[name] = position, one
    return row


def models_in_row(wildcards):
    """{name: run} of those that `finetune` makes with the same settings: replicates of the plain model."""
    model = parse_model(wildcards.model)
    task = run_settings(runs_of(model)[0])["task"]
    if task | sweep_samples(model.task) != task:
        return {}
    return {name: one for name, (_, one) in row_of_sweep(wildcards).items() if one in runs_of(model)}


def outputs_in_row(file):
    return lambda wildcards: [f"{run.folder}/{file}" for run in models_in_row(wildcards).values()]


@user_errors_as_sentences
def sweep_settings(wildcards):
    run, row, models = run_of(wildcards), row_of_sweep(wildcards), models_in_row(wildcards)
    runs = {name: run_settings(one) for name, (_, one) in row.items() if name not in models}
    for each in runs.values():
        each["task"] |= sweep_samples(run.model.task)
    return {
        "runs": runs,
        "models": {name: one.folder for name, one in models.items()},
        "row": {
            name: {"model": str(one.model), "init": one.init, "seed": one.seed, "position": position}
            for name, (position, one) in row.items()
        },
        "layers": naming.shape_of(config["bases"][run.model.base])["layers"],
        "provenance": {
            **provenance(run.model),
            "runs": [[run.init, run.seed]],
            "checkpoints": checkpoints_of([run.parent]),
        },
    }


def largest_run_mb(wildcards):
    """What a run of a row takes of a GPU's memory, at most: with every input of a batch as long as can be."""
    sizes = work.Sizes(config, known={})
    largest = 0.0
    for run in sweep_settings(wildcards)["runs"].values():
        length, batch = run["task"]["max_length"], run["training"]["batch_size"]
        shape = sizes.shape(wildcards.model, run["variants"])
        largest = max(largest, shape.updates(batch * length, length, steps=1).device)
    return round(largest / 1e6)


def rows_of_sweep(name, kind, ending="tsv"):
    runs_to_score(parse_model(name))
    runs = naming.sweep_runs_of(parse_model(name), config)
    return [f"results/sweeps/{name}.{kind}/{run.name}.{ending}" for run in runs]


def layers_of_rows(name):
    """{file of a row of re-initialised heads: their layer}, counted from 1 where the configuration counts from the top."""
    layers = naming.shape_of(config["bases"][parse_model(name).base])["layers"]
    wanted = unique(n if n > 0 else layers + 1 + n for n in config["sweeps"]["head_layers"])
    return {file: layer for layer in wanted for file in rows_of_sweep(name, f"reinitL{layer}")}
