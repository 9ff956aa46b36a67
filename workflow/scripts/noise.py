from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.models.loading import load_encoder, save_model
    from bertshift.models.noise import add_noise
    from bertshift.models.source import carry_source
    from bertshift.models.tokenizer import load_tokenizer

    start = Path(snakemake.input.start[0]).parent
    changed = Path(snakemake.input.changed[0]).parent
    model = load_encoder(start)
    add_noise(model, load_encoder(changed), settings["seed"])
    folder = Path(snakemake.output[0]).parent
    save_model(folder, model, load_tokenizer(start))
    carry_source(start, folder)
