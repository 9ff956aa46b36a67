from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json
    from bertshift.rows.blocks import write_with_blocks
    from bertshift.rows.provenance import score_table
    from bertshift.rows.scored import read_scored, with_blocks

    labels = read_json(snakemake.input.sidecar)["labels"]
    files = zip(snakemake.input.scores, snakemake.input.predictions, strict=True)
    scores, predictions = zip(
        *(read_scored(Path(one), Path(other), labels) for one, other in files)
    )
    table = with_blocks(score_table(scores, settings), scores, predictions, labels)
    write_with_blocks(snakemake.output[0], table)
