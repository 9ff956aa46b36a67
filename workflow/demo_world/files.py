"""Every file of a world, as the workflow announces them before they are written. Importing this
imports no word of the world."""

GLUE = ("CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI", "QNLI", "RTE", "WNLI")
EDGES = (
    "pos",
    "constituents",
    "dependencies",
    "entities",
    "srl",
    "coref",
    "spr",
    "relations",
)
SPLITS = ("train", "dev", "test")
FILES = (
    "README.txt",
    "corpus/documents.txt",
    "wiki_raw/enwiki_sample.txt",
    "heads/relations.jsonl",
    *(
        f"glue/{task}/{name}.tsv"
        for task in GLUE
        for name in ("train", "dev_matched" if task == "MNLI" else "dev")
    ),
    *(
        f"squad/{split}-{version}.json"
        for split in ("train", "dev")
        for version in ("v1.1", "v2.0")
    ),
    *(f"UD_English-EWT/en_ewt-ud-{split}.conllu" for split in SPLITS),
    *(f"edges/{task}/{split}.jsonl" for task in EDGES for split in SPLITS),
)
