# What is left of figures/all, and what it will cost: printed, nothing runs.
rule plan:
    log:
        "logs/plan.log",
    localrule: True
    params:
        command=plan_command,
    shell:
        "({params.command}) | tee {log}"
