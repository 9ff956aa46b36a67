"""Kovaleva et al. 2019, Table 1: scores by initialisation, beside constant answers and linear
probes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.naming import Name
from bertshift.rows import labelling, ranges, statistics
from bertshift.rows.blocks import JACKKNIFE_COLUMNS
from bertshift.rows.provenance import ORIGIN
from bertshift.rows.statistics import POINTS

COLUMNS = [
    "panel",
    "series",
    "model",
    "score",
    "sd",
    "least",
    "most",
    "constant",
    "runs",
    *numbers.VALUES,
]
BY = ["model", "series", "score"]
GROUPS = {
    "": {"majority": "Majority\nclass"},
    "Pretrained, as it is": {
        "random_head": "{} random\nheads",
        "linear_probe_pooled": "linear probe,\npooled",
        "linear_probe_mean": "linear probe,\nmean of tokens",
    },
    "Fine-tuned": {"random_start": "from random\nweights", "finetuned": "from the\npretrained"},
    "Fine-tuned, elsewhere": {
        "figures_8_9": "the paper's\nFigures 8, 9",
        "transformers": "Transformers\nexamples",
    },
}
SERIES = {name: words for group in GROUPS.values() for name, words in group.items()}
PAPER = {"pretrained": "random_head", "random_init": "random_start", "finetuned": "finetuned"}
CORRELATIONS, CORRELATION = ("pearson", "spearman"), "correlation"
NUMBERS = ["value", *JACKKNIFE_COLUMNS]
MEASURED = [*NUMBERS, *ranges.ENDS, ranges.SHARE_OF]
SCORES = labelling.SCORES | {CORRELATION: "mean of both"}

LABELS, CELL, ROW, HEADER = 0.85, 0.86, 0.42, 0.6  # inches
SATURATES = 50.0  # points from the majority class
EQUAL = 1e-4  # points; tables carry ten digits


def tidy(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> pd.DataFrame:
    """Tabulate panels `score`, `above_majority` and `gain`: what fine-tuning adds to each column,
    mean over tasks.

    `sd`, `least` and `most` are over all `runs` (heads or replicates), of which `constant` give
    one answer to every input.
    """
    rows = runs(inputs)
    over_runs = rows.groupby(BY, as_index=False).agg(
        sd=("value", "std"),
        least=("value", "min"),
        most=("value", "max"),
        constant=("constant", "sum"),
        runs=("value", "size"),
    )
    score = numbers.means_of_all(rows, BY, BY[:2]).merge(over_runs, on=BY).assign(panel="score")
    is_majority = score["series"] == "majority"
    majority = (
        score[is_majority]
        .set_index(["model", "score"])[["value", "table"]]
        .add_prefix("majority_")
    )
    above = (
        score[~is_majority].join(majority, on=["model", "score"]).assign(panel="above_majority")
    )
    above["table"] = [
        numbers.each_once(row) for row in zip(above["table"], above["majority_table"])
    ]
    for column in ("value", "low", "high", "least", "most"):
        above[column] -= above["majority_value"]
    pairs = zip(above["each"], above["majority_value"], strict=True)
    above["each"] = [
        statistics.joined(np.subtract(statistics.each_of(each), less)) for each, less in pairs
    ]
    gain = numbers.means(gains(rows).drop(columns="failed"), BY, ["series"]).assign(panel="gain")
    theirs = printed(published, list(rows["model"].unique()))
    return numbers.join(score, above, gain, *theirs, columns=COLUMNS)


def runs(inputs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List one row a score of a head, a probe or a fine-tuned model, in points: model, series,
    score, draw, init, seed, value, constant (one answer to every input), train (rows fine-tuned
    on), failed (missing of what is not fine-tuned), scale, checkpoint, data, and values without
    each block of examples where these are known.

    `model` is the fine-tuned one also for its start and for the same from random weights.
    """
    inputs = {path: table.assign(table=path) for path, table in inputs.items()}
    frozen = [table for table in inputs.values() if "draw" in table]
    tuned = [table for table in inputs.values() if "majority" in table]
    if not frozen or not tuned:
        raise UserError(
            f"no scores in {', '.join(inputs)}; delete them and run their rules again."
        )
    frozen, tuned = (
        statistics.in_points(pd.concat(parts, ignore_index=True)) for parts in (frozen, tuned)
    )
    frozen = frozen.assign(
        model=frozen["child"],
        series=frozen["variant"],
        constant=frozen["answer"].fillna("").astype(str) != "",
    )
    answers = frozen[frozen["series"] == "constant"]
    names = tuned["model"].map(Name.of)
    tuned = tuned.rename(columns={"metric": "score"}).assign(
        series=["random_start" if name.variant("random") else "finetuned" for name in names],
        model=[str(name.without("random")) for name in names],
        draw=0,
    )
    tuned["constant"] = constants(tuned, answers)
    majority = tuned[tuned["series"] == "finetuned"].assign(
        series="majority", constant=False, failed=None
    )
    majority = statistics.with_value(
        majority, POINTS * majority["majority"], majority.reindex(columns=ranges.ENDS).to_numpy().T
    )
    columns = [*BY, "draw", "init", "seed", "constant", "train", "failed", *ORIGIN, "table"]
    rows = pd.concat([majority, frozen[frozen["series"].isin(SERIES)], tuned], ignore_index=True)
    rows = rows.reindex(columns=[*columns, *MEASURED])
    correlations = rows[rows["score"].isin(CORRELATIONS)].assign(score=CORRELATION)
    whole = correlations.groupby(columns, dropna=False)
    both = whole[MEASURED].mean()[whole.size() == len(CORRELATIONS)].reset_index()
    return pd.concat([rows, both], ignore_index=True)[rows.columns]


