from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import write_tsv
    from bertshift.metrics.spectra import compare
    from bertshift.rows.tables import spectra_table
    from bertshift.version import stamped

    pairs = [(Path(run), Path(reference), keys) for run, reference, keys in settings["folders"]]
    table = spectra_table(compare(pairs), settings, snakemake.input)
    write_tsv(snakemake.output[0], stamped(table))
