from collections.abc import Mapping

GENERATED, MIRROR, HUB = "world", "mirror", "hub"
ORIGINS = {GENERATED: "generated", MIRROR: "mirror", HUB: "publishers' files"}


def describe_split(sidecar: Mapping, split: str, used: int, trained_on: int | None = None) -> str:
    """Describe rows as `mnli dev 1000 of 9815 (hub nyu-mll/glue@bcdcba7)`: how many rows are
    used, how many there are, and their source.

    A split smaller than published is called a sample. Rows that were drawn from `trained_on` rows
    are described as `mnli train 500 of the 10000 trained on, of 392702 (mirror)`.
    """
    origin = sidecar["origin"]
    rows = sidecar["rows"][split]
    published = (sidecar["published"] or {}).get(split)
    source = _describe_hub(sidecar) if origin == HUB else ORIGINS[origin]
    sample = drawn_from = ""
    if origin != GENERATED and published and rows < published:
        sample = f", a sample of {published}"
    if trained_on and trained_on < rows:
        drawn_from = f"the {trained_on} trained on, of "
    return f"{sidecar['name']} {split} {used} of {drawn_from}{rows}{sample} ({source})"


def _describe_hub(sidecar: Mapping) -> str:
    repository, _, revision = sidecar["source"].removeprefix("hub:").partition("@")
    return f"hub {repository}@{revision[:7]}"
