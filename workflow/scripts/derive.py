from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.models.loading import load_encoder, save_model
    from bertshift.models.source import carry_source
    from bertshift.models.tokenizer import load_tokenizer
    from bertshift.models.variants import apply_variants
    from bertshift.naming import parse_variant
    from bertshift.seeds import seed_from

    start = Path(snakemake.input.start[0]).parent
    model = load_encoder(start)
    seed = seed_from("derive", snakemake.wildcards.model, snakemake.wildcards.init)
    apply_variants(model, map(parse_variant, settings["variants"]), seed)
    folder = Path(snakemake.output[0]).parent
    save_model(folder, model, load_tokenizer(start))
    carry_source(start, folder)
