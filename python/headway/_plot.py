"""Figures drawn with matplotlib, in the style of `headway plot` and of the pages of the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from cycler import cycler
    from matplotlib import pyplot
except ImportError as missing:
    raise ImportError("figures need the package matplotlib: pip install matplotlib") from missing

from ._figures import FIGURES
from ._names import unknown
from ._native import axis_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from ._record import Record
    from ._sweep import ResultTable

# Palette of Okabe and Ito (2008), with gray in place of yellow, which is too pale for a line on
# white.
_COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c8c8c"]
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.labelcolor": "#222222",
    "axes.prop_cycle": cycler(color=_COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "figure.figsize": (9.6, 4.2),
    "figure.constrained_layout.use": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "text.color": "#222222",
    "xtick.color": "#666666",
    "ytick.color": "#666666",
}


def plot(records: Sequence[Record], name: str) -> Figure:
    """Returns a figure in which every flow or link of every record is a curve."""
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    shown = FIGURES[name]
    lines = {}
    for record in records:
        # Throughput is sampled for links as well as for flows.
        links = {link["name"] for link in record.summary["links"]}
        start = record.summary["interval"]["from"]
        for entity, (times, values) in record.samples(shown.metric).items():
            first = next((at for at, time in enumerate(times) if time >= start), len(times))
            idle = shown.of_links and not any(values)
            if (entity in links) == shown.of_links and not idle:
                label = entity if len(records) == 1 else f"{record.summary['name']}: {entity}"
                lines[label] = times[first:], values[first:]
    if not lines:
        raise ValueError(f"the run has no samples of {shown.metric}")
    largest = max((max(values, default=0.0) for _, values in lines.values()), default=0.0)
    y_title, scale = axis_title(shown.y_title, shown.unit, largest)
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots()
        for label, (times, values) in lines.items():
            axes.plot(times, [value / scale for value in values], label=label)
        axes.set_title(f"{shown.title}: {records[0].summary['name']}" if len(records) == 1 else shown.title)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(y_title)
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
        figure.legend(loc="outside right upper")
    # The caller displays the figure, so pyplot does not have to keep it.
    pyplot.close(figure)
    return figure


def plot_over(
    results: ResultTable, metric: int, over: str, by: str | None, *, log_x: bool, title: str | None
) -> Figure:
    """Returns a figure of a metric of a sweep over a key."""
    places, lines = results._inner.over(metric, over, by)
    keys = {name: key for key in results.to_dict()["keys"] for name in (key["name"], key["key"])}
    name, unit = keys[over]["name"], keys[over].get("unit")
    largest = max((abs(point[0]) for _, points in lines for point in points), default=0.0)
    if log_x and places is not None:
        raise ValueError(f"log_x: the values of {name} are not numbers")
    x_title, scale = axis_title(name, unit, largest) if places is None else (name, 1.0)
    highest = max((abs(mean) + (half or 0.0) for _, points in lines for _, mean, half in points), default=0.0)
    y_title, y_scale = axis_title(results.metrics[metric], results.to_dict()["units"][metric], highest)
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots()
        for label, points in lines:
            x, means, halves = zip(*points, strict=True) if points else ((), (), ())
            # matplotlib draws no error bar for NaN.
            bars = [float("nan") if half is None else half / y_scale for half in halves]
            at, values = [place / scale for place in x], [mean / y_scale for mean in means]
            axes.errorbar(at, values, yerr=bars, label=label, marker="o", markersize=4, capsize=3)
        axes.set_title(title or results.metrics[metric])
        axes.set_xlabel(x_title)
        axes.set_ylabel(y_title)
        if places is not None:
            axes.set_xticks(range(len(places)), places)
        elif log_x:
            if any(point[0] <= 0 for _, points in lines for point in points):
                raise ValueError(f"log_x: {name} has a value at or below 0, and a logarithmic axis begins above 0")
            axes.set_xscale("log")
        if by is not None:
            figure.legend(title=keys[by]["name"], loc="outside right upper")
    pyplot.close(figure)
    return figure
