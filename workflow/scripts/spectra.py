from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.metrics.spectra import compare
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import spectra_table

    pairs = [(Path(run), Path(reference), keys) for run, reference, keys in settings["folders"]]
    table = spectra_table(compare(pairs), settings, snakemake.input)
    write_measures(snakemake.output[0], table)
