from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.probes.frozen import frozen, with_provenance

    data = Path(snakemake.input.examples).parent
    sidecar = read_sidecar(data)
    rows = {split: read_examples(data, split) for split in ("train", "dev")}
    table, used = frozen(
        settings["task"], settings["starts"], rows, sidecar, settings["max_train"]
    )
    rows = with_provenance(table.rows, settings, sidecar, used)
    table.keep(rows).write(snakemake.output[0])
