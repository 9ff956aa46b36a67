"""What each row of a table was made from, and whether its runs learnt their task."""

from collections.abc import Mapping, Sequence

import pandas as pd

from bertshift.data.provenance import describe_split
from bertshift.files import read_json
from bertshift.models.source import origins

# The columns that say what a row was made from. family: the `model_type` of transformers.
ORIGIN = ["scale", "checkpoint", "family", "data"]
FIRST = [
    "metric",
    "model",
    "reference",
    "stimuli",
    "init",
    "seed",
    "ref_init",
    "ref_seed",
    "failed",
    "ref_failed",
    "variant",
    "layer",
    "ref_layer",
    "head",
    "value",
    "sd",
    "n",
]
MARGIN = 0.02

Inputs = Mapping[str, str | Sequence[str]]


def failed(outcome: Mapping) -> bool:
    """Test whether the run with this scores.json ended at most MARGIN above the majority class on
    the development set.

    Mosbach et al. 2021 call a run failed that is not above the majority class; the margin, ours,
    is for runs above it by chance. A run that gives one answer to every input must count,
    whichever it gives. It goes by the headline score where that bounds all constants: no accuracy
    or macro-F1 of one is above the majority's, every correlation is 0. In the place of F1, which
    is above that of a negative majority if the constant is the positive class, it goes by
    accuracy.
    """
    metric = outcome["metric"]
    if metric == "f1" and "accuracy" in outcome["scores"]:
        metric = "accuracy"
    # Scores are fractions of a few hundred examples: one that equals the bound may miss it by
    # rounding alone.
    return outcome["scores"][metric] <= outcome["majority"].get(metric, 0.0) + MARGIN + 1e-9


def of_runs(inits: pd.Series, checkpoints: Mapping) -> dict[str, pd.Series]:
    """Make the columns `checkpoint` and `family` of rows of these pretraining runs; `checkpoints`
    as `models.source.origins` takes them."""
    found = pd.DataFrame.from_dict(origins(checkpoints), orient="index")
    return {key: inits.astype(str).map(column) for key, column in found.items()}


def distinct(values: pd.Series) -> str:
    """Join the values of a column, each once."""
    return "; ".join(map(str, values.unique()))


def joined(rows: pd.DataFrame) -> dict[str, str]:
    """Say what all rows were made from, each thing once."""
    return {key: distinct(rows[key]) for key in ORIGIN}


def with_provenance(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, data: str | pd.Series
) -> pd.DataFrame:
    """Add the columns ORIGIN to rows of one model or of two, and `failed`, and `ref_failed` for
    the second: whether the run did not learn its task.

    data: what the numbers were measured on. settings["trained"] lists the runs (model, init, seed)
    that end in a fine-tuning, and inputs["outcomes"] their scores.json.
    """
    made_from = of_runs(table["init"], settings["checkpoints"])
    table = table.assign(scale=settings["scale"], **made_from, data=data)
    outcomes = zip(settings["trained"], inputs["outcomes"], strict=True)
    known = {tuple(run): failed(read_json(file)) for run, file in outcomes}
    for side, model in (("", "model"), ("ref_", "reference")):
        if f"{side}init" in table:
            runs = zip(table[model], table[f"{side}init"], table[f"{side}seed"], strict=True)
            table[f"{side}failed"] = [known.get(run, False) for run in runs]
    return table


def of_two_models(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, data: str | pd.Series
) -> pd.DataFrame:
    """Add provenance to rows that compare two models; their columns begin with FIRST."""
    table = with_provenance(table, settings, inputs, data)
    others = [column for column in table if column not in FIRST + ORIGIN]
    return table[[*FIRST, *others, *ORIGIN]]


