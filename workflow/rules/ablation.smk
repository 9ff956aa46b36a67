from bertshift.requests import ablation

# Every head and every layer of a fine-tuned model disabled, all replicates in one job.
made_by(
    ablation.ablation,
    table="results/ablation/{model}.tsv",
    blocks=blocks_beside("results/ablation/{model}.tsv"),
    examples="results/ablation/{model}.npz",
    gpu=1,
)
# Every layer of a fine-tuned model with its parent's weights, one at a time, all replicates in one job.
made_by(ablation.restored, *with_blocks("results/restored/{model}.tsv"), gpu=1)
