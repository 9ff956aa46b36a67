from bertshift.requests import activations

DUMP = directory("results/activations/{kind}/{model}/{stimuli}")


# Dump attention maps and hidden states as NPZ. One job does all replicates of a model.
rule activations:
    input:
        inputs_of(activations.activations),
    output:
        DUMP if config["keep_activations"] else temp(DUMP),
    log:
        "logs/activations/{kind}_{model}_{stimuli}.log",
    wildcard_constraints:
        kind=match_only(activations.WRITTEN),
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(activations.activations, "runs max_length attention precision sample"),
        code=code("activations"),
    script:
        "../scripts/activations.py"


# Keep the attention maps of a few short inputs, before and after fine-tuning. This is too little for a GPU.
rule examples:
    input:
        inputs_of(activations.examples),
    output:
        "results/examples/{model}.json",
    log:
        "logs/examples/{model}.log",
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(activations.examples, "model parent run before after number longest"),
        code=code("examples"),
    script:
        "../scripts/examples.py"
