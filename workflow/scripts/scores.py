from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_json
    from bertshift.rows.provenance import score_table
    from bertshift.rows.scored import read_scored, with_blocks

    labels = read_json(snakemake.input.sidecar)["labels"]
    scores, predictions = [], []
    for scores_file, predictions_file in zip(
        snakemake.input.scores, snakemake.input.predictions, strict=True
    ):
        run_scores, run_predictions = read_scored(
            Path(scores_file), Path(predictions_file), labels
        )
        scores.append(run_scores)
        predictions.append(run_predictions)
    table = with_blocks(score_table(scores, settings), scores, predictions, labels)
    table.write(snakemake.output[0])
