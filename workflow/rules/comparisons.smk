from functools import partial

from bertshift.measures import MEASURES, OF_DUMPS
from bertshift.requests import comparing, data, edits, finetuning, forgetting, grounding
from bertshift.requests.activations import recipe

# Compute a metric of two models, for every pair of their replicates. One job does one pair of models.
for metric, record in OF_DUMPS.items():
    stimuli = of_job(partial(comparing.stimuli, metric=metric))
    joined_stimuli = of_job(partial(comparing.joined_stimuli, metric=metric))

    rule:
        name:
            metric
        input:
            model=path(f"results/activations/{record.reads}/{{model}}/{{stimuli}}", stimuli=joined_stimuli),
            reference=path(
                f"results/activations/{record.reads}/{{reference}}/{{stimuli}}", stimuli=joined_stimuli
            ),
            descriptions=collect("results/stimuli/{stimulus}.json", stimulus=stimuli),
            scores=collect(
                "results/models/{run.model}/{run.name}/scores.json",
                run=of_job(trainings, both_sides, compared),
            ),
            outcomes=collect(
                "results/models/{run.model}/{run.name}/scores.json",
                run=of_job(outcomes, both_sides, compared),
            ),
            sources=collect("{run.folder}/source.json", run=of_job(both_sides, compared)),
            weights=(
                collect("{run.folder}/{file}", run=of_job(both_sides, compared), file=WEIGHTS)
                if record.weights
                else []
            ),
            annotations=(
                collect("results/annotations/{stimulus}.jsonl", stimulus=stimuli)
                if record.annotations
                else []
            ),
            annotators=(
                collect("results/annotations/{stimulus}.json", stimulus=stimuli)
                if record.annotations
                else []
            ),
        output:
            table=f"results/{metric}/{{model}}_vs_{{reference}}.tsv",
            blocks=f"results/{metric}/{{model}}_vs_{{reference}}.blocks.npy",
        log:
            f"logs/{metric}/{{model}}_vs_{{reference}}.log",
        priority: 5
        group:
            "{model}_vs_{reference}"
        conda:
            "../../envs/compute.yaml"
        threads: config["threads"]["analyse"]
        resources:
            in_group=4,
            mem_mb=memory("analyse"),
            runtime=minutes("analyse"),
        params:
            **settings_of(
                model="{model}",
                reference="{reference}",
                pairs=of_job(comparing.names_and_numbers, compared),
                trained=of_job(trained, both_sides, compared),
                stimuli=stimuli,
                module=record.module,
                tokens=config["samples"][record.tokens] if record.tokens else None,
                dump=recipe(record.reads, config),
                folders=of_job(comparing.folders_by_side) if record.weights else None,
                # The table also has rows of the reference alone.
                reference_checkpoints=(
                    of_job(checkpoints, comparing.runs_of_reference) if record.annotations else None
                ),
                scale=config["scale"],
                checkpoints=of_job(checkpoints, models, compared),
            ),
            code=code("compare", module=f"metrics/{record.module}", computes=[metric]),
        script:
            "../scripts/compare.py"


STIMULI_OF_COSINE = of_job(partial(comparing.stimuli, metric=comparing.PADDED))


# Compare the weights of two models, one matrix at a time.
rule spectra:
    input:
        weights=collect("{run.folder}/{file}", run=of_job(both_sides, compared), file=WEIGHTS),
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, both_sides, compared)
        ),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, both_sides, compared)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(both_sides, compared)),
    output:
        "results/spectra/{model}_vs_{reference}.tsv",
    log:
        "logs/spectra/{model}_vs_{reference}.log",
    priority: 5
    group:
        "tables"
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        in_group=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            reference="{reference}",
            pairs=of_job(comparing.names_and_numbers, compared),
            trained=of_job(trained, both_sides, compared),
            folders=of_job(comparing.folders_of_spectra),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, models, compared),
        ),
        code=code("spectra", computes=["spectra"]),
    script:
        "../scripts/spectra.py"


# Compare attention maps on padded inputs. Both models run side by side, as the maps are too many to be stored.
rule cosine_padded:
    input:
        models=collect("{run.folder}/{file}", run=of_job(both_sides, compared), file=MODEL_FILES),
        stimuli=collect("results/stimuli/{stimulus}.jsonl", stimulus=STIMULI_OF_COSINE),
        descriptions=collect("results/stimuli/{stimulus}.json", stimulus=STIMULI_OF_COSINE),
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, both_sides, compared)
        ),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json", run=of_job(outcomes, both_sides, compared)
        ),
        sources=collect("{run.folder}/source.json", run=of_job(both_sides, compared)),
    output:
        table="results/cosine_padded/{model}_vs_{reference}.tsv",
        blocks="results/cosine_padded/{model}_vs_{reference}.blocks.npy",
    log:
        "logs/cosine_padded/{model}_vs_{reference}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            reference="{reference}",
            pairs=of_job(comparing.names_and_numbers, compared),
            trained=of_job(trained, both_sides, compared),
            stimuli=STIMULI_OF_COSINE,
            inputs=config["samples"]["padded"],
            pad_to=config["samples"]["padded_length"],
            folders=of_job(comparing.folders_by_side),
            scale=config["scale"],
            checkpoints=of_job(checkpoints, models, compared),
        ),
        code=code("cosine_padded", computes=["cosine_padded"]),
    script:
        "../scripts/cosine_padded.py"