def constants(tuned: pd.DataFrame, answers: pd.DataFrame) -> pd.Series:
    """Test for each row whether its run has, in every metric, the score of one and the same
    constant answer."""
    pairs = tuned.reset_index().merge(
        answers[["model", "score", "draw", "init", "value"]],
        on=["model", "score"],
        suffixes=("", "_constant"),
    )
    pairs["same"] = (pairs["value"] - pairs["value_constant"]).abs() < EQUAL
    run = ["model", "series", "init", "seed"]
    whole = (
        pairs.groupby([*run, "draw_constant", "init_constant"])["same"].all().groupby(run).any()
    )
    return tuned.join(whole.rename("same"), on=run)["same"].fillna(False).astype(bool)


def gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Subtract each other column's score from that of every fine-tuned replicate, and average over
    the tasks; score `mean`, model ``.

    Replicates of which some task has nothing are left out.
    """
    main = {
        model: next(
            (name for name in ("accuracy", CORRELATION) if name in set(group["score"])),
            group["score"].iloc[0],
        )
        for model, group in rows.groupby("model")
    }
    rows = rows[rows["score"] == rows["model"].map(main)]
    mine = rows[rows["series"] == "finetuned"]
    parts = []
    for series, others in rows[rows["series"] != "finetuned"].groupby("series", sort=False):
        run = ["init", "seed"] if (others["seed"] != 0).any() else ["init"]
        tables = numbers.each_once(others["table"])
        others = others.groupby(["model", *run])[NUMBERS].mean().add_suffix("_other")
        both = mine.join(others, on=["model", *run], how="inner")
        both[NUMBERS] -= both[[f"{name}_other" for name in NUMBERS]].to_numpy()
        both["table"] += f"; {tables}"
        whole = both.groupby(["init", "seed"])["model"].transform("nunique") == len(main)
        parts.append(both[whole].assign(series=series, model="", score="mean"))
    return ranges.within(pd.concat(parts, ignore_index=True), ranges.ANY)


def printed(published: Mapping, models: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's table, its scores in Figure 8 and those of the same checkpoint elsewhere,
    for the first model of a task."""
    paper, one, eight = (published[key] for key in ("paper", "table1", "figure8"))
    elsewhere, names = one["elsewhere"], {"f1_acc": ["f1", "accuracy"]}
    cells = [
        {
            "task": task,
            "series": series,
            "score": name,
            "value": value,
            "constant": column in one["constant"].get(task, {}),
        }
        for task, facts in one["rows"].items()
        for column, series in PAPER.items()
        for name, value in zip(
            names.get(facts["metric"], [facts["metric"]]), np.ravel(facts[column])
        )
    ]
    others = [
        {"task": task, "series": "transformers", "score": name, "value": value}
        for task, facts in elsewhere["rows"].items()
        for name, value in facts.items()
    ]
    high = [
        {
            "task": task,
            "series": "figures_8_9",
            "score": eight["metrics"][task],
            "value": POINTS * facts["baseline"],
        }
        for task, facts in eight["tasks"].items()
    ]
    first = {labelling.task_of(model): model for model in reversed(models)}
    for entry, where, found in (
        (one, paper, cells),
        (elsewhere, elsewhere, others),
        (eight, paper, high),
    ):
        found = pd.DataFrame(found)
        found = found.assign(model=found.pop("task").map(first)).dropna(subset="model")
        yield numbers.published(entry, where, panel="score", **found.to_dict("list"))
    # The paper's mean is over its tasks.
    if set(first) == set(one["rows"]) and len(first) == len(models):
        mean = pd.DataFrame(cells).query("score != 'f1'").groupby("series")["value"].mean()
        gain = mean["finetuned"] - mean["random_start"]
        for series, value, provenance in (
            ("random_head", one["mean_gain"]["value"], "printed"),
            ("random_start", gain, "derived"),
        ):
            facts = {
                "panel": "gain",
                "series": series,
                "model": "",
                "score": "mean",
                "value": value,
            }
            yield numbers.published(one | {"provenance": provenance}, paper, **facts)


