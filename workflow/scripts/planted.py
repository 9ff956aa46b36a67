from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.examples import sample
    from bertshift.files import read_jsonl
    from bertshift.metrics.planted import compare
    from bertshift.rows.provenance import planted_table
    from bertshift.running.parts import PartCache

    inputs = snakemake.input
    cache = PartCache.beside(snakemake.output.table, snakemake.params.code)
    texts = list(read_jsonl(inputs.stimuli))
    table = compare(
        settings["starts"],
        sample(texts, settings["inputs"], settings["stimuli"], "planted"),
        settings["planted"],
        settings["max_length"],
        cache,
    )
    table.keep(planted_table(table.rows, settings, inputs)).write(snakemake.output.table)
    cache.remove()
