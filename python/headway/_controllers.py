"""Rate controllers of one's own, written in Python: two halves, as every controller of Headway has.

Times are integers in ns, by the half's own clock. What a half raises stops the run, and comes out as it was raised.
A run is the same each time as long as its halves are: take random numbers from `random.Random(context.seed)`, and no
time but what is passed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from ._native import Feedback, Packet

    Reports = Literal["nothing", "arrivals", "timed", "own"]


class SenderContext(NamedTuple):
    """What a sender half starts with."""

    now_ns: int
    packet_size_bytes: int
    """The data of a full packet, without headers."""
    header_bytes: int
    """What headers add to each."""
    rtt_ns: int | None
    """The round trip, if something has measured it."""
    line_rate_bps: int | None
    """How fast the wire behind it is, if anybody knows."""
    seed: int
    """For random numbers of its own: it follows from the scenario's seed and the flow's name."""


class ReceiverContext(NamedTuple):
    """What a receiver half starts with."""

    now_ns: int
    packet_size_bytes: int
    upcoming: int
    """The number of the next packet, if nothing is lost until then."""


class Status(NamedTuple):
    """What a sender half holds, for the series of a record and for encoders; what it does not have is None."""

    target_rate_bps: float | None = None
    pacing_rate_bps: float | None = None
    window_bytes: int | None = None
    window_packets: float | None = None
    ssthresh_packets: float | None = None
    rtt_ns: int | None = None


class SenderHalf:
    """The half at the data's sender: decides when data may go.

    `poll_send` must be overridden; the rest costs nothing if it is not.
    """

    def __init__(self, context: SenderContext) -> None:
        """Start."""

    def poll_send(self, now_ns: int, size_bytes: int) -> int | None:
        """When the next packet of data may go: now or earlier, later, or None, not before something happens.

        It may be asked at any time.
        """
        raise NotImplementedError

    def on_send(self, now_ns: int, number: int, size_bytes: int) -> bytes | None:
        """A packet goes now, with so much data.

        What it answers, up to 15 bytes, travels on it, and is `packet.own` at the receiver half.
        """

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        """A report has come."""

    def on_application_limited(self, now_ns: int) -> None:
        """Nothing waited although a packet might have gone."""

    def handle_timeout(self, now_ns: int) -> None:
        """The instant of `poll_timeout` has come."""

    def poll_timeout(self) -> int | None:
        """When `handle_timeout` must be called, if ever. When the next packet may go is `poll_send`'s to say."""
        return None

    def status(self) -> Status:
        """What it holds now."""
        return Status()


class ReceiverHalf:
    """The half at the data's receiver: decides when the sender is told, and what."""

    reports: ClassVar[Reports] = "nothing"
    """The shape of its reports: "nothing"; "own", up to 15 bytes that it writes itself; "arrivals", of each packet
    whether it has come; "timed", and when."""

    needs: ClassVar[tuple[str, ...]] = ()
    """What both halves need of what carries them: "sender_clock" (`packet.sent_ns`), "round_trip" (`packet.rtt_ns`),
    "line_rate"."""

    def __init__(self, context: ReceiverContext) -> None:
        """Start."""

    def on_packet(self, now_ns: int, packet: Packet) -> None:
        """A packet has come: each is told once, not always in order."""

    def poll_report(self, now_ns: int) -> bytes | bool | None:
        """The report that is due now: 1 to 15 bytes where reports are "own", else True. None or False if none is due.

        An answer of another type ends the run with a TypeError that names the method.
        """
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """The instant of `poll_timeout` has come."""

    def poll_timeout(self) -> int | None:
        """When `handle_timeout` must be called, if ever."""
        return None


class Controller(NamedTuple):
    """A rate controller: what makes its two halves. Each flow has halves of its own."""

    sender: Callable[[SenderContext], SenderHalf]
    receiver: type[ReceiverHalf] = ReceiverHalf
