import json

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import read_tsv, write_tsv
    from bertshift.losses import loss_table
    from bertshift.tables import describe_training

    provenance = json.loads(snakemake.params.provenance)
    data = describe_training(snakemake.input.trainings)
    steps = [read_tsv(file) for file in snakemake.input.steps]
    write_tsv(snakemake.output[0], loss_table(steps, provenance, data))
