"""The picture of a comparison: the profile, and each measure by layer, as on the page."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bertshift.api.change import Change
from bertshift.api.measures import MEASURES
from bertshift.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Modules that a picture and the page need, and what pip calls them.
PICTURE, PAGE = ["matplotlib"], ["matplotlib", "PIL", "vl_convert", "yaml", "jsonschema"]
PACKAGES = {
    "PIL": "pillow",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}  # others have their module's name
BLUE, GREY, WIDTH = "#0072B2", "#777777", 7.5


def need(modules: Sequence[str]) -> None:
    """Raise UserError, which says how to install what is missing."""
    if missing := [PACKAGES.get(module, module) for module in modules if not find_spec(module)]:
        raise UserError(
            f"a picture needs packages that are not installed; call: pip install {' '.join(missing)}."
        )


def draw(change: Change) -> "Figure":
    need(PICTURE)
    import matplotlib.pyplot as plt  # which lets notebooks show the figure

    measures = list(change.profile.index)
    rows = -(-len(measures) // 3)
    with plt.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = plt.figure(figsize=(WIDTH, 1.1 + 0.22 * len(measures) + 1.7 * rows), layout="constrained")
        figure.suptitle(f"{change.model} and {change.reference}", fontsize=9)
        above, below = figure.subfigures(2, 1, height_ratios=[0.6 + 0.2 * len(measures), 1.7 * rows])
        _profile(above.subplots(), change)
        for place, measure in enumerate(measures, 1):
            _measure(below.add_subplot(rows, 3, place), change, measure)
        plt.close(figure)
    return figure


def _profile(axes: "Axes", change: Change) -> None:
    shares = change.profile
    axes.imshow(shares.to_numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(shares)), [MEASURES[measure].title for measure in shares.index])
    axes.set_xticks(range(shares.shape[1]), shares.columns)
    axes.set_xlabel("layer (0 = embeddings); darker is more change, relative to the layer that changes most")


def _measure(axes: "Axes", change: Change, measure: str) -> None:
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
        last = rows.index[-1], rows["noise"].iloc[-1]
        place = {"xytext": (0, -4), "textcoords": "offset points", "ha": "right", "va": "top"}
        axes.annotate("noise", last, color=GREY, fontsize=7, **place)
    axes.set(title=MEASURES[measure].title, xlabel="layer", xlim=(-0.3, change.profile.columns.max() + 0.3))
    axes.title.set_fontsize(8)
    axes.locator_params(axis="x", integer=True)
