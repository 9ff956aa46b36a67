from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.edges.prepare import prepare_edges

    folder = Path(snakemake.output[0]).parent
    prepare_edges(
        settings["name"], settings["spec"], Path(settings["root"]), folder, settings["origin"]
    )
