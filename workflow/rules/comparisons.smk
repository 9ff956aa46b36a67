from functools import partial

from bertshift.measures.registry import OF_DUMPS
from bertshift.requests import comparing, forgetting, grounding

# A metric of two models, for every pair of their replicates: one job a pair of models.
for metric, how in OF_DUMPS.items():
    request = partial(comparing.compare, metric=metric)
    made_by(
        request,
        *with_blocks(f"results/{metric}/{{model}}_vs_{{reference}}.tsv"),
        name=metric,
        program="compare",
        depends={
            "code": code("compare", module=f"metrics/{how.module}", records=[metric]),
            "settings": settings_of(request),
        },
    )


# From weights alone, one matrix at a time.
made_by(comparing.spectra, "results/spectra/{model}_vs_{reference}.tsv")
# Both models side by side on inputs padded to one length: maps of these are too many to be stored.
made_by(
    comparing.cosine_padded,
    *with_blocks("results/cosine_padded/{model}_vs_{reference}.tsv"),
    gpu=1,
)
# Every two runs of a task, in distance and in behaviour. It extracts the activations of one pretraining run's runs itself
# and deletes them: those of all models of a task would fill a disk.
made_by(grounding.grounding, "results/grounding/{model}.tsv", dumped="scratch", gpu=1)
# The checkpoint's own head on a fine-tuned encoder, all replicates in one job; neither states nor logits are stored.
made_by(forgetting.forgetting, *with_blocks("results/forgetting/{model}.tsv"), gpu=1)
# Who the words of a stimulus are: tags and trees by the annotators' first replicates, one job for both.
made_by(
    comparing.annotations,
    rows="results/annotations/{stimulus}.jsonl",
    record="results/annotations/{stimulus}.json",
    gpu=1,
)
