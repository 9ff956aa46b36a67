from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.files import read_jsonl, write_tsv
    from bertshift.metrics.forgetting import forgetting
    from bertshift.rows.tables import forgetting_table
    from bertshift.version import stamped

    corpus = snakemake.input.get("corpus")
    table = forgetting(
        settings["runs"],
        list(read_jsonl(snakemake.input.stimuli)),
        settings["max_length"],
        settings["stimuli"],
        Path(corpus) if corpus else None,
    )
    table = forgetting_table(table, settings, snakemake.input)
    write_tsv(snakemake.output[0], stamped(table))
