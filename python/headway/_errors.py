"""The exceptions of Headway.

    Error
    +- ScenarioError   a scenario that is wrong, or cannot be read; a ValueError too
    +- RunError        a run that cannot go on; a RuntimeError too
    +- RecordError     a folder that is no record, or may not be written
    +- MetricError     an expression that is none, or does not fit a record; a ValueError too

Ctrl-C in a run is Python's KeyboardInterrupt, as everywhere; `Record.of` gives what there is of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._record import Record


class Error(Exception):
    """Whatever Headway finds wrong."""


class Problem(NamedTuple):
    """One thing that is wrong with a scenario, or for a warning, odd."""

    file: str
    """The scenario file, as it was named."""
    line: int | None
    """The line in it, from 1; None of what is set or what is missing."""
    column: int | None
    """The column, in characters, from 1."""
    key: str
    """The key, such as `link[0].queue.limit`; empty if it is none in particular."""
    message: str
    """What is wrong and what would be right."""
    text: str
    """All of this, with the line and carets under what is meant."""

    def __str__(self) -> str:
        return self.text


class ScenarioError(Error, ValueError):
    """A scenario that is wrong: where, why, and what would be right. `problems` has everything that was found."""

    def __init__(
        self, problems: Sequence[tuple[str, int | None, int | None, str, str, str]], more: bool = False
    ) -> None:
        """One problem at least; `more`: whether looking for others was given up."""
        self.problems = [Problem(*problem) for problem in problems]
        self.more = more
        # What copies and pickles are made of.
        super().__init__(self.problems, more)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), *(["and more"] if self.more else [])])

    @property
    def file(self) -> str:
        """That of the first problem."""
        return self.problems[0].file

    @property
    def line(self) -> int | None:
        """That of the first problem."""
        return self.problems[0].line

    @property
    def column(self) -> int | None:
        """That of the first problem."""
        return self.problems[0].column

    @property
    def key(self) -> str:
        """That of the first problem."""
        return self.problems[0].key

    @property
    def message(self) -> str:
        """That of the first problem."""
        return self.problems[0].message


class RunError(Error, RuntimeError):
    """A run that cannot go on. `record` is what there is of it, and is not complete."""

    def __init__(self, message: str, record: Record) -> None:
        """Why, and the record so far."""
        super().__init__(message, record)
        self.message = message
        self.record = record

    def __str__(self) -> str:
        return self.message


class RecordError(Error):
    """A folder that is no record, or that a record may not be written to."""

    def __init__(self, path: str, message: str) -> None:
        """The folder or the file in it, and what is wrong with it."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class MetricError(Error, ValueError):
    """An expression that is none, or that names what the record does not have."""

    def __init__(self, expression: str, message: str) -> None:
        """As it is written, and what is wrong with it."""
        super().__init__(expression, message)
        self.expression = expression
        self.message = message

    def __str__(self) -> str:
        return f"{self.expression}: {self.message}"
