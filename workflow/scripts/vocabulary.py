from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.documents import read_documents
    from bertshift.training.vocabulary import train_byte_bpe, train_wordpiece

    documents = read_documents(Path(snakemake.input.corpus))
    sentences = (sentence for document in documents for sentence in document)
    spec = settings["how"]
    folder = Path(snakemake.output[0]).parent
    size, lowercase = spec["size"], spec["lowercase"]
    if spec["kind"] == "wordpiece":
        train_wordpiece(sentences, size, lowercase, folder)
    else:
        special = spec.get("special", "roberta")
        train_byte_bpe(sentences, size, lowercase, special, folder)
