from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_jsonl
    from bertshift.metrics.forgetting import forgetting
    from bertshift.rows.blocks import write_with_blocks
    from bertshift.rows.provenance import forgetting_table

    corpus = snakemake.input.get("corpus")
    table = forgetting(
        settings["runs"],
        list(read_jsonl(snakemake.input.stimuli)),
        settings["max_length"],
        settings["stimuli"],
        Path(corpus) if corpus else None,
    )
    write_with_blocks(snakemake.output[0], forgetting_table(table, settings, snakemake.input))
