"""What the package takes from Rust; see `crates/apps/python`."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Final, final

_Problem = tuple[str, int | None, int | None, str, str, str]

__all__ = [
    "CODE",
    "VERSION",
    "Answer",
    "Feedback",
    "Packet",
    "Record",
    "Scenario",
    "Session",
    "Sweep",
    "Table",
    "Waiting",
    "axis_title",
    "dataset_table",
    "figures",
    "schema",
]

CODE: Final[str]
VERSION: Final[str]

def schema() -> str: ...
def axis_title(what: str, unit: str | None, largest: float) -> tuple[str, float]: ...
def figures() -> list[tuple[str, str, str, str, bool, str | None]]: ...
def dataset_table(folder: str | PathLike[str], name: str) -> Table: ...

@final
class Scenario:
    def __new__(
        cls,
        file: str,
        text: str,
        sets: Sequence[str],
        folder: str | PathLike[str],
        files: dict[str, bytes],
    ) -> Scenario: ...
    @property
    def file(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def sets(self) -> list[str]: ...
    @property
    def folder(self) -> str: ...
    @property
    def files(self) -> dict[str, bytes]: ...
    @property
    def toml(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def warnings(self) -> list[_Problem]: ...
    def count_runs(self) -> int: ...
    def run(
        self,
        traces: Sequence[str],
        progress: Callable[[float, float, int], object] | None,
        controllers: Sequence[tuple[str, Callable[..., object], Callable[..., object], str, Sequence[str]]],
        queues: Sequence[tuple[str, Callable[[], object]]],
    ) -> tuple[Record, BaseException | None, str | None]: ...

@final
class Feedback:
    """What a sender half is told of a report."""

    @property
    def acknowledged(self) -> int:
        """The greatest number that had come when it was written."""
    @property
    def rtt_sample_ns(self) -> int | None:
        """The round trip that it lets measure."""
    @property
    def own(self) -> bytes:
        """What `poll_report` has answered, where reports are "own"."""
    @property
    def runs(self) -> list[tuple[str, int]]:
        """Where they are "arrivals": from `acknowledged` downwards, how so many packets fared.

        "received", "marked" or "not received".
        """
    @property
    def clock_ns(self) -> int | None:
        """Where they are "timed": the receiver's clock when it was written."""
    @property
    def arrivals(self) -> list[tuple[str, int | None] | None]:
        """Where they are "timed": from `acknowledged` downwards, each packet's ECN field, and how long before it came.

        None: it has not come.
        """
    @property
    def delivered_bytes(self) -> int | None:
        """Data that is newly known to have come, where reports tell of each packet."""
    @property
    def lost_acks(self) -> int:
        """Reports that were lost since the last one."""

@final
class Packet:
    """What a receiver half is told of a packet that has come."""

    @property
    def number(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Its data, without headers."""
    @property
    def data(self) -> bool:
        """Whether it carries data of the application."""
    @property
    def ecn(self) -> str:
        """ "not-ect", "ect0", "ect1" or "ce"."""
    @property
    def sent_ns(self) -> int | None:
        """When it was sent, by the sender's clock, where that travels along. Only differences say something."""
    @property
    def rtt_ns(self) -> int | None:
        """The sender's round trip, where that travels along."""
    @property
    def own(self) -> bytes:
        """What `on_send` has answered."""

@final
class Waiting:
    """What a send queue is told of a packet that waits."""

    @property
    def size_bytes(self) -> int:
        """Its data, without headers."""
    @property
    def kind(self) -> str:
        """ "audio", "video", "video-i", "video-p", "video-b" or "data"."""
    @property
    def priority(self) -> int:
        """Which goes first: 0 before 1 before 2."""
    @property
    def created_ns(self) -> int:
        """When the application handed it over."""
    @property
    def expires_ns(self) -> int | None:
        """When it is of no more use to the receiver, if ever."""
    @property
    def ends_frame(self) -> bool:
        """Whether it is the last packet of its frame."""

@final
class Record:
    def __new__(
        cls,
        summary: str,
        series: bytes | None,
        events: bytes | None,
        distributions: str | None,
        traces: dict[str, bytes],
        timing: str,
    ) -> Record: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Record: ...
    def save(self, scenario: Scenario, path: str | PathLike[str]) -> None: ...
    @property
    def summary_json(self) -> str: ...
    @property
    def timing_json(self) -> str: ...
    @property
    def distributions_json(self) -> str | None: ...
    @property
    def series_bytes(self) -> bytes | None: ...
    @property
    def events_bytes(self) -> bytes | None: ...
    @property
    def traces(self) -> dict[str, bytes]: ...
    def flows(self) -> Table: ...
    def links(self) -> Table: ...
    def series(self) -> Table: ...
    def events(self) -> Table: ...
    def samples(self, metric: str) -> list[tuple[str, list[float], list[float]]]: ...
    def metric(self, expression: str) -> float | None: ...
    def tables(self) -> str: ...

@final
class Table:
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Sweep:
    def __new__(
        cls,
        file: str,
        text: str,
        sets: Sequence[str],
        folder: str | PathLike[str],
        files: dict[str, bytes],
        varies: Sequence[str],
    ) -> Sweep: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def tasks(self) -> list[tuple[int, int]]: ...
    def check(self, metrics: Sequence[str]) -> None: ...
    def simulate(self, point: int, seed: int) -> str: ...
    def open(self, folder: str | PathLike[str], again: bool) -> Session: ...

@final
class Session:
    def told(self) -> list[str]: ...
    def missing(self) -> list[tuple[int, int]]: ...
    def run(self, jobs: int | None, progress: Callable[[int, int], object] | None) -> None: ...
    def add(self, point: int, seed: int, summary: str) -> None: ...
    def refine(self, metrics: Sequence[str], relative: float, most: int) -> bool: ...
    def answer(self, metrics: Sequence[str]) -> Answer: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...

@final
class Answer:
    def json(self) -> str: ...
    def plain(self) -> str: ...
    def csv(self) -> str: ...
    def against(self, value: str, paired: bool) -> Answer: ...
    def samples(self, row: int, metric: int) -> tuple[list[int], list[float]]: ...
    def cells(self, row: int) -> list[int | float | bool | str]: ...
    def over(
        self, metric: int, x: str, by: str | None
    ) -> tuple[list[str] | None, list[tuple[str, list[tuple[float, float, float | None]]]]]: ...
