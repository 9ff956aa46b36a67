from collections.abc import Mapping

GENERATED, MIRROR, HUB = "world", "mirror", "hub"
ORIGINS = {GENERATED: "generated", MIRROR: "mirror", HUB: "publishers' files"}


def describe_split(sidecar: Mapping, split: str, used: int, trained_on: int | None = None) -> str:
    """Describe rows as `mnli dev 1000 of 9815 (hub nyu-mll/glue@bcdcba7)`: number used, of how
    many, and source.

    A split smaller than published is called a sample. Rows that were drawn from `trained_on` rows
    are described as `mnli train 500 of the 10000 trained on, of 392702 (mirror)`.
    """
    rows, published = sidecar["rows"][split], (sidecar["published"] or {}).get(split)
    generated = sidecar["origin"] == GENERATED
    origin = _hub(sidecar) if sidecar["origin"] == HUB else ORIGINS[sidecar["origin"]]
    sample = (
        f", a sample of {published}" if not generated and published and rows < published else ""
    )
    drawn_from = f"the {trained_on} trained on, of " if trained_on and trained_on < rows else ""
    return f"{sidecar['name']} {split} {used} of {drawn_from}{rows}{sample} ({origin})"


def _hub(sidecar: Mapping) -> str:
    repository, _, revision = sidecar["source"].removeprefix("hub:").partition("@")
    return f"hub {repository}@{revision[:7]}"
