import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.training.pretraining import read_documents
    from bertshift.training.vocabulary import train_wordpiece

    settings = json.loads(snakemake.params.settings)
    documents = read_documents(Path(snakemake.input.corpus))
    sentences = (sentence for document in documents for sentence in document)
    train_wordpiece(sentences, settings["size"], settings["lowercase"], Path(snakemake.output[0]).parent)
