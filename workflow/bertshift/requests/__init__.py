"""From a name to a job: the runs, the inputs and the settings that a rule asks for.

Rules say which files they read, as paths; the functions here say of which runs, stimuli or data
sets. Each is of the configuration and the rule's wildcards. It raises UserError, which says what
to write instead, where a name cannot be served. Nothing here knows Snakemake.
"""
