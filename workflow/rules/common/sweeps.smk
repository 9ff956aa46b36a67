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
        "provenance": {
            **provenance(run.model),
            "runs": [[run.init, run.seed]],
            "checkpoints": checkpoints_of([run.parent]),
        },
    }


def rows_of_sweep(name, kind, ending="tsv"):
    model = parse_model(name)
    return [f"results/sweeps/{name}.{kind}/{run.name}.{ending}" for run in runs_to_score(model)]


def layers_of_rows(name):
    """{file of a row of re-initialised heads: their layer}, counted from 1 where the configuration counts from the top."""
    layers = naming.shape_of(config["bases"][parse_model(name).base])["layers"]
    wanted = unique(n if n > 0 else layers + 1 + n for n in config["sweeps"]["head_layers"])
    return {file: layer for layer in wanted for file in rows_of_sweep(name, f"reinitL{layer}")}
