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
