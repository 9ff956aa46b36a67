"""Kovaleva et al. 2019, Table 1: scores by initialisation, beside constant answers and linear
probes."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bertshift.errors import UserError
from bertshift.figures import grids, numbers, style
from bertshift.naming import Model
from bertshift.rows import labelling, statistics
from bertshift.rows.provenance import ORIGIN
from bertshift.rows.statistics import POINTS
from bertshift.rows.table import Table, concat

BY = ["model", "series", "score"]
COLUMNS = ["panel", "series", "model", "score", "sd", "least", "most", "constant", "runs"]
COLUMNS += numbers.VALUES
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
SERIES = {name: label for group in GROUPS.values() for name, label in group.items()}
PAPER = {"pretrained": "random_head", "random_init": "random_start", "finetuned": "finetuned"}
CORRELATIONS = ("pearson", "spearman")
CORRELATION = "correlation"  # the mean of both
SCORES = labelling.SCORES | {CORRELATION: "mean of both"}
RUN = ["model", "series", "init", "seed"]

LABELS, CELL, ROW, HEADER = 0.85, 0.86, 0.42, 0.6  # inches
SATURATES = 50.0  # points from the majority class
EQUAL = 1e-4  # points; tables carry ten digits


def tidy(inputs: Mapping[str, Table], published: Mapping) -> pd.DataFrame:
    """Tabulate panels `score`, `above_majority` and `gain`: what fine-tuning adds to each column,
    mean over tasks.

    `sd`, `least` and `most` are over all `runs` (heads or replicates), of which `constant` give
    one answer to every input.
    """
    measured = runs(inputs)
    over_runs = measured.rows.groupby(BY, as_index=False).agg(
        sd=("value", "std"),
        least=("value", "min"),
        most=("value", "max"),
        constant=("constant", "sum"),
        runs=("value", "size"),
    )
    score = numbers.means_of_all(measured, BY, ["model", "series"])
    score = score.merge(over_runs, on=BY).assign(panel="score")
    gain = numbers.means(gains(measured).drop("failed"), BY, ["series"]).assign(panel="gain")
    paper = read_published(published, list(measured["model"].unique()))
    return numbers.join(score, above_majority(score), gain, *paper, columns=COLUMNS)


def above_majority(score: pd.DataFrame) -> pd.DataFrame:
    """Subtract the majority class's score from each row of panel `score`."""
    is_majority = score["series"] == "majority"
    majority = score[is_majority].set_index(["model", "score"])[["value", "table"]]
    above = score[~is_majority].join(majority.add_prefix("majority_"), on=["model", "score"])
    tables = zip(above["table"], above["majority_table"])
    replicates = above["each"].map(statistics.each_of)
    pairs = zip(replicates, above["majority_value"])
    above = above.assign(
        panel="above_majority",
        table=[numbers.each_once(names) for names in tables],
        each=[statistics.joined(np.subtract(values, level)) for values, level in pairs],
    )
    columns = ["value", "low", "high", "least", "most"]
    above[columns] = above[columns].sub(above["majority_value"], axis="index")
    return above


def runs(inputs: Mapping[str, Table]) -> Table:
    """List the scores of heads, probes and fine-tuned models in points, one row a score.

    The columns are model, series, score, draw, init, seed, value, scale, checkpoint, data and:

    constant: whether every input gets the same answer
    train: number of rows fine-tuned on
    failed: whether training failed; missing where nothing is fine-tuned

    `model` names the fine-tuned model, also in rows of its start and of the same model from random
    weights.
    """
    inputs = {path: table.assign(table=path) for path, table in inputs.items()}
    frozen = [table for table in inputs.values() if "draw" in table]
    tuned = [table for table in inputs.values() if "majority" in table]
    if not frozen or not tuned:
        raise UserError(
            f"no scores in {', '.join(inputs)}; delete them and run their rules again."
        )
    frozen = concat(frozen).in_points()
    answer = frozen["answer"].fillna("").astype(str)
    frozen = frozen.assign(
        model=frozen["child"],
        series=frozen["variant"],
        constant=answer != "",
    )
    tuned = concat(tuned).in_points()
    names = tuned["model"].map(Model.of)
    tuned = tuned.rename(metric="score").assign(
        series=["random_start" if name.variant("random") else "finetuned" for name in names],
        model=[str(name.without("random")) for name in names],
        draw=0,
    )
    answers = frozen.rows.query("series == 'constant'")
    tuned = tuned.assign(constant=is_constant(tuned.rows, answers))
    shown = frozen.where(frozen["series"].isin(SERIES))
    columns = [*BY, "draw", "init", "seed", "constant", "train", "failed", *ORIGIN, "table"]
    measured = concat([_majority_scores(tuned), shown, tuned])
    measured = measured.keep(measured.rows.reindex(columns=[*columns, "value"]))
    return concat([measured, _average_correlations(measured, columns)])


