from bertshift.plots import catalogue

PAPERS = {
    "kovaleva2019": "Kovaleva et al. 2019",
    "college2020": "BERT Goes to College 2020",
    "hao2020": "Hao et al. 2020",
    "merchant2020": "Merchant et al. 2020",
}


def figures_of(*papers):
    """Those that the configuration has models for; null leaves a figure out."""
    return [
        name
        for name, entry in catalogue.FIGURES.items()
        if entry.paper in papers and config["figures"].get(entry.paper, {}).get(entry.item)
    ]


@user_errors_as_sentences
def figure_tables(name):
    return catalogue.needs(name, config)


def published(paper):
    return f"config/published/{paper}.yaml"


def drawn(names, ending):
    return [f"results/figures/{name}.{ending}" for name in names]


def caption(name):
    entry = catalogue.FIGURES[name]
    return f"workflow/report/{entry.paper}_{entry.item}.rst"
