"""Types of the extension module in Rust; see `crates/apps/python`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from ._events import EventKind, Fate, Reason

_Result = TypeVar("_Result")

_EventParts: TypeAlias = tuple[
    EventKind, int | None, Fate | None, float | None, int | None, int | None, Reason | None, str | None
]

_Problem = tuple[str, int | None, int | None, str, str, str]

__all__ = [
    "CODE",
    "VERSION",
    "Connection",
    "Feedback",
    "Figure",
    "Identity",
    "Listener",
    "Operation",
    "Options",
    "Packet",
    "Record",
    "ResultTable",
    "Scenario",
    "Session",
    "Sweep",
    "Table",
    "Waiting",
    "Wakeups",
    "choices",
    "connect",
    "dataset_table",
    "draw",
    "figure_names_of_records",
    "lines",
    "listen",
    "schema",
    "toml_document",
    "toml_value",
]

CODE: Final[str]
VERSION: Final[str]

def schema() -> str: ...
def toml_document(table: Mapping[str, object]) -> str: ...
def toml_value(value: object) -> str: ...
def choices(name: str, known: list[str]) -> str: ...
def figure_names_of_records() -> list[str]: ...
def draw(
    records: list[tuple[str, Record]],
    name: str,
    time: tuple[float | None, float | None],
    look: dict[str, object],
) -> Figure | None: ...
def lines(
    records: list[tuple[str, Record]], name: str, time: tuple[float | None, float | None]
) -> tuple[str, list[tuple[str, list[float], list[float]]]]: ...
def dataset_table(folder: str | PathLike[str], name: str) -> Table: ...
def connect(options: Options, host: str, port: int, scope: int) -> Connection: ...
def listen(options: Options, host: str, port: int, scope: int) -> Listener: ...

@final
class Figure:
    @property
    def name(self) -> str: ...
    @property
    def svg(self) -> str: ...
    def png(self, scale: float) -> bytes: ...
    def pdf(self) -> bytes: ...
    def save(self, path: str | PathLike[str]) -> None: ...

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
    """A report as it arrives at a sender half."""

    @property
    def acknowledged(self) -> int:
        """Highest number of a packet that the receiver had received when it wrote the report."""
    @property
    def rtt_sample_ns(self) -> int | None:
        """Round-trip time measured with this report, or None."""
    @property
    def own(self) -> bytes:
        """Bytes that `poll_report` returned, if `reports` is "own"."""
    @property
    def runs(self) -> list[tuple[str, int]]:
        """Runs of packets with the same status, if `reports` is "arrivals".

        Each entry has the status ("received", "marked" or "not received") and the number of
        packets. The first run starts at `acknowledged`; numbers descend.
        """
    @property
    def clock_ns(self) -> int | None:
        """Receiver clock when the report was written, if `reports` is "timed"."""
    @property
    def arrivals(self) -> list[tuple[str, int | None] | None]:
        """Status of each packet, if `reports` is "timed", from `acknowledged` downwards.

        Each entry has the ECN field and the time in ns from the arrival to the report. The time is
        None if it is unknown. The entry is None if the packet was not received.
        """
    @property
    def delivered_bytes(self) -> int | None:
        """Data bytes that this report newly acknowledges.

        None if the report does not cover each packet.
        """
    @property
    def lost_acks(self) -> int:
        """Number of reports that were lost since the previous report."""

@final
class Packet:
    """A packet that arrived at a receiver half."""

    @property
    def number(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Payload size, without headers."""
    @property
    def data(self) -> bool:
        """Whether the packet carries application data."""
    @property
    def ecn(self) -> str:
        """ECN field: "not-ect", "ect0", "ect1" or "ce"."""
    @property
    def sent_ns(self) -> int | None:
        """Send time on the sender clock; None unless packets carry it, as with "sender_clock" in `needs`.

        Only differences are meaningful.
        """
    @property
    def rtt_ns(self) -> int | None:
        """Round-trip time measured by the sender; None unless packets carry it, as with "round_trip"."""
    @property
    def own(self) -> bytes:
        """Bytes that `on_send` of the sender half returned."""

