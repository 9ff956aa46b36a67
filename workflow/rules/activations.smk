ACTIVATIONS = "results/activations/{model}/{stimuli}"


def keep(path):
    return path if config["keep_activations"] else temp(path)


# All replicates of a model in one job: the encoder's inputs are tokenised once, and a job is worth its start.
rule activations:
    input:
        models=lambda wildcards: [
            file for run in runs_of(parse_model(wildcards.model)) for file in run_files(run)
        ],
        stimuli="results/stimuli/{stimuli}.jsonl",
    output:
        keep(directory(ACTIVATIONS)),
    log:
        "logs/activations/{model}_{stimuli}.log",
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
    params:
        code=code("activations"),
        settings=lambda wildcards: settings.canonical(
            {
                "runs": {run.name: run.folder for run in runs_of(parse_model(wildcards.model))},
                "max_length": config["samples"]["max_length"],
                "attention": needs_attention(wildcards.stimuli),
            }
        ),
    script:
        "../scripts/activations.py"


def needs_attention(name):
    """Attention is the bulk of a dump; text that only RSA reads goes without."""
    readers = [metric for metric, analysis in config["analyses"].items() if reads(analysis, name)]
    return bool({"cosine", "js"} & set(readers))


def reads(analysis, name):
    own = "own" in analysis["stimuli"] and (name not in config["stimuli"] or name == first_text)
    return own or name in analysis["stimuli"]


first_text = next(iter(config["stimuli"]), None)


def comparison_inputs(metric):
    """Inputs of one metric for two models: both dumps of every stimulus, and what the numbers were made from."""

    def activations(which):
        return lambda wildcards: [
            ACTIVATIONS.format(model=parse_comparison(wildcards)[which], stimuli=name)
            for name in comparison_stimuli(metric, wildcards)
        ]

    def descriptions(wildcards):
        return [f"results/stimuli/{name}.json" for name in comparison_stimuli(metric, wildcards)]

    def trainings(wildcards):
        """One run of every fine-tuning that led to either model."""
        runs = [runs_of(model)[0] for model in parse_comparison(wildcards)]
        stages = [stage for run in runs for stage in (run, *run.ancestors) if stage.model.tasks]
        return list(dict.fromkeys(stages))

    def sidecars(wildcards):
        return [sidecar(config["tasks"][run.model.task]["dataset"]) for run in trainings(wildcards)]

    def scores(wildcards):
        return [f"{run.folder}/scores.json" for run in trainings(wildcards)]

    return {
        "model": activations(0),
        "reference": activations(1),
        "descriptions": descriptions,
        "sidecars": sidecars,
        "scores": scores,
    }


@user_errors_as_sentences
def comparison_stimuli(metric, wildcards):
    return stimuli.stimuli_of(metric, *parse_comparison(wildcards), config)


def comparison_settings(metric, **more):
    """Which replicate meets which, by name, and the provenance that every row carries."""

    @user_errors_as_sentences
    def of(wildcards):
        model, reference = parse_comparison(wildcards)
        pairs = naming.pair_runs(model, reference, config)
        inits = dict.fromkeys(run.init for run, _ in pairs)
        return settings.canonical(
            {
                "model": str(model),
                "reference": str(reference),
                "stimuli": comparison_stimuli(metric, wildcards),
                "pairs": [[[run.name, run.init, run.seed] for run in pair] for pair in pairs],
                "scale": config["scale"],
                "source": config["data"]["source"],
                "checkpoints": {
                    str(init): settings.describe_base(model.base, init, config) for init in inits
                },
                **more,
            }
        )

    return of
