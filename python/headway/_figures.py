"""Figures, drawn as by `headway plot`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from . import _native
from ._names import unknown

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from ._record import Record

FIGURES = tuple(_native.figure_names_of_records())
"""Names of all figures of a record: metrics over time, distributions of delays, drops and packets."""

_PX_PER_MM = 96 / 25.4


class Figure:
    """A figure as vector graphics. A notebook displays it."""

    __slots__ = ("_inner",)
    _inner: _native.Figure

    @classmethod
    def _of(cls, native: _native.Figure) -> Figure:
        figure = cls.__new__(cls)
        figure._inner = native
        return figure

    @property
    def name(self) -> str:
        """Name of the figure, usable as a file name."""
        return self._inner.name

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return self._inner.svg

    def png(self, scale: float = 2.0) -> bytes:
        """Returns the figure as PNG with `scale` pixels for each px, from 0.1 to 8."""
        return self._inner.png(scale)

    def pdf(self) -> bytes:
        """Returns the figure as PDF: vector graphics with text in an embedded font."""
        return self._inner.pdf()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure in the format of the ending: `.svg`, `.png` or `.pdf`."""
        self._inner.save(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure {self.name!r}>"


class Style(TypedDict, total=False):
    """Style of a figure; the options of `headway plot` have the same meaning."""

    size: tuple[float, float]
    """Width and height in px (1/96 inch)."""
    size_mm: tuple[float, float]
    """Width and height in mm, in place of `size`."""
    font_size: float
    """Size of labels in px; 13 by default."""
    title: str
    """Text in place of the default title; "" for none."""
    x_label: str
    y_label: str
    legend: Literal["outside", "below", "none"]
    """Place of the legend; "outside" by default."""
    names: Mapping[str, str]
    """Texts that replace labels, such as `{"droptail": "DropTail"}`."""


def look(style: Style) -> dict[str, object]:
    """Returns the style of a figure for the native module."""
    known = Style.__annotations__
    for name in style:
        if name not in known:
            raise TypeError(f'a figure has no argument "{name}"{_native.choices(name, list(known))}')
    size = style.get("size")
    if (size_mm := style.get("size_mm")) is not None:
        if size is not None:
            raise ValueError("give size or size_mm, not both")
        size = size_mm[0] * _PX_PER_MM, size_mm[1] * _PX_PER_MM
    if size is not None and not all(200 <= round(side, 6) <= 4000 for side in size):
        given = size_mm or size
        raise ValueError(f"the size is {given[0]} x {given[1]}; expected px from 200 to 4000, or mm from 53 to 1058")
    return {
        "size": size,
        "font_size": style.get("font_size", 13.0),
        "title": style.get("title"),
        "x_label": style.get("x_label"),
        "y_label": style.get("y_label"),
        "legend": style.get("legend", "outside"),
        "names": list(style.get("names", {}).items()),
    }


def styled(drawn: _native.Figure, style: Style) -> Figure:
    """Returns a drawn figure. Warns of names in its style that replace no label."""
    # Lines that are no tags are text.
    texts = [line for line in drawn.svg.splitlines() if not line.startswith("<")]
    for label, text in style.get("names", {}).items():
        escaped = escape(text, quote=False).replace('"', "&quot;").replace("'", "&apos;")
        if not any(escaped in line for line in texts):
            warnings.warn(f'names: no label is "{label}"', stacklevel=3)
    return Figure._of(drawn)


Time = tuple[float | None, float | None]
"""Start and end of the simulated time to draw, in s; None is that of the measured interval."""

# Style of the marks of the figure sequence for matplotlib.
_MARKS: dict[str, dict[str, Any]] = {
    "sent": {"marker": ".", "color": "C0", "zorder": 1.0},
    "dropped": {"marker": "x", "color": "C1", "zorder": 4.0},
    "received": {"marker": "o", "color": "C2", "zorder": 2.0, "fillstyle": "none"},
    "acknowledged": {"marker": "+", "color": "C3", "zorder": 3.0},
}


@overload
def plot(
    records: Sequence[Record] | Mapping[str, Record],
    figure: str = ...,
    *,
    time: Time = ...,
    ax: None = None,
    **style: Unpack[Style],
) -> Figure: ...
@overload
def plot(
    records: Sequence[Record] | Mapping[str, Record], figure: str = ..., *, time: Time = ..., ax: Axes
) -> Axes: ...
def plot(
    records: Sequence[Record] | Mapping[str, Record],
    figure: str = "throughput",
    *,
    time: Time = (None, None),
    ax: Axes | None = None,
    **style: Unpack[Style],
) -> Figure | Axes:
    """Draws one of `headway.FIGURES` for one or more records.

    - `records`: a list, or a dict with a label for each record. Labels of a list are the names of
      the scenarios, with the seed or a number where names are equal.
    - `time`: start and end of the simulated time to draw, in s, such as `(5, 6)` or `(None, 10)`, of
      a figure over time. The default is the measured interval.
    - `ax`: axes of matplotlib. The lines of a figure over time are added to them, and the axes are
      returned. Without `ax`, a `Figure` is returned.
    - The other arguments are the style of the figure: `size` in px (1/96 inch) or `size_mm`,
      `font_size` in px, `title` ("" for none), `x_label`, `y_label`, `legend` ("outside", "below" or
      "none"), and `names` with texts that replace labels, such as `{"droptail": "DropTail"}`.
    """
    start, end = time
    if figure not in FIGURES:
        raise unknown("figure", figure, FIGURES)
    labeled = list(records.items()) if isinstance(records, Mapping) else _labeled(records)
    inner = [(label, record._inner) for label, record in labeled]
    missing = ValueError(f"the records have no values for the figure {figure}")
    if ax is not None:
        check_no_style(style)
        axis_label, lines = _native.lines(inner, figure, (start, end))
        if not lines:
            raise missing
        for label, times, values in lines:
            if figure == "sequence":
                ax.plot(times, values, label=label, linestyle="none", **_MARKS[label.rsplit(": ", 1)[-1]])
            else:
                # A queue keeps its length until the next sample, and a number of drops until the next drop.
                steps = figure in {"queue", "drops"}
                ax.plot(times, values, label=label, drawstyle="steps-post" if steps else "default")
        ax.set_xlabel("Time (s)")
        ax.set_ylabel(axis_label)
        if figure != "sequence":
            ax.set_ylim(bottom=0)
        return ax
    drawn = _native.draw(inner, figure, (start, end), look(style))
    if drawn is None:
        raise missing
    if figure == "drops" and len(inner) > 1:
        for label, record in inner:
            if not _native.lines([(label, record)], figure, (start, end))[1]:
                warnings.warn(f"{label}: no packet was dropped in this time", stacklevel=2)
    return styled(drawn, style)


def check_no_style(style: Style) -> None:
    """Refuses a style next to axes of matplotlib, which have their own."""
    if style:
        raise TypeError(f"with ax=, the style is that of matplotlib: remove {', '.join(style)}")


def _labeled(records: Sequence[Record]) -> list[tuple[str, Record]]:
    """Returns each record with a label that no other has."""
    names = [record.summary["name"] for record in records]
    if len(set(names)) < len(names):
        names = [f"{name} seed={record.summary['seed']}" for name, record in zip(names, records, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return list(zip(names, records, strict=True))
