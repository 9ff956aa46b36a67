from functools import partial

from bertshift.papers.catalogue import FIGURES, ROOMS
from bertshift.papers.room import module_of
from bertshift.requests import figures

for name in figures.figures_of(ROOMS, config):
    paper, item = name.split("/")
    request = partial(figures.figure, name=name)

    rule:
        name:
            f"draw_{paper}_{item}"
        input:
            inputs_of(request),
        output:
            png=report(
                f"results/figures/{name}.png",
                category=ROOMS[paper].NAME,
                caption=os.path.abspath(f"results/figures/{name}.txt"),
                labels={"figure": item, "shows": FIGURES[name].title},
            ),
            pdf=f"results/figures/{name}.pdf",
            tsv=f"results/figures/{name}.tsv",
            txt=f"results/figures/{name}.txt",
        log:
            f"logs/figures/{name}.log",
        resources:
            **reserve("table"),
        params:
            code=code(
                "figure", module=f"papers/{module_of(name)}", records=figures.metrics_of([name], config)
            ),
            settings=settings_of(request),
        script:
            "../scripts/figure.py"


# Worked out here, as jobs compare it by what is kept of the modules that are read until all rules are known.
CODE_OF_CLAIMS = {}
for paper in ROOMS:
    records = figures.metrics_of(figures.figures_of([paper], config), config)
    CODE_OF_CLAIMS[paper] = code("claims", module=f"papers/{paper}/claims", records=records)


rule claims:
    input:
        inputs_of(figures.claims),
    output:
        "results/claims/{paper}.tsv",
    log:
        "logs/claims/{paper}.log",
    localrule: True
    params:
        code=lambda wildcards: CODE_OF_CLAIMS[wildcards.paper],
        settings=settings_of(figures.claims),
    script:
        "../scripts/claims.py"


rule all_claims:
    input:
        tables=[f"results/claims/{paper}.tsv" for paper in ROOMS if figures.figures_of([paper], config)],
    output:
        "results/claims.tsv",
    log:
        "logs/all_claims.log",
    localrule: True
    params:
        code=code("concatenate"),
    script:
        "../scripts/concatenate.py"


rule gallery:
    input:
        inputs_of(figures.gallery),
    output:
        report(
            "results/figures/index.html",
            category="All figures",
            labels={"figure": "page", "shows": "Figures, claims and models, to explore"},
        ),
    log:
        "logs/gallery.log",
    localrule: True
    params:
        code=code("gallery", records=figures.metrics_of(figures.figures_of(ROOMS, config), config)),
        settings=settings_of(figures.gallery),
    script:
        "../scripts/gallery.py"


# One paper's page needs only that paper's runs.
use rule gallery as paper_gallery with:
    output:
        "results/figures/{paper}.html",
    log:
        "logs/gallery/{paper}.log",
    localrule: True


for paper in ROOMS:

    rule:
        name:
            f"figures/{paper}"
        input:
            figures.drawn(figures.figures_of([paper], config), "png"),
            f"results/figures/{paper}.html",
