localrules:
    relations,


def relation_source():
    """FrameNet, or sentences with relations marked: where, and whether that is the world, the hub or a mirror."""
    spec, data = config["relations"], config["data"]
    if not spec["source"] and data["source"] == "world":
        return f"{WORLD}/heads/relations.jsonl", "world"
    mirror = Path(data.get("mirror") or "")
    wanted = [spec["source"]] if spec["source"] else [mirror / file for file in spec["files"]]
    for path in wanted:
        if Path(path).exists():
            return str(path), "mirror"
    if not spec["source"] and data["source"] == "hub":
        return f"{CORPORA}/{spec['download']['url'].partition('://')[2]}", "hub"
    if spec["source"]:
        missing = f"relations.source: {spec['source']} does not exist"
    else:
        missing = f"data.mirror: {mirror} has none of {', '.join(spec['files'])}"
    raise WorkflowError(
        f"{missing}; fetch FrameNet 1.7 (python -m nltk.downloader -d FOLDER framenet_v17) and put it there, or set "
        "relations.source to where it is."
    )


def relation_settings(wildcards):
    runs = runs_of(parse_model(wildcards.model))
    replicates = {run.name: [run.init, run.seed] for run in runs}
    return provenance(parse_model(wildcards.model)) | {"runs": replicates}


# Sentences with a predicate and its arguments marked: as annotation, and as inputs that show none of it.
rule relations:
    input:
        lambda wildcards: relation_source()[0],
    output:
        rows="results/relations/relations.jsonl",
        sidecar="results/relations/relations.json",
        stimuli="results/stimuli/relations.jsonl",
        description="results/stimuli/relations.json",
    log:
        "logs/relations.log",
    benchmark:
        "logs/relations.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("relations"),
        origin=lambda wildcards: relation_source()[1],
    script:
        "../scripts/relations.py"


rule relation_heads:
    input:
        **probe_inputs("relation_heads", "relations"),
        relations="results/relations/relations.jsonl",
    output:
        "results/relation_heads/{model}.tsv",
    log:
        "logs/relation_heads/{model}.log",
    benchmark:
        "logs/relation_heads/{model}.cost.tsv"
    conda:
        ENVIRONMENT
    threads: config["threads"]["analyse"]
    resources:
        **reserve("analyse"),
    params:
        code=code("relation_heads"),
        settings=lambda wildcards: settings.canonical(relation_settings(wildcards)),
    script:
        "../scripts/relation_heads.py"
