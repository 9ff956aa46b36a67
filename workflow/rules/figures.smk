from bertshift.papers.catalogue import FIGURES, PAPERS


# Draw a figure from tables and published numbers: a picture, its numbers and its caption.
rule figure:
    input:
        tables=of_job(figures.tables_of_figure),
        blocks=of_job(figures.blocks, figures.tables_of_figure),
        published=figures.PUBLISHED,
    output:
        png=report(
            "results/figures/{paper}/{item}.png",
            category=lambda wildcards: PAPERS[wildcards.paper].NAME,
            caption="../report/figure.rst",
            labels=lambda wildcards: {
                "figure": wildcards.item,
                "shows": FIGURES[f"{wildcards.paper}/{wildcards.item}"].title,
            },
        ),
        pdf="results/figures/{paper}/{item}.pdf",
        tsv="results/figures/{paper}/{item}.tsv",
        txt="results/figures/{paper}/{item}.txt",
    log:
        "logs/figures/{paper}/{item}.log",
    priority: 9
    group:
        "figures"
    conda:
        "../../envs/figures.yaml"
    resources:
        in_group=1,
        mem_mb=memory("table"),
        runtime=minutes("table"),
    params:
        code=code_of_figure,
        drawing=drawing_of_figure,
        shows=lambda wildcards: FIGURES[f"{wildcards.paper}/{wildcards.item}"].shows,
    script:
        "../scripts/figure.py"


rule claims:
    input:
        tables=of_job(figures.tables_of_claims),
        blocks=of_job(figures.blocks, figures.tables_of_claims),
        published=figures.PUBLISHED,
    output:
        report(
            "results/claims/{paper}.tsv",
            category=lambda wildcards: PAPERS[wildcards.paper].NAME,
            caption="../report/claims.rst",
            labels={"figure": "claims", "shows": "Each claim with its number, interval and verdict"},
        ),
    log:
        "logs/claims/{paper}.log",
    priority: 9
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        **settings_of(
            tables=of_job(figures.tables_by_figure),
        ),
        code=code_of_claims,
    script:
        "../scripts/claims.py"


DRAWN_PAPERS = [paper for paper in PAPERS if figures.figures_of([paper], config)]


rule all_claims:
    input:
        tables=collect("results/claims/{paper}.tsv", paper=DRAWN_PAPERS),
    output:
        "results/claims.tsv",
    log:
        "logs/all_claims.log",
    priority: 9
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"


MEASURES_SHOWN = refusing(figures.measures_of)(figures.figures_of(PAPERS, config), config)


# What a page reads besides claims: that of all papers, or of one.
PAGE = dict(
    tables=of_job(figures.tables_of_page),
    blocks=of_job(figures.blocks, figures.tables_of_page),
    figures=collect("results/figures/{figure}.tsv", figure=of_job(figures.figures_of_page)),
    images=collect("results/figures/{figure}.png", figure=of_job(figures.figures_of_page)),
    captions=collect("results/figures/{figure}.txt", figure=of_job(figures.figures_of_page)),
    published=collect(figures.PUBLISHED, paper=of_job(figures.papers_of_page)),
    assets=figures.ASSETS,
    examples=collect("results/examples/{model}.json", model=of_job(figures.models_with_examples)),
)


# Write the page of all papers, and the page of each. The page of one paper needs that paper's runs alone.
rule gallery:
    input:
        **PAGE,
        claims="results/claims.tsv",
    output:
        report(
            "results/figures/index.html",
            category="All figures",
            labels={"figure": "page", "shows": "Figures, claims and models, to explore"},
        ),
    log:
        "logs/gallery.log",
    priority: 9
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        **settings_of(
            entries=of_job(figures.entries_of_page),
        ),
        code=code("gallery", draws=MEASURES_SHOWN),
    script:
        "../scripts/gallery.py"


rule paper_gallery:
    input:
        **PAGE,
        claims="results/claims/{paper}.tsv",
    output:
        "results/figures/{paper}.html",
    log:
        "logs/gallery/{paper}.log",
    priority: 9
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        **settings_of(
            entries=of_job(figures.entries_of_page),
        ),
        code=code("gallery", draws=MEASURES_SHOWN),
    script:
        "../scripts/gallery.py"


for paper in PAPERS:

    rule:
        name:
            f"figures/{paper}"
        input:
            figures.figure_files(figures.figures_of([paper], config), "png"),
            f"results/figures/{paper}.html",
