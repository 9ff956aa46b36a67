from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json, read_tsv, write_tsv
    from bertshift.rows.losses import loss_table
    from bertshift.rows.tables import describe_training
    from bertshift.version import stamped

    data = describe_training(snakemake.input.trainings)
    steps = [read_tsv(file) for file in snakemake.input.steps]
    outcomes = [read_json(file) for file in snakemake.input.scores]
    write_tsv(snakemake.output[0], stamped(loss_table(steps, outcomes, settings, data)))