def _average_correlations(measured: Table, columns: list[str]) -> Table:
    """Average both of CORRELATIONS in rows that are alike in the other `columns`."""
    both = measured.where(measured["score"].isin(CORRELATIONS)).assign(score=CORRELATION)
    groups = both.rows.groupby(columns, dropna=False)
    both = both.where(groups["score"].transform("size") == len(CORRELATIONS))
    order = np.argsort(both.rows.groupby(columns, dropna=False).ngroup(), kind="stable")
    return both.keep(both.rows.iloc[order]).mean_of(columns)


def _majority_scores(tuned: Table) -> Table:
    """Replace the scores of the fine-tuned models by those of the majority class."""
    scores = tuned.query("series == 'finetuned'")
    scores = scores.assign(series="majority", constant=False, failed=None)
    return scores.with_value(POINTS * scores["majority"], scores.bounds.T)


def is_constant(tuned: pd.DataFrame, answers: pd.DataFrame) -> pd.Series:
    """Test for each row whether its run has, in every metric, the score of one and the same
    constant answer."""
    answers = answers[["model", "score", "draw", "init", "value"]]
    pairs = tuned.merge(answers, on=["model", "score"], suffixes=("", "_constant"))
    pairs["same"] = (pairs["value"] - pairs["value_constant"]).abs() < EQUAL
    answer = ["draw_constant", "init_constant"]
    same_in_all_metrics = pairs.groupby([*RUN, *answer])["same"].all()
    constant_runs = same_in_all_metrics.groupby(RUN).any().rename("same")
    return tuned.join(constant_runs, on=RUN)["same"].fillna(False).astype(bool)


def gains(measured: Table) -> Table:
    """Subtract each other column's score from that of every fine-tuned replicate, and average over
    the tasks; score `mean`, model ``.

    Replicates that lack some task are left out.
    """
    main = measured.rows.groupby("model")["score"].agg(_main_score)
    measured = measured.where(measured["score"] == measured["model"].map(main))
    tuned = measured.query("series == 'finetuned'")
    others = measured.query("series != 'finetuned'")
    parts = []
    for series, rows in others.rows.groupby("series", sort=False):
        is_tuned = (rows["seed"] != 0).any()
        run = ["model", "init", "seed"] if is_tuned else ["model", "init"]
        pairs = tuned.minus(others.keep(rows).averages(run), run)
        pairs = pairs.where(pairs["value"].notna())
        tasks = pairs.rows.groupby(["init", "seed"])["model"].transform("nunique")
        complete = pairs.where(tasks == len(main))
        tables = complete["table"] + f"; {numbers.each_once(rows['table'])}"
        parts.append(complete.assign(series=series, model="", score="mean", table=tables))
    return concat(parts)


def _main_score(scores: pd.Series) -> str:
    """Choose the score of a task that enters the mean over tasks."""
    for name in ("accuracy", CORRELATION):
        if name in set(scores):
            return name
    return scores.iloc[0]


