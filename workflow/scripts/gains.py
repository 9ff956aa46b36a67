from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json, read_tsv
    from bertshift.rows.blocks import write_with_blocks
    from bertshift.rows.gains import Scored, gain_table
    from bertshift.rows.tables import describe_training

    data = describe_training(snakemake.input.trainings)
    runs = [
        Scored(read_json(scores), read_tsv(predictions))
        for scores, predictions in zip(snakemake.input.scores, snakemake.input.predictions, strict=True)
    ]
    pairs = list(zip(runs[::2], runs[1::2]))
    table = gain_table(pairs, settings, read_json(snakemake.input.sidecar), data)
    write_with_blocks(snakemake.output[0], table, "delta")
