from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.documents import read_documents
    from bertshift.models.source import pretrained_source, write_source
    from bertshift.training.pretraining import Lengths, pretrain
    from bertshift.training.settings import TrainSettings

    spec = settings["how"]
    architecture = {
        "num_hidden_layers": spec["layers"],
        "num_attention_heads": spec["heads"],
        "hidden_size": spec["width"],
        "intermediate_size": spec["feedforward"],
        "max_position_embeddings": 512,
        "hidden_dropout_prob": spec["dropout"],
        "attention_probs_dropout_prob": spec["dropout"],
    }
    training = TrainSettings(
        **{key: spec[key] for key in ("learning_rate", "batch_size", "epochs", "beta2")},
        code=snakemake.params.code,
    )
    folder = Path(snakemake.output[0]).parent
    pretrain(
        read_documents(Path(snakemake.input.corpus)),
        Path(snakemake.input.tokenizer[0]).parent,
        architecture,
        training,
        settings["seed"],
        folder,
        Lengths(**spec["lengths"]),
        spec["family"],
        spec["masked"],
    )
    write_source(folder, pretrained_source(spec | {"seed": settings["seed"]}))
