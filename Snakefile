from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/pretrain.smk"
include: "workflow/rules/finetune.smk"
include: "workflow/rules/sweeps.smk"
include: "workflow/rules/activations.smk"
include: "workflow/rules/comparisons.smk"
include: "workflow/rules/probing.smk"
include: "workflow/rules/ablation.smk"
include: "workflow/rules/relations.smk"
include: "workflow/rules/patterns.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/plan.smk"


# A rule's name, not a file: every figure is checked again each time it is asked for.
# It stands here because Snakemake forgets a default target that an included file sets.
rule:
    name:
        "figures/all"
    default_target: True
    input:
        figures.drawn(figures.figures_of(ROOMS, config), "png"),
        "results/figures/index.html",
