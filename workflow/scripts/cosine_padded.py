from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.examples import sample
    from bertshift.files import read_jsonl
    from bertshift.metrics import cosine_padded
    from bertshift.metrics.pairs import comparisons
    from bertshift.rows.provenance import compared

    stimuli = {
        name: sample(list(read_jsonl(file)), settings["inputs"], name, "padded")
        for name, file in zip(settings["stimuli"], snakemake.input.stimuli, strict=True)
    }
    folders = settings["folders"]
    pairs = [
        (folders["model"][run], folders["reference"][ref_run], keys)
        for run, ref_run, keys in comparisons("cosine", settings)
    ]
    table = cosine_padded.compare_saved(pairs, stimuli, settings["pad_to"])
    rows = compared(table.rows, settings, snakemake.input, settings["inputs"])
    table.keep(rows).write(snakemake.output[0])
