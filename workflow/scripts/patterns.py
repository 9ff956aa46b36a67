from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.data.examples import sample
    from bertshift.files import read_jsonl, read_tsv, write_tsv
    from bertshift.patterns.shares import measure
    from bertshift.rows.tables import probe_table
    from bertshift.version import stamped

    drawn = list(read_jsonl(snakemake.input.stimuli))
    rows = sample(drawn, settings["max_examples"], settings["task"], "dev")
    shares, maps = measure(
        settings["model"],
        settings["task"],
        settings["runs"],
        rows,
        settings["max_length"],
        Path(snakemake.input.classifier),
        read_tsv(snakemake.input.predictions),
    )
    for path, table in ((snakemake.output.shares, shares), (snakemake.output.maps, maps)):
        table = probe_table(table, settings, snakemake.input)
        if len(rows) < len(drawn):
            table["data"] = f"{len(rows)} inputs of " + table["data"]
        write_tsv(path, stamped(table))
