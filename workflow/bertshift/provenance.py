from collections.abc import Mapping

GENERATED, MIRROR, HUB = "world", "mirror", "hub"
ORIGINS = {GENERATED: "generated", MIRROR: "mirror", HUB: "publishers' files"}


def describe_split(
    sidecar: Mapping, split: str, used: int, source: str, trained_on: int | None = None
) -> str:
    """`mnli dev 1000 of 9815 (hub nyu-mll/glue@bcdcba7)`: rows used, of how many, and where they come from.

    A split smaller than published is called a sample. `source` is the configuration's data.source. Rows that were drawn
    from the `trained_on` first say so: `mnli train 500 of the 10000 trained on, of 392702 (mirror)`.
    """
    rows, published = sidecar["rows"][split], (sidecar["published"] or {}).get(split)
    origin = _hub(sidecar) if source == HUB else ORIGINS[source]
    sample = f", a sample of {published}" if source != GENERATED and published and rows < published else ""
    drawn_from = f"the {trained_on} trained on, of " if trained_on and trained_on < rows else ""
    return f"{sidecar['name']} {split} {used} of {drawn_from}{rows}{sample} ({origin})"


def _hub(sidecar: Mapping) -> str:
    repository, _, revision = sidecar["source"].removeprefix("hub:").partition("@")
    return f"hub {repository}@{revision[:7]}"
