def ablation_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **provenance(model),
        "task": settings.task_settings(model, config)["task"],
        "runs": {run.folder: [run.init, run.seed] for run in runs_of(model)},
        "ablation": config["ablation"],
    }


def restored_settings(wildcards):
    model = parse_model(wildcards.model)
    return {
        **parent_settings(wildcards),
        "task": settings.task_settings(model, config)["task"],
        "stimuli": model.task,
        "tokens": config["samples"]["svcca_tokens"],
        "max_length": config["samples"]["max_length"],
        "max_dev": config["ablation"]["max_dev"],
    }
