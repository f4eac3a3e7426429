"""The pictures of records over time, as `headway plot` names them. `_plot.py` draws them, and needs matplotlib."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Figure(NamedTuple):
    """What a picture shows."""

    metric: str
    """That of `Record.series`."""
    title: str
    y_title: str
    of_links: bool = False
    """Whether it is one of links; of flows otherwise."""
    unit: str | None = None
    """That of the metric; a picture shows a multiple of it in which values have few digits."""


FIGURES = {
    name: Figure(metric, title, y_title, of_links, unit)
    for name, metric, title, y_title, of_links, unit in _native.figures()
}
"""By their names."""
