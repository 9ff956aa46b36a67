from bertshift.running.jobs import job

with job(snakemake) as settings:
    from pathlib import Path

    from bertshift.activations.source import dump
    from bertshift.files import read_jsonl

    runs = settings.pop("runs")
    directory = Path(snakemake.output[0])
    stimuli = {Path(file).stem: list(read_jsonl(file)) for file in snakemake.input.stimuli}
    for run, folder in runs.items():
        files = {directory / name / f"{run}.npz": rows for name, rows in stimuli.items()}
        dump(Path(folder), files, **settings)
