from bertshift.requests import pretraining

made_by(
    pretraining.vocabulary,
    **named(pretraining.vocabulary_files("{vocabulary}")),
    kind="table",
    log="vocabulary/{vocabulary}",
)
# Pretraining from scratch, by the objective of the base's family; one job an independent run.
made_by(
    pretraining.pretrain,
    **named(f"{pretraining.CHECKPOINT}/{name}" for name in [*MODEL_FILES, "pretraining.json", "steps.tsv"]),
    kind="train",
    gpu=1,
    log="pretrain/{base}_init{init}",
    where={"base": only(pretraining.pretrained_here(config))},
)
made_by(
    pretraining.checkpoint,
    **named(f"{pretraining.CHECKPOINT}/{name}" for name in MODEL_FILES if name != SOURCE),
    # Kept when the rule runs again: it holds the commit of an entry without a revision.
    source=update(f"{pretraining.CHECKPOINT}/{SOURCE}"),
    kind=None,
    log="checkpoint/{base}_init{init}",
    where={"base": only(pretraining.pretrained_elsewhere(config))},
)