def draw(inputs: Mapping[str, pd.DataFrame], published: Mapping) -> style.Drawn:
    """Draw the table: rows are scores of tasks, columns what they are scores of; the paper's
    numbers in grey below ours."""
    table = tidy(inputs, published)
    shown = [name for name in SERIES if name in set(table["series"])]
    scored = table[(table["panel"] == "score") & (table["source"] == "ours")]
    places = list(scored.groupby(["model", "score"], sort=False).groups)
    size = max(style.TEXT_WIDTH, LABELS + CELL * len(shown)), HEADER + ROW * (len(places) + 1.4)
    figure = Figure(size, layout="constrained")
    axes = figure.add_subplot()
    above = table[table["panel"] == "above_majority"].set_index(["model", "score", "series"])[
        "value"
    ]
    fills = [[above.get((*place, name), np.nan) for name in shown] for place in places]
    heads = scored.loc[scored["series"] == "random_head", "runs"].max()
    names = [SERIES[name].format(f"{heads:.0f}") for name in shown]
    labels = [
        f"{labelling.label_of(model)}\n{SCORES.get(score, score)}" for model, score in places
    ]
    look = {"cmap": grids.LOSS_TO_GAIN, "vmin": -SATURATES, "vmax": SATURATES}
    grids.coloured_table(axes, np.array(fills), names, labels, 7.5, **look)
    cells = {key: rows for key, rows in table.groupby(["panel", "model", "score", "series"])}
    for x, name in enumerate(shown):
        for y, place in enumerate(places):
            write(axes, x, y, cells.get(("score", *place, name)))
        write(axes, x, len(places) + 0.2, cells.get(("gain", "", "mean", name)), signed=True)
    bounds = [y - 0.5 for y in range(1, len(places)) if places[y][0] != places[y - 1][0]]
    axes.hlines(bounds, -0.5, len(shown) - 0.5, color="#808080", linewidth=0.6)
    rows = [*range(len(places)), len(places) + 0.2]
    axes.set_yticks(rows, [*labels, "Mean gain of\nfine-tuning"], fontsize=7.5)
    axes.set_ylim(len(places) + 0.7, -0.5)
    for title, group in GROUPS.items():
        grids.over(axes, title, [x for x, name in enumerate(shown) if name in group], above=26)
    return style.captioned(figure, table, fewer_rows(runs(inputs)), sources(published, table))


def write(axes: Axes, x: float, y: float, cell: pd.DataFrame | None, signed: bool = False) -> None:
    """Write our number with its spread, and a published one in grey."""
    lines, large = [], {"fontsize": 8.5}
    for row in () if cell is None else cell.itertuples():
        number = partial(grids.number, signed=signed)
        value, sd, least, most = map(number, (row.value, row.sd, row.least, row.most))
        if row.source == "published":
            paper = "paper " if row.series in PAPER.values() else ""
            lines.append((f"{paper}{value}{dagger(row)}", {"color": "#404040"}))
        elif row.series == "random_head" and not signed:
            lines += [(f"{value} ± {sd}", large), (f"[{least}, {most}]{dagger(row)}", {})]
        else:
            lines.append((value + dagger(row), large))
            if (spread := numbers.spread(row, number)) and (signed or row.series != "majority"):
                lines.append((spread, {}))
    grids.write(axes, x, y, lines)


def dagger(row) -> str:
    """Mark a number by † where it is a constant answer's, with how many are if it is a mean of
    several that are not."""
    if not row.constant > 0:
        return ""
    return " †" if not row.constant < row.runs else f" †{row.constant:.0f}"


def fewer_rows(rows: pd.DataFrame) -> str:
    """Write a warning where random starts were trained on other numbers of rows than pretrained
    ones."""
    known = rows.dropna(subset="train").astype({"train": int})
    train = known.groupby("series")["train"].agg(lambda sizes: sorted(set(sizes)))
    if "random_start" not in train or train["random_start"] == train["finetuned"]:
        return ""
    random, tuned = (", ".join(map(str, train[name])) for name in ("random_start", "finetuned"))
    return f"Not alike: random weights are trained on {random} rows, pretrained ones on {tuned}."


def sources(published: Mapping, table: pd.DataFrame) -> str:
    """Write a sentence on the published columns, if there are any."""
    if not (table["source"] == "published").any():
        return ""
    paper, entry = published["paper"], published["table1"]
    eight, elsewhere = published["figure8"], entry["elsewhere"]
    return (
        f"Paper: {paper['short']}, {entry['place']} ({entry['provenance']}), and Figures 8 and 9"
        f" with nothing disabled ({eight['provenance']}, metrics inferred). {elsewhere['short']}:"
        f" {elsewhere['place']}; all {elsewhere['checkpoint']}."
    )
