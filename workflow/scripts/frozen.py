from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.examples import read_examples, read_sidecar
    from bertshift.probes.frozen import frozen, with_provenance
    from bertshift.rows.table import of_columns

    data = Path(snakemake.input.examples).parent
    sidecar = read_sidecar(data)
    rows = {split: read_examples(data, split) for split in ("train", "dev")}
    table, used = frozen(
        settings["task"], settings["starts"], rows, sidecar, settings["max_train"]
    )
    of_columns(with_provenance(table, settings, sidecar, used)).write(snakemake.output[0])
