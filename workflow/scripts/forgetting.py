from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_jsonl
    from bertshift.metrics.forgetting import forgetting
    from bertshift.rows.provenance import forgetting_table

    corpus = snakemake.input.get("corpus")
    table = forgetting(
        settings["runs"],
        list(read_jsonl(snakemake.input.stimuli)),
        settings["max_length"],
        settings["stimuli"],
        Path(corpus) if corpus else None,
    )
    rows = forgetting_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output[0])