def read_published(published: Mapping, models: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read the paper's table, its scores in Figure 8 and those of the same checkpoint elsewhere,
    for the first model of a task."""
    paper, entry, figure8 = (published[key] for key in ("paper", "table1", "figure8"))
    elsewhere = entry["elsewhere"]
    cells = _list_cells(entry)
    others = [
        {"task": task, "series": "transformers", "score": score, "value": value}
        for task, scores in elsewhere["rows"].items()
        for score, value in scores.items()
    ]
    baselines = [
        {
            "task": task,
            "series": "figures_8_9",
            "score": figure8["metrics"][task],
            "value": POINTS * panel["baseline"],
        }
        for task, panel in figure8["tasks"].items()
    ]
    first = labelling.first_of_tasks(models)
    for facts, source, rows in (
        (entry, paper, cells),
        (elsewhere, elsewhere, others),
        (figure8, paper, baselines),
    ):
        rows = pd.DataFrame(rows)
        rows["model"] = rows.pop("task").map(first)
        rows = rows.dropna(subset="model").to_dict("list")
        yield numbers.published(facts, source, panel="score", **rows)
    # The paper's mean is over its tasks.
    if set(first) != set(entry["rows"]) or len(first) != len(models):
        return
    facts = {"panel": "gain", "model": "", "score": "mean"}
    yield numbers.published(
        entry | {"provenance": "printed"},
        paper,
        series="random_head",
        value=entry["mean_gain"]["value"],
        **facts,
    )
    means = pd.DataFrame(cells).query("score != 'f1'").groupby("series")["value"].mean()
    yield numbers.published(
        entry | {"provenance": "derived"},
        paper,
        series="random_start",
        value=means["finetuned"] - means["random_start"],
        **facts,
    )


def _list_cells(entry: Mapping) -> list[dict]:
    """List every score of the paper's table; a cell of F1 and accuracy has two."""
    cells = []
    for task, row in entry["rows"].items():
        scores = ["f1", "accuracy"] if row["metric"] == "f1_acc" else [row["metric"]]
        constant = entry["constant"].get(task, {})
        for column, series in PAPER.items():
            for score, value in zip(scores, np.ravel(row[column])):
                cell = {"task": task, "series": series, "score": score, "value": value}
                cells.append(cell | {"constant": column in constant})
    return cells


def draw(inputs: Mapping[str, Table], published: Mapping) -> style.Drawn:
    """Draw the table, a row per task and score; the paper's numbers are in grey below ours."""
    table = tidy(inputs, published)
    shown = [name for name in SERIES if name in set(table["series"])]
    scored = table.query("panel == 'score' and source == 'ours'")
    lines = list(scored.groupby(["model", "score"], sort=False).groups)
    gain_line = len(lines) + 0.2
    width = max(style.TEXT_WIDTH, LABELS + CELL * len(shown))
    figure, [[axes]] = style.grid(HEADER + ROW * (len(lines) + 1.4), width=width)
    above = table.query("panel == 'above_majority'")
    fills = above.groupby(["model", "score", "series"])["value"].last().unstack()
    fills = fills.reindex(index=lines, columns=shown)
    heads = scored.query("series == 'random_head'")["runs"].max()
    names = [SERIES[name].format(f"{heads:.0f}") for name in shown]
    labels = [f"{labelling.label_of(model)}\n{SCORES.get(score, score)}" for model, score in lines]
    grids.coloured_table(
        axes,
        fills.to_numpy(float),
        names,
        labels,
        fontsize=7.5,
        cmap=grids.LOSS_TO_GAIN,
        vmin=-SATURATES,
        vmax=SATURATES,
    )
    cells = dict(list(table.groupby(["panel", "model", "score", "series"])))
    for x, name in enumerate(shown):
        for y, (model, score) in enumerate(lines):
            write(axes, x, y, cells.get(("score", model, score, name)))
        write(axes, x, gain_line, cells.get(("gain", "", "mean", name)), signed=True)
    models = [model for model, _ in lines]
    bounds = [y - 0.5 for y in range(1, len(lines)) if models[y] != models[y - 1]]
    axes.hlines(bounds, -0.5, len(shown) - 0.5, color="#808080", linewidth=0.6)
    ticks = [*range(len(lines)), gain_line]
    axes.set_yticks(ticks, [*labels, "Mean gain of\nfine-tuning"], fontsize=7.5)
    axes.set_ylim(len(lines) + 0.7, -0.5)
    for title, group in GROUPS.items():
        columns = [x for x, name in enumerate(shown) if name in group]
        grids.over(axes, title, columns, above=26)
    return style.captioned(figure, table, fewer_rows(runs(inputs).rows), sources(published, table))


def write(axes: Axes, x: float, y: float, cell: pd.DataFrame | None, signed: bool = False) -> None:
    """Write our number with its spread, and a published one in grey."""
    if cell is None:
        return
    lines = []
    for row in cell.itertuples():
        if row.source == "published":
            lines += _published_lines(row, signed)
        else:
            lines += _our_lines(row, signed)
    grids.write(axes, x, y, lines)


def _published_lines(row, signed: bool) -> list[tuple[str, dict]]:
    prefix = "paper " if row.series in PAPER.values() else ""
    text = f"{prefix}{grids.number(row.value, signed)}{dagger(row)}"
    return [(text, {"color": "#404040"})]


def _our_lines(row, signed: bool) -> list[tuple[str, dict]]:
    def number(value: float) -> str:
        return grids.number(value, signed)

    value = number(row.value)
    large = {"fontsize": 8.5}
    if row.series == "random_head" and not signed:
        bounds = f"[{number(row.least)}, {number(row.most)}]{dagger(row)}"
        return [(f"{value} ± {number(row.sd)}", large), (bounds, {})]
    lines = [(value + dagger(row), large)]
    spread = numbers.spread(row, number)
    if spread and (signed or row.series != "majority"):
        lines.append((spread, {}))
    return lines


def dagger(row) -> str:
    """Mark a constant answer's number by †. A mean over runs that are not all constant has the
    number of those that are behind it."""
    if not row.constant > 0:
        return ""
    return f" †{row.constant:.0f}" if row.constant < row.runs else " †"


def fewer_rows(rows: pd.DataFrame) -> str:
    """Write a warning where random starts were trained on other numbers of rows than pretrained
    ones."""
    rows = rows.dropna(subset="train").astype({"train": int})
    sizes = rows.groupby("series")["train"].unique()
    sizes = {series: sorted(train) for series, train in sizes.items()}
    if "random_start" not in sizes or sizes["random_start"] == sizes["finetuned"]:
        return ""
    random, tuned = (", ".join(map(str, sizes[name])) for name in ("random_start", "finetuned"))
    return f"Not alike: random weights are trained on {random} rows, pretrained ones on {tuned}."


def sources(published: Mapping, table: pd.DataFrame) -> str:
    """Write a sentence on the published columns, if there are any."""
    if not (table["source"] == "published").any():
        return ""
    paper, entry, figure8 = (published[key] for key in ("paper", "table1", "figure8"))
    elsewhere = entry["elsewhere"]
    return (
        f"Paper: {paper['short']}, {entry['place']} ({entry['provenance']}), and Figures 8 and 9"
        f" with nothing disabled ({figure8['provenance']}, metrics inferred)."
        f" {elsewhere['short']}: {elsewhere['place']}; all {elsewhere['checkpoint']}."
    )
