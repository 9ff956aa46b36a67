"""Provenance of each row of a table, and whether its runs learnt their task."""

from collections.abc import Mapping, Sequence

import pandas as pd

from bertshift.data.provenance import describe_split
from bertshift.files import read_json
from bertshift.models.source import origins

# Columns with the provenance of a row. family: the `model_type` of transformers.
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
SHUFFLED_MARGIN = 0.2

Inputs = Mapping[str, str | Sequence[str]]


def failed(outcome: Mapping) -> bool:
    """Test whether the run with this scores.json ended at most MARGIN above the majority class on
    the development set; whether a run on shuffled labels, from which there is nothing to learn,
    ended more than SHUFFLED_MARGIN above it.

    Mosbach et al. 2021 call a run failed that is not above the majority class; the margin, ours,
    is for runs above it by chance. A run that gives one answer to every input must count,
    whichever it gives. The margin for shuffled labels is ours too, and wider: such a run may come
    near a task's direction by chance.

    The test takes the headline score where that bounds all constants: no accuracy or macro-F1 of
    one is above the majority's, every correlation is 0. It takes accuracy instead of F1, which is
    above that of a negative majority if the constant is the positive class.
    """
    metric = outcome["metric"]
    if metric == "f1" and "accuracy" in outcome["scores"]:
        metric = "accuracy"
    # Scores are fractions of a few hundred examples: one that equals the bound may miss it by
    # rounding alone.
    majority = outcome["majority"].get(metric, 0.0)
    if outcome.get("shuffled"):
        return outcome["scores"][metric] > majority + SHUFFLED_MARGIN
    return outcome["scores"][metric] <= majority + MARGIN + 1e-9


def of_runs(inits: pd.Series, checkpoints: Mapping) -> dict[str, pd.Series]:
    """Make the columns `checkpoint` and `family` of rows of these pretraining runs; `checkpoints`
    as `models.source.origins` takes them."""
    origin_of_run = pd.DataFrame.from_dict(origins(checkpoints), orient="index")
    runs = inits.astype(str)
    return {key: runs.map(column) for key, column in origin_of_run.items()}


def distinct(values: pd.Series) -> str:
    """Join the values of a column, each once."""
    return "; ".join(map(str, values.unique()))


def joined(rows: pd.DataFrame) -> dict[str, str]:
    """Join the provenance of all rows, each value once."""
    return {key: distinct(rows[key]) for key in ORIGIN}


def with_provenance(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, data: str | pd.Series
) -> pd.DataFrame:
    """Add the columns ORIGIN to rows of one model or of two, and `failed`, and `ref_failed` for
    the second: whether the run did not learn its task.

    data: the inputs of the measurement. settings["trained"] lists the runs (model, init, seed)
    that end in a fine-tuning, and inputs["outcomes"] their scores.json.
    """
    origin = of_runs(table["init"], settings["checkpoints"])
    table = table.assign(scale=settings["scale"], **origin, data=data)
    run_failed = {
        tuple(run): failed(read_json(file))
        for run, file in zip(settings["trained"], inputs["outcomes"], strict=True)
    }
    for prefix, model in (("", "model"), ("ref_", "reference")):
        if f"{prefix}init" in table:
            runs = zip(table[model], table[f"{prefix}init"], table[f"{prefix}seed"], strict=True)
            table[f"{prefix}failed"] = [run_failed.get(run, False) for run in runs]
    return table


def of_two_models(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, data: str | pd.Series
) -> pd.DataFrame:
    """Add provenance to rows that compare two models; their columns begin with FIRST."""
    table = with_provenance(table, settings, inputs, data)
    middle = [column for column in table if column not in FIRST + ORIGIN]
    return table[[*FIRST, *middle, *ORIGIN]]


def compared(
    table: pd.DataFrame, settings: Mapping, inputs: Inputs, used: int | None = None
) -> pd.DataFrame:
    """Add provenance to rows of `metrics.pairs.comparisons`. `inputs` has the files of
    `metric_table` there but the activations.

    `used`: how many of each stimulus's inputs, if not all.
    """
    models = _describe_models(inputs)
    data = {}
    for name, file in zip(settings["stimuli"], inputs["descriptions"], strict=True):
        description = read_json(file)
        part = f"{used} of " if used and used < description["rows"] else ""
        data[name] = part + description["data"] + models
    table = of_two_models(table, settings, inputs, table["stimuli"].map(data))
    if settings.get("reference_checkpoints"):  # the table has rows of the reference by itself
        is_reference = table["model"] == settings["reference"]
        origin = of_runs(table["init"], settings["reference_checkpoints"])
        for key, column in origin.items():
            table.loc[is_reference, key] = column[is_reference]
    return table


