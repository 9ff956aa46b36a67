from pathlib import Path

from bertshift.running.jobs import job, settings_of

with job(snakemake, downloads=settings_of(snakemake)["source"] == "hub") as settings:
    from bertshift.data.prepare import prepare_from_hub, prepare_from_mirror

    name, spec, source = settings["name"], settings["spec"], settings["source"]
    directory = Path(snakemake.output[0]).parent
    if source == "hub":
        prepare_from_hub(name, spec, directory, Path(snakemake.resources.hub_cache))
    else:
        prepare_from_mirror(name, spec, Path(settings["mirror"]), directory, source)