TASK_OF_GROUP = of_job(task_of)


# Compare every two runs of a task, in distance and in behaviour. The job extracts activations itself and deletes them:
# those of all models of a task would fill a disk.
rule grounding:
    input:
        models=collect("{run.folder}/{file}", run=of_job(grounding.runs_of_group), file=MODEL_FILES),
        examples=path("results/data/{dataset}/examples.jsonl", dataset=of_job(data.of_task)),
        sidecar=path("results/data/{dataset}/dataset.json", dataset=of_job(data.of_task)),
        inputs=path("results/stimuli/{task}.jsonl", task=TASK_OF_GROUP),
        descriptions=collect("results/stimuli/{task}.json", task=TASK_OF_GROUP),
        scores=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(trainings, grounding.runs_of_group),
        ),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(outcomes, grounding.runs_of_group),
        ),
    output:
        "results/grounding/{model}.tsv",
    log:
        "logs/grounding/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            runs=of_job(grounding.described_runs),
            trained=of_job(trained, grounding.runs_of_group),
            task=of_job(finetuning.settings_of_task),
            stimuli=lambda wildcards: [TASK_OF_GROUP(wildcards)],
            tokens={metric: config["samples"][MEASURES[metric].tokens] for metric in ("rsa", "svcca")},
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code_for_model("grounding", computes=["grounding"]),
    script:
        "../scripts/grounding.py"


# Plant changes of known place and size in a checkpoint, and look which measure finds them. One job makes and measures one
# model after the other, and stores none.
rule planted:
    input:
        models=collect("{run.folder}/{file}", run=of_job(replicates), file=MODEL_FILES),
        changed=collect("{run.folder}/{file}", run=of_job(edits.backgrounds), file=WEIGHTS),
        scores=collect("{run.folder}/scores.json", run=of_job(edits.backgrounds)),
        stimuli=path("results/stimuli/{stimulus}.jsonl", stimulus=of_job(edits.stimuli)),
        description=path("results/stimuli/{stimulus}.json", stimulus=of_job(edits.stimuli)),
    output:
        table="results/planted/{model}.tsv",
        blocks="results/planted/{model}.blocks.npy",
    log:
        "logs/planted/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            starts=of_job(edits.starts),
            planted=of_job(edits.planted),
            inputs=config["planted"]["inputs"],
            stimuli=of_job(edits.stimuli),
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("planted", computes=["planted"]),
    script:
        "../scripts/planted.py"


# Put the checkpoint's own head on a fine-tuned encoder. One job does all replicates and stores no states.
# The plan reads whether a checkpoint has a head, if its weights are there.
rule forgetting:
    input:
        models=collect(
            "{run.folder}/{file}", run=of_job(both_sides, forgetting.with_checkpoints), file=MODEL_FILES
        ),
        stimuli=f"results/stimuli/{forgetting.STIMULI}.jsonl",
        description=f"results/stimuli/{forgetting.STIMULI}.json",
        corpus=given(of_job(forgetting.file_of_corpus)),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=of_job(trainings, replicates)),
        outcomes=collect(
            "results/models/{run.model}/{run.name}/scores.json",
            run=of_job(outcomes, both_sides, forgetting.with_checkpoints),
        ),
        sources=collect("{run.folder}/source.json", run=of_job(replicates)),
    output:
        table="results/forgetting/{model}.tsv",
        blocks="results/forgetting/{model}.blocks.npy",
    log:
        "logs/forgetting/{model}.log",
    priority: 5
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            model="{model}",
            task=of_job(task_of),
            reference=of_job(forgetting.reference),
            runs=of_job(children, forgetting.with_checkpoints),
            trained=of_job(trained, both_sides, forgetting.with_checkpoints),
            corpus=of_job(forgetting.corpus),
            own=of_job(forgetting.file_of_corpus),
            stimuli=forgetting.STIMULI,
            max_length=config["samples"]["max_length"],
            scale=config["scale"],
            checkpoints=of_job(checkpoints, replicates),
        ),
        code=code("forgetting", computes=["forgetting"]),
    script:
        "../scripts/forgetting.py"


ANNOTATORS = of_job(comparing.annotators)


# Annotate the words of a stimulus with POS tags and parses, by the annotators' first replicates.
rule annotations:
    input:
        rows="results/stimuli/{stimulus}.jsonl",
        models=collect("{run.folder}/{file}", run=ANNOTATORS, file=MODEL_FILES),
        scores=collect("results/models/{run.model}/{run.name}/scores.json", run=ANNOTATORS),
    output:
        rows="results/annotations/{stimulus}.jsonl",
        record="results/annotations/{stimulus}.json",
    log:
        "logs/annotations/{stimulus}.log",
    priority: 4
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["analyse"]
    resources:
        gpu=1,
        mem_mb=memory("analyse"),
        runtime=minutes("analyse"),
    params:
        **settings_of(
            folders=lambda wildcards: [run.folder for run in ANNOTATORS(wildcards)],
        ),
        code=code("annotations"),
    script:
        "../scripts/annotations.py"