def steps_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `training.steps.relative_norms`."""
    table = _add_settings(table, settings, ("model", "reference"))
    table = table.assign(metric="steps", stimuli=settings["task"])
    return of_two_models(table, settings, inputs, describe_training(inputs["scores"]))


def spectra_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `metrics.spectra.compare`."""
    table = table.assign(stimuli="none")
    return of_two_models(table, settings, inputs, "weights" + _describe_models(inputs))


def restored_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `ablation.restoration.restore`. `inputs` has the `description` of
    the inputs, and the `sidecar` of the data set that is scored on."""
    is_score = table["metric"] == "restored_score"
    examples = table.loc[is_score, "n"].iloc[0]
    scored_on = describe_split(read_json(inputs["sidecar"]), "dev", examples)
    compared_on = read_json(inputs["description"])["data"]
    data = is_score.map({True: scored_on, False: compared_on}) + _describe_models(inputs)
    table = _add_settings(table, settings, ("model", "reference", "stimuli"))
    return of_two_models(table.assign(sd=float("nan")), settings, inputs, data)


def planted_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `metrics.planted.compare`. `inputs` has the `description` of the
    texts and the `scores` of the runs whose change the noise imitates; settings["model"] names the
    checkpoint, settings["stimuli"] the texts."""
    description = read_json(inputs["description"])
    used = table["n"].iloc[0]
    part = f"{used} of " if used < description["rows"] else ""
    noise = describe_training(inputs["scores"])
    data = f"{part}{description['data']}; noise as large as the change by {noise}"
    origin = of_runs(table["init"], settings["checkpoints"])
    keys = {"metric": "planted", "model": settings["model"], "stimuli": settings["stimuli"]}
    first = pd.DataFrame(keys, table.index)
    return pd.concat([first, table], axis=1).assign(
        failed=False, scale=settings["scale"], **origin, data=data
    )


def forgetting_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to rows of `metrics.forgetting.forgetting`. `inputs` has the `description` of
    the inputs; settings["corpus"] is the name of the corpus whose words were counted, if one
    was."""
    counted = f"the corpus {settings['corpus']}" if settings["corpus"] else "the other sentences"
    data = _describe_data(inputs["description"], inputs)
    table = _add_settings(table, settings, ("model", "reference", "stimuli"))
    table = of_two_models(table, settings, inputs, data)
    table.loc[table["variant"] == "unigram", "data"] += f"; frequencies of words in {counted}"
    return table


def probe_table(table: pd.DataFrame, settings: Mapping, inputs: Inputs) -> pd.DataFrame:
    """Add provenance to a probe's rows. `inputs` has the `description` of the sentences probed on,
    and the `scores` of every fine-tuning that led to the model."""
    data = _describe_data(inputs["description"], inputs)
    return with_provenance(table, settings, inputs, data)


def _add_settings(table: pd.DataFrame, settings: Mapping, columns: Sequence[str]) -> pd.DataFrame:
    """Add these columns from the settings, and `ref_layer` and `head` of rows about whole layers
    of two models of one depth."""
    constants = {column: settings[column] for column in columns}
    return table.assign(**constants, ref_layer=table["layer"], head=0)


def _describe_data(description: str, inputs: Inputs) -> str:
    return read_json(description)["data"] + _describe_models(inputs)


def _describe_models(inputs: Inputs) -> str:
    training = describe_training(inputs["scores"])
    return f"; trained on {training}" if training else ""


def describe_training(scores: Sequence[str]) -> str:
    """Describe the training data of fine-tunings, each set of rows once, from the scores.json of
    one run of each."""
    training = [read_json(run)["data"]["train"] for run in scores]
    return "; ".join(dict.fromkeys(training))


def score_table(scores: Sequence[Mapping], provenance: Mapping) -> pd.DataFrame:
    """Make a row for each replicate and metric: the score, the majority class's score, whether the
    run failed to learn, and provenance.

    `scores` are the replicates' scores.json in the order of provenance["runs"].
    """
    origin_of_run = origins(provenance["checkpoints"])
    rows = []
    for (init, seed), outcome in zip(provenance["runs"], scores, strict=True):
        for metric, value in outcome["scores"].items():
            row = {
                "model": provenance["model"],
                "task": provenance["task"],
                "init": init,
                "seed": seed,
                "metric": metric,
                "headline": metric == outcome["metric"],
                "value": value,
                "majority": outcome["majority"].get(metric),
                "failed": failed(outcome),
                "train": outcome["rows"]["train"],
                "dev": outcome["rows"]["dev"],
                "scale": provenance["scale"],
                **origin_of_run[str(init)],
                "data": f"{outcome['data']['train']}; {outcome['data']['dev']}",
            }
            rows.append(row)
    return pd.DataFrame(rows)
