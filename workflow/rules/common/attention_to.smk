def annotators():
    """The runs that say what the words of a stimulus are: the first replicates of a tagger and of a parser."""
    return [runs_of(parse_model(config["annotators"][kind]))[0] for kind in ["tags", "trees"]]


def annotation_files(wildcards, ending):
    names = comparison_stimuli("attention_to", wildcards)
    return [f"results/annotations/{name}.{ending}" for name in names]


def attention_to_settings(wildcards):
    """As of any comparison of weights; its table has rows of the reference by itself."""
    _, reference = parse_comparison(wildcards)
    checkpoints = checkpoints_of(run for run in compared_runs(wildcards) if run.model == reference)
    return comparison_settings(
        "attention_to", folders=folders_compared(wildcards), reference_checkpoints=checkpoints
    )(wildcards)
