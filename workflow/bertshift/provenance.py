from collections.abc import Mapping


def describe_split(sidecar: Mapping, split: str, used: int) -> str:
    """`mnli dev 1000/9815, mirror:glue/MNLI/dev_matched.tsv`: rows used, of how many, and where they come from.

    A split that is smaller than published is called a sample.
    """
    rows, published = sidecar["rows"][split], (sidecar["published"] or {}).get(split)
    sample = f" (a sample of {published})" if published and rows < published else ""
    return f"{sidecar['name']} {split} {used}/{rows}{sample}, {sidecar['source']}"
