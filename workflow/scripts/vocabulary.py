from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.documents import read_documents
    from bertshift.training.vocabulary import train_byte_bpe, train_wordpiece

    documents = read_documents(Path(snakemake.input.corpus))
    sentences = (sentence for document in documents for sentence in document)
    how, folder = settings["how"], Path(snakemake.output[0]).parent
    cut = sentences, how["size"], how["lowercase"]
    if how["kind"] == "wordpiece":
        train_wordpiece(*cut, folder)
    else:
        train_byte_bpe(*cut, how.get("special", "roberta"), folder)
