from snakemake.utils import min_version

min_version("9.27")
# As `include: "workflow/Snakefile"`, which would forget that file's default target.
workflow.include("workflow/Snakefile", overwrite_default_target=True)
