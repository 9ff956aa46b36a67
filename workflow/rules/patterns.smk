from bertshift.requests import patterns

# Maps for a person to look at, with a proposed class each: of the fine-tuned models of Kovaleva et al. 2019, Figure 2.
made_by(patterns.pattern_sheet, directory("results/patterns/sheet"), log="patterns/sheet", gpu=1)
made_by(
    patterns.pattern_classifier,
    classifier="results/patterns/classifier/classifier.safetensors",
    predictions="results/patterns/classifier/predictions.tsv",
    scores="results/patterns/classifier/scores.tsv",
    confusion="results/patterns/classifier/confusion.tsv",
    log="patterns/classifier",
    gpu=1,
)
# All replicates of a model; beside the shares, the few maps that Figures 1 and 10 draw.
made_by(
    patterns.patterns,
    shares="results/patterns/{model}.tsv",
    blocks=blocks_beside("results/patterns/{model}.tsv"),
    maps="results/patterns/maps/{model}.tsv",
    gpu=1,
)