def compared(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, used: int | None = None
) -> pd.DataFrame:
    """Add provenance to rows of `metrics.pairs.comparisons`. `inputs` has the files of
    `metric_table` there but the activations.

    `used`: how many of each stimulus's inputs, if not all.
    """
    data = {}
    for name, description in zip(settings["stimuli"], inputs["descriptions"], strict=True):
        part = f"{used} of " if used and used < read_json(description)["rows"] else ""
        data[name] = part + _described(description, inputs)
    table = of_two_models(table, settings, inputs, table["stimuli"].map(data))
    if settings.get("reference_checkpoints"):  # the table has rows of the reference by itself
        itself = table["model"] == settings["reference"]
        for key, column in of_runs(table["init"], settings["reference_checkpoints"]).items():
            table.loc[itself, key] = column[itself]
    return table


def steps_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `training.steps.relative_norms`."""
    table = _whole_layers(table, settings, ("model", "reference"))
    table = table.assign(metric="steps", stimuli=settings["task"])
    return of_two_models(table, settings, inputs, describe_training(inputs["scores"]))


def spectra_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `metrics.spectra.compare`."""
    table = table.assign(stimuli="none")
    return of_two_models(table, settings, inputs, "weights" + _training(inputs))


def restored_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `ablation.restoration.restore`. `inputs` has the `description` of
    the inputs, and the `sidecar` of the data set that is scored on."""
    scored = table["metric"] == "restored_score"
    dev = describe_split(read_json(inputs["sidecar"]), "dev", table.loc[scored, "n"].iloc[0])
    seen = read_json(inputs["description"])["data"]
    table = _whole_layers(table, settings, ("model", "reference", "stimuli"))
    data = scored.map({True: dev, False: seen}) + _training(inputs)
    return of_two_models(table.assign(sd=float("nan")), settings, inputs, data)


def forgetting_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `metrics.forgetting.forgetting`. `inputs` has the `description` of
    the inputs; settings["corpus"] is the name of the corpus whose words were counted, if one
    was."""
    counted = f"the corpus {settings['corpus']}" if settings["corpus"] else "the other sentences"
    table = _whole_layers(table, settings, ("model", "reference", "stimuli"))
    table = of_two_models(table, settings, inputs, _described(inputs["description"], inputs))
    table.loc[table["variant"] == "unigram", "data"] += f"; frequencies of words in {counted}"
    return table


def probe_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to a probe's rows. `inputs` has the `description` of the sentences probed on,
    and the `scores` of every fine-tuning that led to the model."""
    return with_provenance(table, settings, inputs, _described(inputs["description"], inputs))


def _whole_layers(table: pd.DataFrame, settings: Mapping, columns: Sequence[str]) -> pd.DataFrame:
    """Add these columns from the settings, and those of rows about whole layers of two models of
    one depth."""
    same = {column: settings[column] for column in columns}
    return table.assign(**same, ref_layer=table["layer"], head=0)


def _described(description: str, inputs: Inputs) -> str:
    return read_json(description)["data"] + _training(inputs)


def _training(inputs: Inputs) -> str:
    training = describe_training(inputs["scores"])
    return f"; trained on {training}" if training else ""


def describe_training(scores: Sequence[str]) -> str:
    """Say what fine-tunings were trained on, each set of rows once, from the scores.json of one
    run of each."""
    return "; ".join(dict.fromkeys(read_json(run)["data"]["train"] for run in scores))


def score_table(scores: Sequence[Mapping], provenance: Mapping) -> pd.DataFrame:
    """Make a row for each replicate and metric: the score, beside it the majority class's, whether
    the run failed to learn, and what all were made from.

    `scores` are the replicates' scores.json in the order of provenance["runs"].
    """
    known = origins(provenance["checkpoints"])
    rows = [
        {
            "model": provenance["model"],
            "task": provenance["task"],
            "init": init,
            "seed": seed,
            "metric": metric,
            "headline": metric == replicate["metric"],
            "value": value,
            "majority": replicate["majority"].get(metric),
            "failed": failed(replicate),
            "train": replicate["rows"]["train"],
            "dev": replicate["rows"]["dev"],
            "scale": provenance["scale"],
            **known[str(init)],
            "data": "; ".join(replicate["data"][split] for split in ("train", "dev")),
        }
        for (init, seed), replicate in zip(provenance["runs"], scores, strict=True)
        for metric, value in replicate["scores"].items()
    ]
    return pd.DataFrame(rows)
