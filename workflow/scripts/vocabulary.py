from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.training.pretraining import read_documents
    from bertshift.training.vocabulary import train_byte_bpe, train_wordpiece

    documents = read_documents(Path(snakemake.input.corpus))
    sentences = (sentence for document in documents for sentence in document)
    how, folder = (sentences, settings["size"], settings["lowercase"]), Path(snakemake.output[0]).parent
    if settings["kind"] == "wordpiece":
        train_wordpiece(*how, folder)
    else:
        train_byte_bpe(*how, settings.get("special", "roberta"), folder)
