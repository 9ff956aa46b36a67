from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json, read_tsv
    from bertshift.rows.blocks import write_with_blocks
    from bertshift.rows.scored import with_blocks
    from bertshift.rows.tables import score_table

    scores = [read_json(Path(file)) for file in snakemake.input.scores]
    predictions = map(read_tsv, snakemake.input.predictions)
    labels = read_json(snakemake.input.sidecar)["labels"]
    table = with_blocks(score_table(scores, settings), scores, predictions, labels)
    write_with_blocks(snakemake.output[0], table)
