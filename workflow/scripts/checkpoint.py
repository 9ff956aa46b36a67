from pathlib import Path

from bertshift.running.jobs import job, settings_of

with job(snakemake, downloads="hub" in settings_of(snakemake)["source"]) as settings:
    from bertshift.models.loading import check_shape, download_checkpoint, import_checkpoint

    source = settings["source"]
    directory = Path(snakemake.output[0]).parent
    lowercase = source.get("lowercase")
    if "hub" in source:
        cache = Path(snakemake.resources.hub_cache)
        download_checkpoint(source["hub"], source.get("revision"), directory, cache, lowercase)
    else:
        import_checkpoint(Path(source["path"]).expanduser(), directory, lowercase=lowercase)
    check_shape(directory, **settings["shape"])
