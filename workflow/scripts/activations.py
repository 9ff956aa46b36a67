import json
import sys

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.activations.extract import extract
    from bertshift.files import read_jsonl
    from bertshift.models.loading import load_encoder, load_tokenizer
    from bertshift.tasks.inference import best_device

    settings = json.loads(snakemake.params.settings)
    rows = list(read_jsonl(snakemake.input.stimuli))
    for name, folder in settings["runs"].items():
        print(f"activations: {folder}, {len(rows)} inputs", file=sys.stderr)
        model = load_encoder(Path(folder), attention="eager").to(best_device())
        out = Path(snakemake.output[0]) / f"{name}.npz"
        extract(model, load_tokenizer(Path(folder)), rows, out, settings["max_length"], settings["attention"])
