"""Tables that other libraries take without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from . import _native


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 flow`, `2 flows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Table:
    """Columns by name, as Arrow lays them out: whatever takes `__arrow_c_stream__` takes this, without copies.

    pyarrow (`pyarrow.table(table)`), polars (`polars.DataFrame(table)`), pandas 3, DuckDB and others do.
    """

    __slots__ = ("_inner",)
    _inner: _native.Table

    def __init__(self, native: _native.Table) -> None:
        """Records make it."""
        self._inner = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def to_pyarrow(self) -> pyarrow.Table:
        """As a table of pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """As a frame of polars, which must be installed."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a frame of pandas, which must be installed, and pyarrow with it. Names are categories."""
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
