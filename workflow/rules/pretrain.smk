from bertshift.requests import pretraining


rule vocabulary:
    input:
        corpus=given(of_job(pretraining.corpus_of_vocabulary)),
    output:
        tokenizer="results/vocabularies/{vocabulary}/tokenizer.json",
        tokenizer_config="results/vocabularies/{vocabulary}/tokenizer_config.json",
    log:
        "logs/vocabulary/{vocabulary}.log",
    priority: 1
    conda:
        "../../envs/compute.yaml"
    resources:
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        **settings_of(
            how=lambda wildcards: config["vocabularies"][wildcards.vocabulary],
            own=of_job(pretraining.corpus_of_vocabulary),
        ),
        code=code("vocabulary"),
    script:
        "../scripts/vocabulary.py"


# Pretrain from scratch, by the objective of the base's family. One job does one independent run.
rule pretrain:
    input:
        corpus=given(of_job(pretraining.corpus)),
        tokenizer=collect(
            "results/vocabularies/{vocabulary}/{file}",
            vocabulary=of_job(pretraining.vocabulary),
            file=["tokenizer.json", "tokenizer_config.json"],
        ),
    output:
        config="results/pretrained/{base}/init{init}/config.json",
        model="results/pretrained/{base}/init{init}/model.safetensors",
        tokenizer="results/pretrained/{base}/init{init}/tokenizer.json",
        tokenizer_config="results/pretrained/{base}/init{init}/tokenizer_config.json",
        source="results/pretrained/{base}/init{init}/source.json",
        pretraining="results/pretrained/{base}/init{init}/pretraining.json",
        steps="results/pretrained/{base}/init{init}/steps.tsv",
    log:
        "logs/pretrain/{base}_init{init}.log",
    wildcard_constraints:
        base=match_only(pretraining.pretrained_here(config)),
    priority: 1
    conda:
        "../../envs/compute.yaml"
    threads: config["threads"]["train"]
    resources:
        gpu=1,
        mem_mb=memory("train"),
        runtime=minutes("train"),
    params:
        **settings_of(
            how=of_job(pretraining.how_pretrained),
            seed=of_job(pretraining.random_seed),
            own=of_job(pretraining.corpus),
        ),
        code=code("pretrain"),
    script:
        "../scripts/pretrain.py"


rule checkpoint:
    output:
        config="results/pretrained/{base}/init{init}/config.json",
        model="results/pretrained/{base}/init{init}/model.safetensors",
        tokenizer="results/pretrained/{base}/init{init}/tokenizer.json",
        tokenizer_config="results/pretrained/{base}/init{init}/tokenizer_config.json",
        # The file is kept when the rule runs again: it holds the commit of an entry without a revision, which the plan reads.
        source=update("results/pretrained/{base}/init{init}/source.json"),
    log:
        "logs/checkpoint/{base}_init{init}.log",
    wildcard_constraints:
        base=match_only(pretraining.pretrained_elsewhere(config)),
    priority: 1
    localrule: True
    conda:
        "../../envs/compute.yaml"
    resources:
        hub_cache=config["data"]["cache"],
    params:
        **settings_of(
            source=of_job(pretraining.entry_of),
            shape=of_job(pretraining.shape),
            contents=of_job(pretraining.contents_of_checkpoint),
        ),
        code=code("checkpoint"),
    script:
        "../scripts/checkpoint.py"
