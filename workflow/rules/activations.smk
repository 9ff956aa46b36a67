from bertshift.requests import activations

# All replicates of a model in one job, so that a job is worth its start.
made_by(
    activations.activations,
    directory(activations.DUMP) if config["keep_activations"] else temp(directory(activations.DUMP)),
    dumped="disk",
    gpu=1,
    log="activations/{kind}_{model}_{stimuli}",
    where={"kind": only(activations.WRITTEN)},
)
# A few short inputs through one replicate and the model that it was fine-tuned from: too little for a GPU.
made_by(activations.examples, activations.EXAMPLES)
