from bertshift.requests import activations


# All replicates of a model in one job, so that a job is worth its start.
rule activations:
    input:
        inputs_of(activations.activations),
    output:
        directory(activations.DUMP) if config["keep_activations"] else temp(directory(activations.DUMP)),
    log:
        "logs/activations/{kind}_{model}_{stimuli}.log",
    wildcard_constraints:
        kind=only(activations.WRITTEN),
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse", activations.dumped),
        gpu=1,
    params:
        **depends_on(activations.activations),
    script:
        "../scripts/activations.py"


# A few short inputs through one replicate and the model that it was fine-tuned from: too little for a GPU.
rule examples:
    input:
        inputs_of(activations.examples),
    output:
        activations.EXAMPLES,
    log:
        "logs/examples/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        **depends_on(activations.examples),
    script:
        "../scripts/examples.py"
