from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json
    from bertshift.rows.gains import Scored, gain_table
    from bertshift.rows.provenance import describe_training
    from bertshift.rows.scored import read_scored

    data = describe_training(snakemake.input.trainings)
    sidecar = read_json(snakemake.input.sidecar)
    runs = []
    for scores, predictions in zip(
        snakemake.input.scores, snakemake.input.predictions, strict=True
    ):
        runs.append(Scored(*read_scored(scores, predictions, sidecar["labels"])))
    # Runs of the model and of the reference alternate.
    pairs = list(zip(runs[::2], runs[1::2]))
    gain_table(pairs, settings, sidecar, data).write(snakemake.output[0], "delta")
