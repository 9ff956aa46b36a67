# Metrics of attention maps, head by head.
rule cosine:
    input:
        **comparison_inputs("cosine"),
    output:
        "results/cosine/{model}_vs_{reference}.tsv",
    log:
        "logs/cosine/{model}_vs_{reference}.log",
    threads: config["threads"]["analyse"]
    params:
        code=code("cosine"),
        settings=comparison_settings("cosine"),
    script:
        "../scripts/cosine.py"


rule js:
    input:
        **comparison_inputs("js"),
    output:
        "results/js/{model}_vs_{reference}.tsv",
    log:
        "logs/js/{model}_vs_{reference}.log",
    threads: config["threads"]["analyse"]
    params:
        code=code("js"),
        settings=comparison_settings("js"),
    script:
        "../scripts/js.py"
