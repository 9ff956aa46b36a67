from functools import partial

from bertshift.measures import OF_DUMPS
from bertshift.requests import comparing, forgetting, grounding

# Compute a metric of two models, for every pair of their replicates. One job does one pair of models.
for metric, record in OF_DUMPS.items():
    request = partial(comparing.compare, metric=metric)

    rule:
        name:
            metric
        input:
            inputs_of(request),
        output:
            table=f"results/{metric}/{{model}}_vs_{{reference}}.tsv",
            blocks=f"results/{metric}/{{model}}_vs_{{reference}}.blocks.npy",
        log:
            f"logs/{metric}/{{model}}_vs_{{reference}}.log",
        priority: 5
        group:
            "{model}_vs_{reference}"
        conda:
            "../../envs/compute.yaml"
        threads: config["threads"]["analyse"]
        resources:
            in_group=4,
            mem_mb=memory("analyse"),
            runtime=minutes("analyse"),
        params:
            **settings_of(
                request,
                "model reference pairs trained stimuli module "
                "tokens dump folders reference_checkpoints scale checkpoints",
            ),
            code=code("compare", module=f"metrics/{record.module}", records=[metric]),
        script:
            "../scripts/compare.py"


# Compare the weights of two models, one matrix at a time.
rule spectra:
    input:
        inputs_of(comparing.spectra),
    output:
        "results/spectra/{model}_vs_{reference}.tsv",
    log:
        "logs/spectra/{model}_vs_{reference}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        in_group=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(comparing.spectra, "model reference pairs trained folders scale checkpoints"),
        code=code("spectra", records=["spectra"]),
    script:
        "../scripts/spectra.py"


# Compare attention maps on padded inputs. Both models run side by side, as the maps are too many to be stored.
rule cosine_padded:
    input:
        inputs_of(comparing.cosine_padded),
    output:
        table="results/cosine_padded/{model}_vs_{reference}.tsv",
        blocks="results/cosine_padded/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/cosine_padded/{model}_vs_{reference}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            comparing.cosine_padded,
            "model reference pairs trained stimuli inputs pad_to folders scale checkpoints",
        ),
        code=code("cosine_padded", records=["cosine_padded"]),
    script:
        "../scripts/cosine_padded.py"


# Compare every two runs of a task, in distance and in behaviour. The job extracts activations itself and deletes them:
# those of all models of a task would fill a disk.
rule grounding:
    input:
        inputs_of(grounding.grounding),
    output:
        "results/grounding/{model}.tsv",
    log:
        "logs/grounding/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(grounding.grounding, "runs trained task stimuli tokens max_length scale checkpoints"),
        code=code_for_model("grounding"),
    script:
        "../scripts/grounding.py"


# Put the checkpoint's own head on a fine-tuned encoder. One job does all replicates and stores no states.
rule forgetting:
    input:
        inputs_of(forgetting.forgetting),
    output:
        table="results/forgetting/{model}.tsv",
        blocks="results/forgetting/{model}.blocks.npy",
    log:
        "logs/forgetting/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            forgetting.forgetting,
            "model task reference runs trained corpus stimuli max_length scale checkpoints",
        ),
        code=code("forgetting"),
    script:
        "../scripts/forgetting.py"


# Annotate the words of a stimulus with POS tags and parses, by the annotators' first replicates.
rule annotations:
    input:
        inputs_of(comparing.annotations),
    output:
        rows="results/annotations/{stimulus}.jsonl",
        record="results/annotations/{stimulus}.json",
    log:
        "logs/annotations/{stimulus}.log",
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(comparing.annotations, "folders"),
        code=code("annotations"),
    script:
        "../scripts/annotations.py"
