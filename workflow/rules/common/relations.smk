def relation_source():
    """FrameNet, or sentences with relations marked: where, and whether that is the world, the hub or a mirror."""
    spec, data = config["relations"], config["data"]
    if not spec["source"] and data["source"] == "world":
        return f"{WORLD}/heads/relations.jsonl", "world"
    mirror = Path(data.get("mirror") or "")
    # A mirror may hold the download too, where it lies below results/corpora.
    address = spec["download"]["url"].partition("://")[2]
    wanted = [spec["source"]] if spec["source"] else [mirror / file for file in [*spec["files"], address]]
    for path in wanted:
        if Path(path).exists():
            return str(path), "mirror"
    if not spec["source"] and data["source"] == "hub":
        return f"{CORPORA}/{address}", "hub"
    if spec["source"]:
        missing = f"relations.source: {spec['source']} does not exist"
    else:
        missing = f"data.mirror: {mirror} has none of {', '.join(spec['files'])}"
    raise WorkflowError(
        f"{missing}; fetch FrameNet 1.7 (python -m nltk.downloader -d FOLDER framenet_v17) and put it there, or set "
        "relations.source to where it is."
    )


def relation_stamps():
    path, origin = relation_source()
    return stamps([path]) if origin == "mirror" else {}


def relation_settings(wildcards):
    runs = runs_of(parse_model(wildcards.model))
    replicates = {run.name: [run.init, run.seed] for run in runs}
    return provenance(parse_model(wildcards.model)) | {
        "runs": replicates,
        "trained": names_of(runs),
        "dump": recipe_of_dump("relation_heads"),
    }
