"""Sentences with a predicate and its arguments marked, and the heads that find them."""

from collections.abc import Mapping

from bertshift.data.sources import relation_source
from bertshift.models.shapes import check_layers
from bertshift.naming import Run, parse_model
from bertshift.requests.runs import replicates


def file(config: Mapping) -> str:
    return relation_source(config)[0]


def origin(config: Mapping) -> str:
    return relation_source(config)[1]


def finding(config: Mapping, model: str) -> list[Run]:
    """List the runs whose heads may find relations. Raise UserError for a model without
    layers."""
    check_layers(parse_model(model, config), config, f"results/relation_heads/{model}.tsv")
    return replicates(config, model)
