"""Merchant et al. 2020, Figure 2: representational similarity to the pretrained model on Wikipedia, by layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from bertshift.figures import layers, numbers, style


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Our similarity per model on `wiki`, and the published points, placed at the same distance from the last layer."""
    rows = numbers.stack(inputs, "rsa", ["content"], ["wiki"]).assign(panel="wiki")
    models = {style.task_of(model): model for model in reversed(rows["model"].unique())}
    entry = published["figure2"]
    points = [
        numbers.published(
            entry | {"place": point["place"]}, published["paper"], panel="wiki", series=models[point["task"]],
            stimuli=point["stimuli"], variant=f"layer {point['layer']} of {point['layers']}",
            layer=rows["layer"].max() - (point["layers"] - point["layer"]), value=point["value"],
            low=point["value"] - point["plus_minus"], high=point["value"] + point["plus_minus"],
        )
        for point in entry["points"] if point["task"] in models
    ]  # fmt: skip
    return numbers.join(numbers.ours(rows, "panel", "model"), *points)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """One line per fine-tuned model over layers 0 (embeddings) to L, with a band over pretraining runs."""
    table = tidy(inputs, published)
    figure = Figure((style.COLUMN_WIDTH, 2.5), layout="constrained")
    axes = figure.add_subplot()
    layers.by_model(axes, table)
    layers.layer_axis(axes, table["layer"])
    for point in table[table["source"] == "published"].itertuples():
        name = f"{style.label_of(point.series)} published, {point.variant}"
        layers.star(axes, point.layer, point, name)
    axes.set_ylabel("RSA with the pretrained model")
    layers.up_to_one(axes)
    layers.legend_above(axes, 2)
    return style.captioned(figure, table, style.failures(table))
