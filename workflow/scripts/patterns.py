from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.data.examples import sample
    from bertshift.files import read_jsonl, read_tsv
    from bertshift.patterns.shares import measure
    from bertshift.rows.blocks import write_measures
    from bertshift.rows.provenance import probe_table

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
    share_rows = probe_table(shares.rows, settings, snakemake.input)
    map_rows = probe_table(maps, settings, snakemake.input)
    if len(rows) < len(drawn):
        for table in (share_rows, map_rows):
            table["data"] = f"{len(rows)} inputs of " + table["data"]
    shares.keep(share_rows).write(snakemake.output.shares)
    write_measures(snakemake.output.maps, map_rows)
