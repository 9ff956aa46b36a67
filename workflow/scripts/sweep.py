from pathlib import Path

from bertshift.running.jobs import job

if __name__ == "__main__":  # not in the workers, which import this file
    with job(snakemake) as settings:
        from bertshift.data.examples import read_sidecar
        from bertshift.files import read_json
        from bertshift.rows.blocks import write_measures
        from bertshift.running.memory import free_bytes, how_many_fit
        from bertshift.training.sweeps import sweep, sweep_tables

        for run in settings["runs"].values():
            run["training"]["code"] = snakemake.params.training_code
        start = Path(snakemake.input.start[0]).parent
        data = Path(snakemake.input.examples).parent
        folder = Path(snakemake.output.scores).with_suffix("")
        resources = snakemake.resources
        runs_at_once = resources.runs_at_once
        if not runs_at_once:
            run_bytes = 1e6 * resources.run_mb
            runs_at_once = how_many_fit(free_bytes(), run_bytes, snakemake.threads)
        scores = sweep(settings["runs"], start, data, folder, runs_at_once)
        folders = {name: folder / name for name in scores} | settings["models"]
        for name, model_folder in settings["models"].items():
            scores[name] = read_json(f"{model_folder}/scores.json")
        labels = read_sidecar(data)["labels"]
        score_table, loss_table = sweep_tables(scores, folders, settings, labels)
        score_table.write(snakemake.output.scores)
        write_measures(snakemake.output.losses, loss_table)
