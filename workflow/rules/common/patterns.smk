def labelled_models():
    """The models whose maps are labelled."""
    names = (config["figures"].get("kovaleva2019", {}).get("figure2") or {}).get("models")
    if not names:
        raise WorkflowError(
            "results/patterns: maps to be labelled come from the models of figures.kovaleva2019.figure2, which lists none."
        )
    models = [parse_model(name) for name in names]
    if plain := [str(model) for model in models if not model.tasks]:
        raise WorkflowError(
            f"figures.kovaleva2019.figure2: {plain[0]} is not fine-tuned and has no inputs of its own; name a task's model."
        )
    return models


def sheet_settings():
    def one(model):
        shape, kept = naming.shape_of(config["bases"][model.base]), model.variant("keep")
        layers = int(kept["layers"]) if kept else shape["layers"]
        runs = {run.folder: [run.init, run.seed] for run in runs_of(model)}
        return {**provenance(model), "layers": layers, "heads": shape["heads"], "runs": runs}

    return {
        "models": {str(model): one(model) for model in labelled_models()},
        "maps": config["patterns"]["maps"],
        "max_length": config["samples"]["max_length"],
        "scale": config["scale"],
    }


def corrected_labels():
    path = config["patterns"]["labels"]
    if path and not Path(path).is_file():
        raise WorkflowError(
            f"patterns.labels: {path} does not exist; copy results/patterns/sheet/maps.tsv there and correct the labels."
        )
    return [path] if path else []


def pattern_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **provenance(model),
        "runs": {run.folder: [run.init, run.seed] for run in runs_of(model)},
        "trained": names_of(runs_of(model)),
        "max_examples": config["patterns"]["max_examples"],
        "max_length": config["samples"]["max_length"],
    }