@final
class Waiting:
    """A packet in a send queue."""

    @property
    def size_bytes(self) -> int:
        """Payload size, without headers."""
    @property
    def kind(self) -> str:
        """Media kind: "audio", "video", "video-i", "video-p", "video-b" or "data"."""
    @property
    def priority(self) -> int:
        """Priority: 0 is sent before 1, and 1 before 2."""
    @property
    def created_ns(self) -> int:
        """Time at which the application wrote the packet, in ns on the sender clock."""
    @property
    def expires_ns(self) -> int | None:
        """Time after which the packet is useless to the receiver, in ns on the sender clock, or None."""
    @property
    def ends_frame(self) -> bool:
        """Whether the packet is the last one of its media frame; true if the source has no frames."""

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
    def summary_line(self) -> str: ...
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
    def cells(self, column: int, start: int, until: int) -> list[Any]: ...
    def ipc(self) -> bytes: ...
    @staticmethod
    def from_ipc(stream: bytes) -> Table: ...
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
        algorithms: str,
    ) -> Sweep: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def tasks(self) -> list[tuple[int, int]]: ...
    def check(self, metrics: Sequence[str]) -> None: ...
    def resolved(self, point: int, seed: int) -> str: ...
    def simulate(self, point: int, seed: int) -> str: ...
    def open(self, folder: str | PathLike[str], again: bool) -> Session: ...

@final
class Session:
    def messages(self) -> list[str]: ...
    def missing(self) -> list[tuple[int, int]]: ...
    def run(self, jobs: int | None, progress: Callable[[int, int], object] | None) -> None: ...
    def add(self, point: int, seed: int, summary: str) -> None: ...
    def refine(self, metrics: Sequence[str], relative: float, max_seeds: int) -> bool: ...
    def results(self, metrics: Sequence[str]) -> ResultTable: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...

@final
class ResultTable:
    def json(self) -> str: ...
    def plain(self) -> str: ...
    def csv(self) -> str: ...
    def against(self, value: str, paired: bool) -> ResultTable: ...
    def samples(self, row: int, metric: int) -> tuple[list[int], list[float]]: ...
    def cells(self, row: int) -> list[int | float | bool | str]: ...
    def draw(
        self, metric: int, x: str | None, by: str | None, kind: str, log_x: bool, look: dict[str, object]
    ) -> Figure: ...
    def axes(self, metric: int, x: str) -> tuple[tuple[str, float], tuple[str, float]]: ...
    def over(
        self, metric: int, x: str, by: str | None
    ) -> tuple[list[str] | None, list[tuple[str, list[tuple[float, float, float | None]]]]]: ...

@final
class Identity:
    """Certificate and private key of a client or of a listener.

    Peers authenticate it by the fingerprint of the certificate. An identity is lost at the end of
    the program unless its `pem` is stored.
    """

    def __new__(cls, pem: str) -> Identity:
        """Reads an identity from a text in PEM, such as the file of `headway recv --identity`.

        Raises ValueError if the text contains no certificate with its private key (P-256 or P-384).
        """
    @staticmethod
    def generate() -> Identity:
        """Creates an identity with a new key. Its certificate is valid for a year."""
    @property
    def pem(self) -> str:
        """Certificate and private key as a text in PEM.

        Keep it secret: an attacker with this text can impersonate this end.
        """
    @property
    def fingerprint(self) -> str:
        """Fingerprint of the certificate, by which peers authenticate this identity.

        Such as `sha-256 3C:5A:..`.
        """

@final
class Options:
    def __new__(
        cls,
        trust: Sequence[str] | None,
        identity: Identity | None,
        insecure: bool,
        controller: tuple[str, str] | None,
        queue: tuple[str, str] | None,
        reconnect: bool,
    ) -> Options: ...

@final
class Wakeups:
    def __new__(cls) -> Wakeups: ...
    def fileno(self) -> int: ...
    def take(self) -> list[int]: ...

@final
class Operation(Generic[_Result]):
    def wait(self, timeout: float | None) -> _Result: ...
    def poll(self, wakeups: Wakeups, key: int) -> tuple[_Result] | None: ...

@final
class Connection:
    def connected(self) -> Operation[None]: ...
    def recv(self) -> Operation[bytes]: ...
    def next_event(self) -> Operation[_EventParts | None]: ...
    def closed(self) -> Operation[None]: ...
    def send(self, data: bytes, deadline: float | None, priority: int, kind: str) -> int: ...
    def start_close(self) -> None: ...
    @property
    def peer(self) -> str | None: ...
    @property
    def rate_bps(self) -> int | None: ...
    @property
    def largest_bytes(self) -> int: ...
    def statistics(self) -> dict[str, Any] | None: ...

@final
class Listener:
    def accept(self) -> Operation[Connection | None]: ...
    def close(self) -> None: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def fingerprint(self) -> str | None: ...
