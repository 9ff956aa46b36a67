import json
import sys
from functools import partial

from bertshift.jobs import job

with job(snakemake):
    from pathlib import Path

    from bertshift.activations.extract import extract
    from bertshift.activations.sampling import sampled
    from bertshift.files import read_jsonl
    from bertshift.models.loading import load_encoder, load_tokenizer
    from bertshift.tasks.inference import best_device

    settings = json.loads(snakemake.params.settings)
    stimuli = {Path(file).stem: list(read_jsonl(file)) for file in snakemake.input.stimuli}
    for run, folder in settings["runs"].items():
        model = load_encoder(Path(folder), attention="eager").to(best_device())
        tokenizer = load_tokenizer(Path(folder))
        for name, rows in stimuli.items():
            print(f"activations: {folder}, {name}: {len(rows)} inputs", file=sys.stderr)
            out = Path(snakemake.output[0]) / name / f"{run}.npz"
            tokens = partial(sampled, stimuli=name, **settings["sample"]) if settings["sample"] else None
            extract(
                model,
                tokenizer,
                rows,
                out,
                settings["max_length"],
                settings["attention"],
                dtype=settings["precision"],
                tokens=tokens,
            )
