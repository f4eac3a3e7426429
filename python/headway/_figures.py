"""Figures of a record over time, with the names of `headway plot`.

They are drawn by `_plot.py` with matplotlib.
"""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Figure(NamedTuple):
    """Content of a figure."""

    metric: str
    """Name of the metric in `Record.series`."""
    title: str
    y_title: str
    of_links: bool = False
    """Whether the curves are links; otherwise they are flows."""
    unit: str | None = None
    """Unit of the metric. The figure uses a multiple of it for which values have few digits."""


FIGURES = {
    name: Figure(metric, title, y_title, of_links, unit)
    for name, metric, title, y_title, of_links, unit in _native.figures()
}
"""All figures by name."""
