from bertshift.requests import Request, finetuning, pretraining

LEFT_BY_TRAINING = [*MODEL_FILES, "scores.json", "predictions.tsv", "steps.tsv", "layers.tsv"]
SHARES = sorted(config["snapshots"])

# One job a run, so that a new seed costs one job and a kill costs one run.
made_by(
    finetuning.finetune,
    *[f"results/models/{{model}}/init{{init}}_seed{{seed}}/{name}" for name in LEFT_BY_TRAINING],
    kind="train",
    gpu=1,
    log="finetune/{model}_init{init}_seed{seed}",
    # What `snapshots` and `noise` make, they make alone.
    where={"model": rf"(?![^/]+\.(?:at(?:{only(map(str, SHARES))})|noise\d*)(?:@[^/]+)?/)[^/]+"},
)
# The same run after shares of its steps: all shares in one job, which stops after the largest. It makes no finished model
# again, and no finished model has to wait for it.
made_by(
    finetuning.snapshots,
    *[
        temp(file) if name.endswith(".safetensors") and not config["keep_snapshots"] else file
        for share in SHARES
        for name in LEFT_BY_TRAINING
        for file in [f"results/models/{{stem}}.at{share}{{checkpoint}}/init{{init}}_seed{{seed}}/{name}"]
    ],
    kind="train",
    dumped="disk",
    gpu=1,
    log="snapshots/{stem}{checkpoint}_init{init}_seed{seed}",
    where={"stem": r"[^/@]+", "checkpoint": r"(?:@[^/]+)?"},
)
# A checkpoint that is not fine-tuned but changed: `base.random`, `base.keep2`.
made_by(
    pretraining.derive,
    *[f"results/models/{{model}}/init{{init}}/{name}" for name in MODEL_FILES],
    kind="table",
    log="derive/{model}_init{init}",
)
# The parent of a run with noise as large as the run's change: `mnli.noise`.
made_by(
    pretraining.noise,
    *[
        temp(file) if name.endswith(".safetensors") else file
        for name in MODEL_FILES
        for file in [f"results/models/{{model}}/init{{init}}_seed{{seed}}/{name}"]
    ],
    kind="table",
    log="noise/{model}_init{init}_seed{seed}",
    where={"model": r"[^/@]+\.noise\d*(?:@[^/]+)?"},
)
# What the task gets from the encoder before: under random heads, and under linear probes.
made_by(finetuning.frozen, *with_blocks("results/frozen/{model}.tsv"), gpu=1)
# Step sizes by layer, relative to the weights that fine-tuning began with.
made_by(finetuning.steps, "results/steps/{model}.tsv", kind="table")
made_by(finetuning.scores, *with_blocks("results/scores/{model}.tsv"), kind="table")
# Two models of one task, tested against each other on its examples: all replicates in one job.
made_by(finetuning.gains, *with_blocks("results/gains/{model}_vs_{reference}.tsv"), kind="table")
made_by(finetuning.losses, "results/losses/{model}.tsv", kind="table")

made_by(
    lambda config: Request({"tables": [f"results/scores/{model}.tsv" for model in config["scored"]]}),
    "results/scores.tsv",
    name="all_scores",
    program="concatenate",
    depends={"code": code("concatenate")},
    kind="table",
    log="all_scores",
)
