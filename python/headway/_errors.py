"""Exceptions of Headway.

    Error
    +- ScenarioError      a scenario that is invalid or cannot be read; also a ValueError
    +- RunError           a run that cannot continue; also a RuntimeError
    +- RecordError        a folder that is not a record or cannot be written
    +- MetricError        an expression that is invalid or does not match a record; also a ValueError
    +- ConnectionClosed   a connection that is closed or cannot be established; also a ConnectionError
    +- DatagramTooLarge   a datagram that does not fit into one packet; also a ValueError
    +- SocketError        a socket that cannot be opened or is closed; also an OSError

Ctrl-C during a run raises KeyboardInterrupt. `Record.of` returns the partial record of an
interrupted run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._events import Reason
    from ._record import Record


class Error(Exception):
    """Base class of all exceptions of Headway."""


class Problem(NamedTuple):
    """An error in a scenario, or a warning about it."""

    file: str
    """Path of the scenario file, as the caller passed it."""
    line: int | None
    """Line in the file, from 1; None for a key that was set by `Scenario.set` or is missing."""
    column: int | None
    """Column in characters, from 1."""
    key: str
    """Key, such as `link[0].queue.limit`; empty if the problem is not about a key."""
    message: str
    """Description of the problem and of what is allowed."""
    text: str
    """The complete message, with the line and carets below the relevant part."""

    def __str__(self) -> str:
        return self.text


class ScenarioError(Error, ValueError):
    """An invalid scenario. `problems` lists all errors that were found."""

    def __init__(
        self, problems: Sequence[tuple[str, int | None, int | None, str, str, str]], more: bool = False
    ) -> None:
        """`problems` has at least one entry.

        `more` is true if the search for problems stopped early.
        """
        self.problems = [Problem(*problem) for problem in problems]
        self.more = more
        # Copies and pickles are created from these arguments.
        super().__init__(self.problems, more)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), *(["and more"] if self.more else [])])

    @property
    def file(self) -> str:
        """File of the first problem."""
        return self.problems[0].file

    @property
    def line(self) -> int | None:
        """Line of the first problem."""
        return self.problems[0].line

    @property
    def column(self) -> int | None:
        """Column of the first problem."""
        return self.problems[0].column

    @property
    def key(self) -> str:
        """Key of the first problem."""
        return self.problems[0].key

    @property
    def message(self) -> str:
        """Message of the first problem."""
        return self.problems[0].message


class RunError(Error, RuntimeError):
    """A run that cannot continue. `record` is the record up to the failure; it is not complete."""

    def __init__(self, message: str, record: Record) -> None:
        """`message` is the reason, `record` the record up to the failure."""
        super().__init__(message, record)
        self.message = message
        self.record = record

    def __str__(self) -> str:
        return self.message


class RecordError(Error):
    """A folder that is not a record, or that a record cannot be written to."""

    def __init__(self, path: str, message: str) -> None:
        """`path` is the folder or a file in it, `message` the reason."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class MetricError(Error, ValueError):
    """An expression that is invalid, or that names a value that the record does not have."""

    def __init__(self, expression: str, message: str) -> None:
        """`expression` is the text that was passed, `message` the reason."""
        super().__init__(expression, message)
        self.expression = expression
        self.message = message

    def __str__(self) -> str:
        return f"{self.expression}: {self.message}"


class ConnectionClosed(Error, ConnectionError):
    """A connection that is closed, or that cannot be established."""

    def __init__(self, message: str, reason: Reason) -> None:
        """`message` is a sentence with the reason."""
        super().__init__(message)
        self.message = message
        self.reason = reason
        """Reason of the end.

        - "here": this end closed the connection.
        - "peer": the peer closed it.
        - "no-answer": the peer does not answer.
        - "reset": the peer refused the connection or ended it with an error.
        - "aborted": this end ended it after an error.
        - "breaker": the circuit breaker ended it: its data harmed the network or did not arrive.
        - "security": the secure session failed or ended. A fingerprint may be wrong.
        - "refused": it could not be opened.
        - "socket": the socket failed.
        - "other": a reason of a newer version of the library.
        """

    def __reduce__(self) -> tuple[type[ConnectionClosed], tuple[str, str]]:
        return type(self), (self.message, self.reason)


class DatagramTooLarge(Error, ValueError):
    """A datagram that does not fit into one packet on this path."""

    def __init__(self, message: str, size_bytes: int, largest_bytes: int) -> None:
        """`largest_bytes` is the size of the largest datagram."""
        super().__init__(message, size_bytes, largest_bytes)
        self.message = message
        self.size_bytes = size_bytes
        self.largest_bytes = largest_bytes

    def __str__(self) -> str:
        return self.message


class SocketError(Error, OSError):
    """A socket that cannot be opened or is closed. `errno` is the error of the system, if any."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        """`message` is a sentence with the reason."""
        super().__init__(message)
        self.message = message
        self.errno = errno

    def __reduce__(self) -> tuple[type[SocketError], tuple[str, int | None]]:
        return type(self), (self.message, self.errno)
