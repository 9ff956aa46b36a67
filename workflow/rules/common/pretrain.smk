from bertshift.models.source import as_asked_before

PRETRAINED_HERE = [name for name, base in config["bases"].items() if "pretrain" in base]
PRETRAINED_ELSEWHERE = [name for name in config["bases"] if name not in PRETRAINED_HERE]
CHECKPOINT = "results/pretrained/{base}/init{init}"
for name in PRETRAINED_ELSEWHERE:
    entries = config["bases"][name]["checkpoints"]
    entries[:] = [
        as_asked_before(entry, CHECKPOINT.format(base=name, init=init))
        for init, entry in enumerate(entries, 1)
    ]


def vocabulary_files(name):
    return [
        f"results/vocabularies/{name}/{file}"
        for file in ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    ]


def vocabulary(wildcards):
    if wildcards.vocabulary not in config["vocabularies"]:
        known = ", ".join(config["vocabularies"])
        raise WorkflowError(f"no vocabulary '{wildcards.vocabulary}'; known: {known}.")
    return config["vocabularies"][wildcards.vocabulary]


def architecture(wildcards):
    return config["bases"][wildcards.base]["pretrain"]


def checkpoint_source(wildcards):
    sources = config["bases"][wildcards.base]["checkpoints"]
    if not 1 <= int(wildcards.init) <= len(sources):
        raise WorkflowError(
            f"bases.{wildcards.base}.checkpoints lists {len(sources)} run(s); there is no init{wildcards.init}."
        )
    # Another label is no other checkpoint.
    source = {key: value for key, value in sources[int(wildcards.init) - 1].items() if key != "label"}
    if "path" in source:
        folder = Path(source["path"]).expanduser()
        if not folder.is_dir():
            raise WorkflowError(f"bases.{wildcards.base}.checkpoints: there is no folder {folder}.")
        source["stamps"] = stamps(sorted(file for file in folder.iterdir() if file.is_file()))
    return source
