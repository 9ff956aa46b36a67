from collections.abc import Mapping, Sequence

import pandas as pd

from bertshift.data.provenance import describe_split
from bertshift.files import read_json
from bertshift.models.source import origins
from bertshift.rows.failure import failed
from bertshift.rows.origin import ORIGIN, of_runs

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


def compared(
    table: pd.DataFrame,
    settings: Mapping,
    inputs: Mapping[str, Sequence[str]],
    used: int | None = None,
) -> pd.DataFrame:
    """Add to rows of `metrics.comparing.comparisons` what they were made from. `inputs` has the
    files of `metric_table` there but the activations.

    `used`: how many of each stimulus's inputs, if not all.
    """
    data = {}
    for name, description in zip(settings["stimuli"], inputs["descriptions"], strict=True):
        part = f"{used} of " if used and used < read_json(description)["rows"] else ""
        data[name] = part + _describe(description, inputs)
    table = table.assign(
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=table["stimuli"].map(data),
    )
    if settings.get("reference_checkpoints"):  # the table has rows of the reference by itself
        itself = table["model"] == settings["reference"]
        for key, column in of_runs(table["init"], settings["reference_checkpoints"]).items():
            table.loc[itself, key] = column[itself]
    return _ordered(_with_failures(table, settings, inputs))


def steps_table(
    table: pd.DataFrame, settings: Mapping, inputs: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Add to rows of `training.steps.relative_norms` what they were made from. `inputs` has
    `outcomes` and `scores` as for `metric_table`."""
    table = table.assign(
        **{key: settings[key] for key in ("model", "reference", "scale")},
        metric="steps",
        stimuli=settings["task"],
        ref_layer=table["layer"],
        head=0,
        **of_runs(table["init"], settings["checkpoints"]),
        data=describe_training(inputs["scores"]),
    )
    return _ordered(_with_failures(table, settings, inputs))


def spectra_table(
    table: pd.DataFrame, settings: Mapping, inputs: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Add to rows of `metrics.spectra.compare` what they were made from. `inputs` has `outcomes`
    and `scores` as for `metric_table`."""
    table = table.assign(
        stimuli="none",
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data="weights" + _training(inputs),
    )
    return _ordered(_with_failures(table, settings, inputs))


def restored_table(
    table: pd.DataFrame, settings: Mapping, inputs: Mapping[str, str | Sequence[str]]
) -> pd.DataFrame:
    """Add to rows of `ablation.restoration.restore` what they were made from. `inputs` has the
    files of `probe_table`, the `outcomes` of `metric_table`, and the `sidecar` of the data set
    that is scored on."""
    scored = table["metric"] == "restored_score"
    dev = describe_split(read_json(inputs["sidecar"]), "dev", table.loc[scored, "n"].iloc[0])
    seen = read_json(inputs["description"])["data"]
    table = table.assign(
        **{key: settings[key] for key in ("model", "reference", "stimuli", "scale")},
        ref_layer=table["layer"],
        head=0,
        sd=float("nan"),
        **of_runs(table["init"], settings["checkpoints"]),
        data=scored.map({True: dev, False: seen}) + _training(inputs),
    )
    return _ordered(_with_failures(table, settings, inputs))


def forgetting_table(
    table: pd.DataFrame, settings: Mapping, inputs: Mapping[str, str | Sequence[str]]
) -> pd.DataFrame:
    """Add to rows of `metrics.forgetting.forgetting` what they were made from. `inputs` has the
    files of `probe_table`; settings["corpus"] is the name of the corpus whose words were counted,
    if one was."""
    counted = f"the corpus {settings['corpus']}" if settings["corpus"] else "the other sentences"
    table = table.assign(
        **{key: settings[key] for key in ("model", "reference", "stimuli", "scale")},
        ref_layer=table["layer"],
        head=0,
        **of_runs(table["init"], settings["checkpoints"]),
        data=_describe(inputs["description"], inputs),
    )
    table.loc[table["variant"] == "unigram", "data"] += f"; frequencies of words in {counted}"
    return _ordered(_with_failures(table, settings, inputs))


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table[[*FIRST, *(column for column in table if column not in FIRST + ORIGIN), *ORIGIN]]


def _with_failures(
    table: pd.DataFrame,
    settings: Mapping,
    inputs: Mapping[str, Sequence[str]],
    sides: Sequence[str] = ("", "ref_"),
) -> pd.DataFrame:
    """Add a column for each of `sides`, `failed` and `ref_failed`: true where the run did not
    learn its task."""
    outcomes = zip(settings["trained"], inputs["outcomes"], strict=True)
    known = {tuple(run): failed(read_json(file)) for run, file in outcomes}
    for side in sides:
        runs = zip(
            table["reference" if side else "model"],
            table[f"{side}init"],
            table[f"{side}seed"],
            strict=True,
        )
        table[f"{side}failed"] = [known.get(run, False) for run in runs]
    return table


def probe_table(
    table: pd.DataFrame, settings: Mapping, inputs: Mapping[str, str | Sequence[str]]
) -> pd.DataFrame:
    """Add to a probe's rows what they were made from, and `failed`. `inputs` has the `description`
    of the sentences probed on, the `scores` of every fine-tuning that led to the model, and the
    `outcomes` of `metric_table`."""
    table = table.assign(
        scale=settings["scale"],
        **of_runs(table["init"], settings["checkpoints"]),
        data=_describe(inputs["description"], inputs),
    )
    return _with_failures(table, settings, inputs, [""])


def _describe(description: str, inputs: Mapping[str, Sequence[str]]) -> str:
    return read_json(description)["data"] + _training(inputs)


def _training(inputs: Mapping[str, Sequence[str]]) -> str:
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
