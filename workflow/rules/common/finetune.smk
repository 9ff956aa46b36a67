from bertshift.seeds import seed_from

RUN = "results/models/{model}/init{init}_seed{seed}"


def finetune_settings(wildcards):
    run = run_of(wildcards)
    if not run.model.tasks:
        raise WorkflowError(f"'{run.model}' is not fine-tuned and has no seed; ask for init{wildcards.init}.")
    return run_settings(run)


def run_settings(run):
    model = run.model
    return {
        **settings.task_settings(model, config),
        "variants": [variant.text for variant in model.variants],
        # Without the variants and earlier tasks: runs that are compared see the same batches and draw the same head.
        "seed": finetune_seed(model, run.init, run.seed),
    }


def finetune_seed(model, init, seed):
    return seed_from("finetune", model.task, model.base, init, seed)


def rivals(wildcards):
    """Two models of one task whose predictions can be tested against each other, example by example."""
    model, reference = parse_model(wildcards.model), parse_model(wildcards.reference)
    kind = config["tasks"].get(model.task, {}).get("kind")
    if model.task != reference.task or kind not in ["classification", "regression", "spans"]:
        raise WorkflowError(
            f"results/gains/{model}_vs_{reference}.tsv: only two models of one task that classifies, rates or answers "
            "can be tested on its examples; write e.g. 'wnli+rte_vs_rte'."
        )
    return model, reference


@user_errors_as_sentences
def rival_runs(wildcards):
    return naming.pair_runs(*rivals(wildcards), config)


def gain_inputs(file):
    """This file of every replicate of the model, each followed by that of the replicate which it meets."""
    return lambda wildcards: [f"{run.folder}/{file}" for pair in rival_runs(wildcards) for run in pair]


def gain_settings(wildcards):
    model, reference = rivals(wildcards)
    return provenance(model) | {
        "reference": str(reference),
        "pairs": [[[run.init, run.seed] for run in pair] for pair in rival_runs(wildcards)],
    }


def frozen_starts(wildcards):
    """The runs that a model's runs start from, each once."""
    model = parse_model(wildcards.model)
    if not model.tasks or config["tasks"][model.task]["kind"] not in ["classification", "regression"]:
        raise WorkflowError(
            f"results/frozen/{model}.tsv: '{model}' is not fine-tuned to classify or to rate a text; write e.g. 'mrpc'."
        )
    if model.variants:
        plain = naming.Model(model.tasks, (), model.base)
        raise WorkflowError(
            f"results/frozen/{model}.tsv: an encoder is taken as it is, without variants; write '{plain}'."
        )
    return unique(run.parent for run in runs_of(model))


def frozen_settings(wildcards):
    model = parse_model(wildcards.model)
    heads = range(1, config["frozen"]["heads"] + 1)
    return {
        **provenance(model),
        "checkpoints": checkpoints_of(frozen_starts(wildcards)),
        "model": str(model.parent),
        "child": str(model),
        "task": settings.task_settings(model, config)["task"],
        "max_train": config["frozen"]["max_train"],
        "starts": {
            start.folder: {
                "init": start.init,
                "seed": start.seed,
                "heads": [finetune_seed(model, start.init, head) for head in heads],
            }
            for start in frozen_starts(wildcards)
        },
    }
