from pathlib import Path

from bertshift.running.jobs import job

if __name__ == "__main__":  # not in the workers, which import this file
    with job(snakemake) as settings:
        from bertshift.data.examples import read_sidecar
        from bertshift.files import read_json
        from bertshift.rows.blocks import write_measures, write_with_blocks
        from bertshift.running.memory import free_bytes, how_many_fit
        from bertshift.training.sweeps import sweep, sweep_tables

        for run in settings["runs"].values():
            run["training"]["code"] = snakemake.params.training_code
        start, data = Path(snakemake.input.start[0]).parent, Path(snakemake.input.examples).parent
        folder = Path(snakemake.output.scores).with_suffix("")
        resources = snakemake.resources
        at_once = resources.runs_at_once or how_many_fit(
            free_bytes(), 1e6 * resources.run_mb, snakemake.threads
        )
        scores = sweep(settings["runs"], start, data, folder, at_once)
        folders = {name: folder / name for name in scores} | settings["models"]
        scores |= {
            name: read_json(f"{place}/scores.json") for name, place in settings["models"].items()
        }
        tables = sweep_tables(scores, folders, settings, read_sidecar(data)["labels"])
        write_with_blocks(snakemake.output.scores, tables[0])
        write_measures(snakemake.output.losses, tables[1])
