import json
from pathlib import Path

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import read_json, write_tsv
    from bertshift.tables import score_table

    provenance = json.loads(snakemake.params.provenance)
    scores = [read_json(Path(file)) for file in snakemake.input.scores]
    write_tsv(snakemake.output[0], score_table(scores, provenance))
