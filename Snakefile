# As `include: "workflow/Snakefile"`, which would forget that file's default target.
workflow.include("workflow/Snakefile", overwrite_default_target=True)
