"""Tables that other libraries read without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from . import _native


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

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._inner.column_names

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.column_names)}>"
