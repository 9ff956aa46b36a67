"""Sentences with a predicate and its arguments marked, and the heads that find them."""

from collections.abc import Mapping
from pathlib import Path

from bertshift.errors import UserError
from bertshift.naming import Run, parse_model
from bertshift.requests.data import WORLD, mirror_of
from bertshift.requests.probing import CORPORA, download_path
from bertshift.requests.runs import replicates
from bertshift.requests.shapes import check_layers


def relation_source(config: Mapping) -> tuple[str, str]:
    """Locate sentences with relations marked, of FrameNet, a user or the generated world: (file,
    origin)."""
    spec, data = config["relations"], config["data"]
    if spec["source"]:
        if not Path(spec["source"]).exists():
            raise UserError(
                f"relations.source: {spec['source']} does not exist; write where the sentences"
                " are."
            )
        return spec["source"], "mirror"
    if data["source"] == "world":
        return f"{WORLD}/heads/relations.jsonl", "world"
    mirror = mirror_of(config)
    # A mirror may hold the download too, under the path that it has below results/corpora.
    download = download_path(spec["download"]["url"])
    for file in [*spec["files"], download]:
        if (mirror / file).exists():
            return str(mirror / file), "mirror"
    if data["source"] == "hub":
        return f"{CORPORA}/{download}", "hub"
    raise UserError(
        f"data.mirror: {mirror} has none of {', '.join(spec['files'])}; fetch FrameNet 1.7 (python"
        " -m nltk.downloader -d FOLDER framenet_v17) and put it there, or set relations.source to"
        " where it is."
    )


def file(config: Mapping) -> str:
    return relation_source(config)[0]


def origin(config: Mapping) -> str:
    return relation_source(config)[1]


def finding(config: Mapping, model: str) -> list[Run]:
    """List the runs whose heads may find relations. Raise UserError for a model without
    layers."""
    check_layers(parse_model(model, config), config, f"results/relation_heads/{model}.tsv")
    return replicates(config, model)
