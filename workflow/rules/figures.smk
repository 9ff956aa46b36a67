localrules:
    claims,
    all_claims,
    gallery,
    paper_gallery,


for name in figures_of(*PAPERS):
    entry = catalogue.FIGURES[name]

    rule:
        name:
            f"draw_{entry.paper}_{entry.item}"
        input:
            tables=figure_tables(name),
            published=published(entry.paper),
        output:
            png=report(
                f"results/figures/{name}.png",
                category=PAPERS[entry.paper],
                caption=f"../report/{entry.paper}_{entry.item}.rst",
                labels={"figure": entry.item, "shows": entry.title},
            ),
            pdf=f"results/figures/{name}.pdf",
            tsv=f"results/figures/{name}.tsv",
        log:
            f"logs/figures/{name}.log",
        benchmark:
            f"logs/figures/{name}.cost.tsv"
        conda:
            ENVIRONMENT
        resources:
            **reserve("table"),
        params:
            code=code("figure", module=f"plots/{entry.paper}_{entry.item}"),
            name=name,
        script:
            "../scripts/figure.py"


# A paper's claims, decided on the tables of its figures.
rule claims:
    input:
        tables=lambda wildcards: unique(
            table for name in figures_of(wildcards.paper) for table in figure_tables(name)
        ),
        published=lambda wildcards: published(wildcards.paper),
    output:
        "results/claims/{paper}.tsv",
    log:
        "logs/claims/{paper}.log",
    benchmark:
        "logs/claims/{paper}.cost.tsv"
    wildcard_constraints:
        paper=only(PAPERS),
    conda:
        ENVIRONMENT
    params:
        code=code("claims"),
        tables=lambda wildcards: settings.canonical(
            {name: figure_tables(name) for name in figures_of(wildcards.paper)}
        ),
    script:
        "../scripts/claims.py"


rule all_claims:
    input:
        tables=[f"results/claims/{paper}.tsv" for paper in PAPERS if figures_of(paper)],
    output:
        "results/claims.tsv",
    log:
        "logs/all_claims.log",
    benchmark:
        "logs/all_claims.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"


rule gallery:
    input:
        figures=drawn(figures_of(*PAPERS), "tsv"),
        images=drawn(figures_of(*PAPERS), "png"),
        claims="results/claims.tsv",
        published=[published(paper) for paper in PAPERS],
        captions=[caption(name) for name in figures_of(*PAPERS)],
    output:
        "results/figures/index.html",
    log:
        "logs/gallery.log",
    benchmark:
        "logs/gallery.cost.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("gallery"),
        figures=settings.canonical(figures_of(*PAPERS)),
    script:
        "../scripts/gallery.py"


# The same page for one paper alone, so that one paper costs only its own runs.
rule paper_gallery:
    input:
        figures=lambda wildcards: drawn(figures_of(wildcards.paper), "tsv"),
        images=lambda wildcards: drawn(figures_of(wildcards.paper), "png"),
        claims="results/claims/{paper}.tsv",
        published=lambda wildcards: [published(wildcards.paper)],
        captions=lambda wildcards: [caption(name) for name in figures_of(wildcards.paper)],
    output:
        "results/figures/{paper}.html",
    log:
        "logs/gallery/{paper}.log",
    benchmark:
        "logs/gallery/{paper}.cost.tsv"
    wildcard_constraints:
        paper=only(PAPERS),
    conda:
        ENVIRONMENT
    params:
        code=code("gallery"),
        figures=lambda wildcards: settings.canonical(figures_of(wildcards.paper)),
    script:
        "../scripts/gallery.py"


for paper in PAPERS:

    rule:
        name:
            f"figures/{paper}"
        input:
            drawn(figures_of(paper), "png"),
            f"results/figures/{paper}.html",
