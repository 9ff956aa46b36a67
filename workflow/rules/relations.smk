from bertshift.requests import relations

# Sentences with a predicate and its arguments marked: as annotation, and as inputs that show none of it.
made_by(
    relations.relations,
    rows="results/relations/relations.jsonl",
    sidecar="results/relations/relations.json",
    stimuli="results/stimuli/relations.jsonl",
    description="results/stimuli/relations.json",
    kind="table",
    log="relations",
)
made_by(relations.relation_heads, *with_blocks("results/relation_heads/{model}.tsv"))
