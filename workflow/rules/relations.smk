from bertshift.requests import relations
from bertshift.requests.activations import recipe


# Prepare sentences with a predicate and its arguments: the annotation, and the plain sentences as inputs.
rule relations:
    input:
        source=given(of_job(relations.file)),
    output:
        rows="results/relations/relations.jsonl",
        sidecar="results/relations/relations.json",
        stimuli="results/stimuli/relations.jsonl",
        description="results/stimuli/relations.json",
    log:
        "logs/relations.log",
    priority: 10
    group:
        "inputs"
    conda:
        "../../envs/compute.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            origin=of_job(relations.origin),
            own=of_job(relations.file),
        ),
        code=code("relations"),
    script:
        "../scripts/relations.py"


rule relation_heads:
    input:
        dump="results/activations/attention/{model}/relations",
        relations="results/relations/relations.jsonl",
        sentences="results/stimuli/relations.jsonl",
        description="results/stimuli/relations.json",
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, relations.finding)
        ),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, relations.finding)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(relations.finding)),
    output:
        table="results/relation_heads/{model}.tsv",
        blocks="results/relation_heads/{model}.blocks.npy",
    log:
        "logs/relation_heads/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            runs=of_job(numbers_by_name, relations.finding),
            trained=of_job(trained, relations.finding),
            dump=recipe("attention", config),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, relations.finding),
        ),
        code=code("relation_heads", computes=["relation_heads"]),
    script:
        "../scripts/relation_heads.py"
