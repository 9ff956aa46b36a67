from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json, write_tsv
    from bertshift.rows.tables import score_table

    scores = [read_json(Path(file)) for file in snakemake.input.scores]
    write_tsv(snakemake.output[0], score_table(scores, settings))
