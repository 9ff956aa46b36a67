from functools import partial

from bertshift.metrics.registry import METRICS
from bertshift.requests import comparing

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
