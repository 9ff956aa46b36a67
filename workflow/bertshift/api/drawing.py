"""The picture of a comparison: the profile, and each measure by layer, as on the page."""

import math
import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from bertshift.api.measured import Measurements
from bertshift.errors import UserError
from bertshift.measures import MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bertshift.api.course import Course
    from bertshift.api.weights import Weights

# Modules that a picture and the page need.
PICTURE, PAGE = ["matplotlib"], ["matplotlib", "PIL", "vl_convert", "yaml", "jsonschema"]
# Packages by module, where their names differ.
PACKAGES = {
    "PIL": "pillow",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}
BLUE, GREY, ORANGE, WIDTH = "#0072B2", "#777777", "#D55E00", 7.5
TICKS = 8  # named steps on an axis
# Colours of the lines of a layer's own part and of what arrives there.
PARTS = {"made": ORANGE, "arrived": "#009E73"}
# Without formulas, as names of models may have characters with a meaning in TeX.
SHEET = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.usetex": False,
    "text.parse_math": False,
}


def has(modules: Sequence[str]) -> bool:
    """Test whether modules are installed."""
    return not _list_missing(modules)


def _list_missing(modules: Sequence[str]) -> list[str]:
    return [module for module in modules if not find_spec(module)]


def left_out(picture: str) -> str:
    """Say which of the picture and the page cannot be written, and how to install the missing
    packages; empty if none is missing."""
    missing = _list_missing(PAGE)
    if not missing:
        return ""
    files = "no index.html" if has(PICTURE) else f"no {picture} and no index.html"
    return f"{files}: {_describe_installation(missing)}"


def need(modules: Sequence[str]) -> None:
    """Raise UserError where modules are missing, with the command that installs them."""
    missing = _list_missing(modules)
    if missing:
        raise UserError(
            f"a picture needs packages that are not installed; {_describe_installation(missing)}"
        )
    _drop_missing_backend()


def _describe_installation(modules: Sequence[str]) -> str:
    packages = [PACKAGES.get(module, module) for module in modules]
    return f"call: pip install {' '.join(packages)}."


def _drop_missing_backend() -> None:
    """Drop MPLBACKEND where its module is not installed, as below a notebook's shell: with it
    matplotlib cannot be imported."""
    scheme, _, module = os.environ.get("MPLBACKEND", "").partition("://")
    if scheme == "module" and not find_spec(module.partition(".")[0]):
        del os.environ["MPLBACKEND"]


def draw(change: Measurements) -> "Figure":
    need(PICTURE)
    import matplotlib.pyplot as plt

    measures = list(change.profile.index)
    rows = math.ceil(len(measures) / 3)
    with plt.rc_context(SHEET):
        figure = _make_figure(WIDTH, 1.1 + 0.22 * len(measures) + 1.7 * rows)
        figure.suptitle(f"{change.model} and {change.reference}", fontsize=9)
        heights = [0.6 + 0.2 * len(measures), 1.7 * rows]
        above, below = figure.subfigures(2, 1, height_ratios=heights)
        _draw_profile(above.subplots(), change)
        for index, measure in enumerate(measures, 1):
            _draw_measure(below.add_subplot(rows, 3, index), change, measure)
        figure.draw_without_rendering()  # makes the tick labels while this style is active
    return figure


def draw_weights(found: "Weights") -> "Figure":
    """Draw the relative norm of the weights' change: layers down, kinds across."""
    need(PICTURE)
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    norms = found.by_layer
    values = norms.to_numpy(float)
    positive = values[values > 0]
    with plt.rc_context(SHEET):
        figure = _make_figure(1.6 + 0.8 * len(norms.columns), 1.4 + 0.2 * len(norms))
        axes = figure.subplots()
        axes.set_title(f"{found.model} and {found.reference}", fontsize=9)
        scale = LogNorm(positive.min(), positive.max()) if len(positive) else None
        image = axes.imshow(values, cmap="Blues", norm=scale, aspect="auto")
        axes.set_xticks(range(len(norms.columns)), norms.columns)
        axes.set_yticks(range(len(norms)), [str(layer) for layer in norms.index])
        axes.set_ylabel("layer")
        figure.colorbar(image, label="norm of the change, relative to the weights'")
        figure.draw_without_rendering()  # makes the tick labels while this style is active
    return figure


