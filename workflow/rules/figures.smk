from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.papers.by_name import module_of
from bertshift.requests import Request, figures


def code_of_figure(wildcards):
    name = f"{wildcards.paper}/{wildcards.item}"
    return code("figure", module=f"papers/{module_of(name)}", records=figures.metrics_of([name], config))


# Tables and published numbers become a picture, its numbers and its caption; nothing is computed but means and intervals.
rule figure:
    input:
        inputs_of(figures.figure),
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
    conda:
        ENVIRONMENT
    priority: priority_of("figure")
    resources:
        **reserve("table"),
    params:
        code=code_of_figure,
        settings=settings_of(figures.figure),
    script:
        "../scripts/figure.py"


def code_of_claims(wildcards):
    records = figures.metrics_of(figures.figures_of([wildcards.paper], config), config)
    return code("claims", module=f"papers/{wildcards.paper}/claims", records=records)


made_by(
    figures.claims,
    "results/claims/{paper}.tsv",
    depends={
        "code": code_of_claims,
        "settings": settings_of(figures.claims),
    },
    kind=None,
)
WITH_FIGURES = [paper for paper in PAPERS if figures.figures_of([paper], config)]
made_by(
    lambda config: Request({"tables": [f"results/claims/{paper}.tsv" for paper in WITH_FIGURES]}),
    "results/claims.tsv",
    name="all_claims",
    program="concatenate",
    depends={"code": code("concatenate")},
    kind=None,
    log="all_claims",
)
PAGE = report(
    "results/figures/index.html",
    category="All figures",
    labels={"figure": "page", "shows": "Figures, claims and models, to explore"},
)
SHOWN = {
    "code": code("gallery", records=figures.metrics_of(figures.figures_of(PAPERS, config), config)),
    "settings": settings_of(figures.gallery),
}
made_by(figures.gallery, PAGE, depends=SHOWN, kind=None, log="gallery")
# One paper's page needs only that paper's runs.
made_by(
    figures.gallery,
    "results/figures/{paper}.html",
    name="paper_gallery",
    program="gallery",
    depends=SHOWN,
    kind=None,
    log="gallery/{paper}",
)


for paper in PAPERS:

    rule:
        name:
            f"figures/{paper}"
        input:
            figures.drawn(figures.figures_of([paper], config), "png"),
            f"results/figures/{paper}.html",
