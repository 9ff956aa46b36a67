from pathlib import Path

from bertshift.running.jobs import job

with job(snakemake) as settings:
    from bertshift.data.documents import read_documents
    from bertshift.models.source import pretrained_source, write_source
    from bertshift.training.pretraining import Lengths, pretrain
    from bertshift.training.settings import TrainSettings

    how = settings["how"]
    architecture = {
        "num_hidden_layers": how["layers"],
        "num_attention_heads": how["heads"],
        "hidden_size": how["width"],
        "intermediate_size": how["feedforward"],
        "max_position_embeddings": 512,
        "hidden_dropout_prob": how["dropout"],
        "attention_probs_dropout_prob": how["dropout"],
    }
    training = TrainSettings(
        **{key: how[key] for key in ("learning_rate", "batch_size", "epochs", "beta2")},
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
        Lengths(**how["lengths"]),
        how["family"],
        how["masked"],
    )
    write_source(folder, pretrained_source(how | {"seed": settings["seed"]}))
