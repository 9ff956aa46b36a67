from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json
    from bertshift.rows.blocks import write_with_blocks
    from bertshift.rows.gains import Scored, gain_table
    from bertshift.rows.provenance import describe_training
    from bertshift.rows.scored import read_scored

    data = describe_training(snakemake.input.trainings)
    sidecar = read_json(snakemake.input.sidecar)
    files = zip(snakemake.input.scores, snakemake.input.predictions, strict=True)
    runs = [Scored(*read_scored(one, other, sidecar["labels"])) for one, other in files]
    pairs = list(zip(runs[::2], runs[1::2]))
    table = gain_table(pairs, settings, sidecar, data)
    write_with_blocks(snakemake.output[0], table, "delta")
