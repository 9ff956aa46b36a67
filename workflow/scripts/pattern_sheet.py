import sys

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    import pandas as pd

    from bertshift.files import read_json, read_jsonl, write_tsv
    from bertshift.models.source import origins
    from bertshift.patterns import sheet
    from bertshift.patterns.maps import MAPS, TABLE, write_maps
    from bertshift.version import stamped

    directory = Path(snakemake.output[0])
    models = settings["models"]
    stimuli = {Path(file).stem: list(read_jsonl(file)) for file in snakemake.input.stimuli}
    rows = {name: stimuli[model["task"]] for name, model in models.items()}
    chosen = sheet.choose(models, rows, settings["maps"])
    print(f"patterns: {len(chosen)} maps of {len(models)} models to be labelled", file=sys.stderr)
    table, maps, special = sheet.measure(chosen, rows, settings["max_length"])
    write_maps(directory / MAPS, maps, special)
    origins_of_models = {name: origins(model["checkpoints"]) for name, model in models.items()}
    checkpoints = pd.DataFrame(
        [origins_of_models[row.model][str(row.init)] for row in table.itertuples()]
    )
    data = {Path(file).stem: read_json(file)["data"] for file in snakemake.input.descriptions}
    table = table.assign(scale=settings["scale"], **checkpoints, data=table["task"].map(data))
    write_tsv(directory / TABLE, stamped(table))
