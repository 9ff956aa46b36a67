from bertshift.running.jobs import job

with job(snakemake) as settings:
    import numpy as np

    from bertshift.files import read_tsv
    from bertshift.probes.scores import deltas
    from bertshift.rows.provenance import ORIGIN
    from bertshift.rows.table import of_columns

    table = deltas(
        settings["model"],
        settings["reference"],
        np.load(snakemake.input.model),
        np.load(snakemake.input.reference),
        {tuple(run): tuple(ref_run) for run, ref_run in settings["pairs"]},
    )
    origin = read_tsv(snakemake.input.table)[["init", "seed", *ORIGIN, "failed"]].drop_duplicates()
    of_columns(table.merge(origin, on=["init", "seed"], how="left")).write(snakemake.output[0])
