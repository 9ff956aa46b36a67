from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.edits import Edit
    from bertshift.models.loading import load_encoder, save_model
    from bertshift.models.noise import add_noise
    from bertshift.models.plant import plant
    from bertshift.models.source import carry_source
    from bertshift.models.tokenizer import load_tokenizer

    start = Path(snakemake.input.start[0]).parent
    model, tokenizer = load_encoder(start), load_tokenizer(start)
    if snakemake.input.changed:
        add_noise(model, load_encoder(Path(snakemake.input.changed[0]).parent), settings["seed"])
    plant(model, Edit.of(settings["edit"]), settings["seed"], tokenizer)
    folder = Path(snakemake.output[0]).parent
    save_model(folder, model, tokenizer)
    carry_source(start, folder)
