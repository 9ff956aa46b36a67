from bertshift.requests import probing

# A file that a publisher offers. No digest of code: what an address with a commit holds depends on none.
made_by(
    probing.corpus,
    f"{probing.CORPORA}/{{path}}",
    depends={"settings": settings_of(probing.corpus)},
    kind=None,
    log="corpus/{path}",
    where={"path": only(probing.downloads(config))},
)
made_by(
    probing.trees,
    rows="results/stimuli/trees.jsonl",
    description="results/stimuli/trees.json",
    kind=None,
    log="stimuli/trees",
)
# A corpus as records of edge probing, whatever its publisher's layout.
made_by(probing.edges, *probing.edge_files("{task}"), kind="table", log="edges/{task}")
# Every sentence of every task once, so that all probes of a model share one forward pass.
made_by(
    probing.edge_sentences,
    rows="results/stimuli/edges.jsonl",
    description="results/stimuli/edges.json",
    kind="table",
    log="stimuli/edges",
)
# Probes extract a replicate's states themselves, read them and delete them: those of all replicates would fill a disk
# for as long as probes train. What they have finished when they are stopped is kept beside their table.
made_by(
    probing.edge_probes,
    table="results/edge_probes/{model}.tsv",
    counts="results/edge_probes/{model}.npz",
    blocks=blocks_beside("results/edge_probes/{model}.tsv"),
    kind="probe",
    dumped="scratch",
    gpu=1,
)
made_by(probing.mdl, *with_blocks("results/mdl/{model}.tsv"), kind="probe", dumped="scratch", gpu=1)
made_by(
    probing.structural_probes,
    *with_blocks("results/structural_probes/{model}.tsv"),
    kind="probe",
    dumped="scratch",
    gpu=1,
)
made_by(
    probing.edge_probe_deltas, *with_blocks("results/edge_probes/{model}_vs_{reference}.tsv"), kind="table"
)
