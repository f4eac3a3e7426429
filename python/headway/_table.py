"""Tables that other libraries read without copies."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, overload

from . import _native
from ._names import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas
    import polars
    import pyarrow

_MAX_ROWS = 10


def counted(number: int, noun: str) -> str:
    """Returns the number with its noun: `1 flow`, `2 flows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Table:
    """Columns by name in Arrow format.

    Libraries that support `__arrow_c_stream__` read the table without copies. Among them are
    pyarrow (`pyarrow.table(table)`), polars (`polars.DataFrame(table)`), pandas 3 and DuckDB.
    """

    __slots__ = ("_inner",)
    _inner: _native.Table

    def __init__(self, native: _native.Table) -> None:
        """Called by `Record` and `SweepResult`."""
        self._inner = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def to_pyarrow(self) -> pyarrow.Table:
        """Returns a `pyarrow.Table`. Requires pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """Returns a `polars.DataFrame`. Requires polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a `pandas.DataFrame` in which names are categories.

        Requires pandas and pyarrow.
        """
        frame: pandas.DataFrame = self.to_pyarrow().to_pandas()
        return frame

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, key: str | int | slice) -> list[Any] | dict[str, Any] | list[dict[str, Any]]:
        """Returns a column by its name, a row by its number, or the rows of a slice."""
        names = self.column_names
        if isinstance(key, str):
            if key not in names:
                raise unknown("column", key, names)
            return self._inner.cells(names.index(key), 0, len(self))
        if isinstance(key, slice):
            rows = range(*key.indices(len(self)))
            if rows.step == 1:
                return self._rows(rows.start, rows.stop)
            return [self[row] for row in rows]
        row = key + len(self) if key < 0 else key
        if not 0 <= row < len(self):
            raise IndexError(f"there is no row {key}; the table has {counted(len(self), 'row')}")
        return self._rows(row, row + 1)[0]

    def _rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        names = self.column_names
        columns = [self._inner.cells(number, start, stop) for number in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows(0, len(self)))

    def head(self, rows: int = 5) -> list[dict[str, Any]]:
        """Returns the first rows, each as a dict."""
        return self[:rows]

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._inner.ipc(),)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(value)}</td>" for value in row.values()) + "</tr>"
            for row in self.head(_MAX_ROWS)
        )
        more = len(self) - _MAX_ROWS
        note = f"<p>and {counted(more, 'more row')}</p>" if more > 0 else ""
        return f"<table><tr>{head}</tr>{rows}</table>{note}"

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._inner.column_names

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.column_names)}>"


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def _restore(ipc: bytes) -> Table:
    return Table(_native.Table.from_ipc(ipc))
