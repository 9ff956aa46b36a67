def own_or_inherited_settings(wildcards):
    return comparison_settings("own_or_inherited", folders=folders_compared(wildcards))(wildcards)


def padded_settings(wildcards):
    samples = config["samples"]
    return comparison_settings(
        "cosine",
        folders=folders_compared(wildcards),
        inputs=samples["padded"],
        pad_to=samples["padded_length"],
    )(wildcards)
