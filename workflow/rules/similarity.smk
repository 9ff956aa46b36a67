# Metrics of hidden states, layer by layer.
rule svcca:
    input:
        **comparison_inputs("svcca"),
    output:
        "results/svcca/{model}_vs_{reference}.tsv",
    log:
        "logs/svcca/{model}_vs_{reference}.log",
    benchmark:
        "logs/svcca/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("svcca"),
        settings=comparison_settings("svcca", tokens=config["samples"]["svcca_tokens"]),
    script:
        "../scripts/svcca.py"


# SVCCA again beside CKA, PWCCA and Procrustes distance, by class of tokens, from the dump that SVCCA reads.
rule similarity:
    input:
        **comparison_inputs("similarity"),
    output:
        "results/similarity/{model}_vs_{reference}.tsv",
    log:
        "logs/similarity/{model}_vs_{reference}.log",
    benchmark:
        "logs/similarity/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("similarity"),
        settings=comparison_settings("similarity", tokens=config["samples"]["svcca_tokens"]),
    script:
        "../scripts/similarity.py"


rule rsa:
    input:
        **comparison_inputs("rsa"),
    output:
        "results/rsa/{model}_vs_{reference}.tsv",
    log:
        "logs/rsa/{model}_vs_{reference}.log",
    benchmark:
        "logs/rsa/{model}_vs_{reference}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("rsa"),
        settings=comparison_settings("rsa", tokens=config["samples"]["tokens"]),
    script:
        "../scripts/rsa.py"
