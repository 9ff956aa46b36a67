from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.ablation.restoration import restore
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import read_jsonl
    from bertshift.rows.provenance import restored_table
    from bertshift.rows.table import of_columns

    data = Path(snakemake.input.examples).parent
    table = restore(
        settings["task"],
        settings["runs"],
        read_examples(data, "dev"),
        read_sidecar(data),
        list(read_jsonl(snakemake.input.stimuli)),
        settings["tokens"],
        settings["max_length"],
        settings["max_dev"],
    )
    of_columns(restored_table(table, settings, snakemake.input)).write(snakemake.output[0])
