from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.ablation.restoration import restore
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.files import read_jsonl
    from bertshift.rows.provenance import restored_table

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
    rows = restored_table(table.rows, settings, snakemake.input)
    table.keep(rows).write(snakemake.output[0])