def draw_course(course: "Course") -> "Figure":
    """Draw each measure's change, layers up and steps across, with the step at half of it."""
    need(PICTURE)
    import matplotlib.pyplot as plt

    rows = math.ceil(len(course.shown) / 2)
    columns = min(2, len(course.shown))
    with plt.rc_context(SHEET):
        figure = _make_figure(3.75 * columns, 0.5 + 2.3 * rows)
        figure.suptitle(f"{course.model} and {course.reference}", fontsize=9)
        for index, measure in enumerate(course.shown, 1):
            _draw_steps(figure.add_subplot(rows, columns, index), course, measure)
        figure.draw_without_rendering()  # makes the tick labels while this style is active
    return figure


def _draw_steps(axes: "Axes", course: "Course", measure: str) -> None:
    shown, values, steps = course.shown[measure], course.by_step(measure), course.steps
    values = values.reindex(columns=steps)
    change = 1 - values if shown.is_similarity else values
    image = axes.imshow(
        change.clip(lower=0).to_numpy(float), cmap="Blues", aspect="auto", origin="lower"
    )
    label = f"1 - {measure}" if shown.is_similarity else measure
    axes.figure.colorbar(image, ax=axes, label=label)
    halves = course.halves[course.halves["measure"] == measure]
    ends = halves[["step", "low", "high"]].astype(float)
    place, low, high = np.interp(ends, steps, range(len(steps))).T
    rows = values.index.get_indexer(halves["layer"])
    axes.plot(place, rows, color=ORANGE, marker="o", markersize=3, linestyle="")
    axes.hlines(rows, low, high, color=ORANGE, linewidth=1)
    every = math.ceil(len(steps) / TICKS)
    axes.set_xticks(range(len(steps))[::every], steps[::every])
    axes.set_yticks(range(len(values)), values.index)
    axes.set(
        title=shown.title, xlabel="step; dot: half of the change, with interval", ylabel="layer"
    )
    axes.title.set_fontsize(8)


def _make_figure(width: float, height: float) -> "Figure":
    """Make an empty figure that notebooks show; without a backend that shows it, one for files
    only."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    try:
        figure = plt.figure(figsize=(width, height), layout="constrained")
    except ImportError:
        return Figure(figsize=(width, height), layout="constrained")
    plt.close(figure)
    return figure


def _draw_profile(axes: "Axes", change: Measurements) -> None:
    shares = change.profile
    axes.imshow(shares.to_numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(shares)), [change.shown[measure].title for measure in shares.index])
    axes.set_xticks(range(shares.shape[1]), shares.columns)
    axes.set_xlabel(
        "layer (0 = embeddings); darker is more change, relative to the layer that changes most"
    )


def _draw_measure(axes: "Axes", change: Measurements, measure: str) -> None:
    rows = change.by_layer(measure)
    axes.plot(rows.index, rows["value"], color=BLUE, marker="o", markersize=3, linewidth=1.3)
    axes.fill_between(rows.index, rows["low"], rows["high"], color=BLUE, alpha=0.2, linewidth=0)
    if rows["null"].notna().any():
        axes.plot(rows.index, rows["null"], color=GREY, linestyle=":", linewidth=1)
        axes.annotate(
            "unrelated",
            (rows.index[-1], rows["null"].iloc[-1]),
            color=GREY,
            fontsize=7,
            ha="right",
            va="bottom",
        )
    if change.draws:
        axes.plot(rows.index, rows["noise"], color=GREY, linewidth=1)
        axes.fill_between(
            rows.index, rows["noise_low"], rows["noise_high"], color=GREY, alpha=0.3, linewidth=0
        )
        axes.annotate(
            "noise",
            (rows.index[-1], rows["noise"].iloc[-1]),
            color=GREY,
            fontsize=7,
            xytext=(0, -4),
            textcoords="offset points",
            ha="right",
            va="top",
        )
    words = MEASURES["own_or_inherited"].words
    for part, colour in PARTS.items():
        if rows[part].notna().any():
            axes.plot(rows.index, rows[part], color=colour, linewidth=1, label=words[part])
            axes.legend(loc="lower left", fontsize=6, frameon=False)
    axes.set(
        title=change.shown[measure].title,
        xlabel="layer",
        xlim=(-0.3, change.profile.columns.max() + 0.3),
    )
    axes.title.set_fontsize(8)
    axes.locator_params(axis="x", integer=True)
