from functools import partial

from bertshift.metrics.registry import METRICS
from bertshift.requests import comparing, forgetting, grounding

# A metric of two models, for every pair of their replicates: one job a pair of models.
for metric, how in METRICS.items():
    request = partial(comparing.compare, metric=metric)

    rule:
        name:
            metric
        input:
            inputs_of(request),
        output:
            f"results/{metric}/{{model}}_vs_{{reference}}.tsv",
            f"results/{metric}/{{model}}_vs_{{reference}}.blocks.npy",
        log:
            f"logs/{metric}/{{model}}_vs_{{reference}}.log",
        threads: config["threads"]["analyse"]
        resources:
            **reserve("analyse"),
        params:
            code=code("compare", module=f"metrics/{how.module}"),
            settings=settings_of(request),
        script:
            "../scripts/compare.py"


# From weights alone, one matrix at a time.
rule spectra:
    input:
        inputs_of(comparing.spectra),
    output:
        "results/spectra/{model}_vs_{reference}.tsv",
    log:
        "logs/spectra/{model}_vs_{reference}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        **depends_on(comparing.spectra),
    script:
        "../scripts/spectra.py"


# Both models side by side on inputs padded to one length: maps of these are too many to be stored.
rule cosine_padded:
    input:
        inputs_of(comparing.cosine_padded),
    output:
        "results/cosine_padded/{model}_vs_{reference}.tsv",
        "results/cosine_padded/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/cosine_padded/{model}_vs_{reference}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(comparing.cosine_padded),
    script:
        "../scripts/cosine_padded.py"


# Every two runs of a task, in distance and in behaviour. It extracts the activations of one pretraining run's runs itself
# and deletes them: those of all models of a task would fill a disk.
rule grounding:
    input:
        inputs_of(grounding.grounding),
    output:
        "results/grounding/{model}.tsv",
    log:
        "logs/grounding/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse", grounding.dumped),
        gpu=1,
    params:
        **depends_on(grounding.grounding),
    script:
        "../scripts/grounding.py"


# The checkpoint's own head on a fine-tuned encoder, all replicates in one job; neither states nor logits are stored.
rule forgetting:
    input:
        inputs_of(forgetting.forgetting),
    output:
        "results/forgetting/{model}.tsv",
    log:
        "logs/forgetting/{model}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(forgetting.forgetting),
    script:
        "../scripts/forgetting.py"


# Who the words of a stimulus are: tags and trees by the annotators' first replicates, one job for both.
rule annotations:
    input:
        inputs_of(comparing.annotations),
    output:
        rows="results/annotations/{stimulus}.jsonl",
        record="results/annotations/{stimulus}.json",
    log:
        "logs/annotations/{stimulus}.log",
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
        gpu=1,
    params:
        **depends_on(comparing.annotations),
    script:
        "../scripts/annotations.py"
