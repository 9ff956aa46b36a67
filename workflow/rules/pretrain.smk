localrules:
    checkpoint,


PRETRAINED_HERE = [name for name, base in config["bases"].items() if "pretrain" in base]
PRETRAINED_ELSEWHERE = [name for name in config["bases"] if name not in PRETRAINED_HERE]
CHECKPOINT = "results/pretrained/{base}/init{init}"


def only(names):
    return "|".join(names) or "(?!)"


def vocabulary_files(name):
    return [
        f"results/vocabularies/{name}/{file}"
        for file in ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    ]


rule vocabulary:
    input:
        corpus=lambda wildcards: config["corpora"][vocabulary(wildcards)["corpus"]],
    output:
        vocabulary_files("{vocabulary}"),
    log:
        "logs/vocabulary/{vocabulary}.log",
    params:
        code=code("vocabulary"),
        settings=lambda wildcards: settings.canonical(vocabulary(wildcards)),
    script:
        "../scripts/vocabulary.py"


def vocabulary(wildcards):
    if wildcards.vocabulary not in config["vocabularies"]:
        known = ", ".join(config["vocabularies"])
        raise WorkflowError(f"no vocabulary '{wildcards.vocabulary}'; known: {known}.")
    return config["vocabularies"][wildcards.vocabulary]


def architecture(wildcards):
    return config["bases"][wildcards.base]["pretrain"]


# Masked-LM and next-sentence pretraining from scratch; one job an independent run.
rule pretrain:
    input:
        corpus=lambda wildcards: config["corpora"][architecture(wildcards)["corpus"]],
        tokenizer=lambda wildcards: vocabulary_files(architecture(wildcards)["vocabulary"]),
    output:
        [f"{CHECKPOINT}/{name}" for name in MODEL_FILES],
        f"{CHECKPOINT}/pretraining.json",
        f"{CHECKPOINT}/steps.tsv",
    log:
        "logs/pretrain/{base}_init{init}.log",
    benchmark:
        "logs/pretrain/{base}_init{init}.cost.tsv"
    wildcard_constraints:
        base=only(PRETRAINED_HERE),
    threads: config["threads"]["train"]
    resources:
        gpu=1,
    params:
        code=code("pretrain"),
        settings=lambda wildcards: settings.canonical(
            {key: value for key, value in architecture(wildcards).items() if key != "runs"}
        ),
        directory=CHECKPOINT,
    script:
        "../scripts/pretrain.py"


def checkpoint_source(wildcards):
    sources = config["bases"][wildcards.base]["checkpoints"]
    if not 1 <= int(wildcards.init) <= len(sources):
        raise WorkflowError(
            f"bases.{wildcards.base}.checkpoints lists {len(sources)} run(s); there is no init{wildcards.init}."
        )
    return sources[int(wildcards.init) - 1]


rule checkpoint:
    output:
        [f"{CHECKPOINT}/{name}" for name in MODEL_FILES],
    log:
        "logs/checkpoint/{base}_init{init}.log",
    wildcard_constraints:
        base=only(PRETRAINED_ELSEWHERE),
    params:
        code=code("checkpoint"),
        source=lambda wildcards: settings.canonical(checkpoint_source(wildcards)),
        shape=lambda wildcards: settings.canonical(
            {key: config["bases"][wildcards.base][key] for key in ["layers", "heads"]}
        ),
        cache=config["data"]["cache"],
        directory=CHECKPOINT,
    script:
        "../scripts/checkpoint.py"
