from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json, read_tsv
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.losses import loss_table
    from bertshift.rows.provenance import describe_training

    data = describe_training(snakemake.input.trainings)
    steps = [read_tsv(file) for file in snakemake.input.steps]
    outcomes = [read_json(file) for file in snakemake.input.scores]
    write_measures(snakemake.output[0], loss_table(steps, outcomes, settings, data))
