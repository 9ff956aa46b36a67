from functools import partial

from bertshift.papers.catalogue import FIGURES, PAPERS
from bertshift.papers.by_name import module_of
from bertshift.requests import Request, figures

for name in figures.figures_of(PAPERS, config):
    paper, item = name.split("/")
    request = partial(figures.figure, name=name)
    made_by(
        request,
        png=report(
            f"results/figures/{name}.png",
            category=PAPERS[paper].NAME,
            caption=os.path.abspath(f"results/figures/{name}.txt"),
            labels={"figure": item, "shows": FIGURES[name].title},
        ),
        pdf=f"results/figures/{name}.pdf",
        tsv=f"results/figures/{name}.tsv",
        txt=f"results/figures/{name}.txt",
        name=f"draw_{paper}_{item}",
        program="figure",
        depends={
            "code": code(
                "figure", module=f"papers/{module_of(name)}", records=figures.metrics_of([name], config)
            ),
            "settings": settings_of(request),
        },
        kind="table",
        log=f"figures/{name}",
    )


# Worked out here, as jobs compare it by what is kept of the modules that are read until all rules are known.
CODE_OF_CLAIMS = {}
for paper in PAPERS:
    records = figures.metrics_of(figures.figures_of([paper], config), config)
    CODE_OF_CLAIMS[paper] = code("claims", module=f"papers/{paper}/claims", records=records)

made_by(
    figures.claims,
    "results/claims/{paper}.tsv",
    depends={
        "code": lambda wildcards: CODE_OF_CLAIMS[wildcards.paper],
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
