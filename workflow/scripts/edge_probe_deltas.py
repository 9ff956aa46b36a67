from bertshift.running.jobs import job

with job(snakemake) as settings:
    import numpy as np

    from bertshift.files import read_tsv
    from bertshift.probes.scores import deltas
    from bertshift.rows.provenance import ORIGIN

    table = deltas(
        settings["model"],
        settings["reference"],
        np.load(snakemake.input.model),
        np.load(snakemake.input.reference),
        {tuple(run): tuple(ref_run) for run, ref_run in settings["pairs"]},
    )
    run = ["init", "seed"]
    origin = read_tsv(snakemake.input.table)[[*run, *ORIGIN, "failed"]].drop_duplicates()
    table.keep(table.rows.join(origin.set_index(run), on=run)).write(snakemake.output[0])
