import json
from functools import partial

from bertshift.jobs import job

with job(snakemake):
    from bertshift.files import read_json, read_jsonl, write_tsv
    from bertshift.metrics import attention_to
    from bertshift.tables import metric_table, model_folders

    settings = json.loads(snakemake.params.settings)
    annotations = {
        name: (list(read_jsonl(rows)), read_json(record)["annotators"])
        for name, rows, record in zip(
            settings["stimuli"], snakemake.input.annotations, snakemake.input.annotators, strict=True
        )
    }
    folders = model_folders(settings, snakemake.input)
    compare = partial(attention_to.compare, annotations=annotations, folders=folders)
    write_tsv(snakemake.output[0], metric_table("attention_to", compare, settings, snakemake.input))
