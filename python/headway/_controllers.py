"""Base classes for rate controllers written in Python.

A controller has a sender half and a receiver half. Times are integers in ns, read from the clock of
the half's node. An exception raised by a half stops the run and is raised unchanged by
`Scenario.run`.

Runs are deterministic if the halves are. Take random numbers from `random.Random(context.seed)`,
and use only the times that are passed as arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from ._native import Feedback, Packet

    Reports = Literal["nothing", "arrivals", "timed", "own"]


class SenderContext(NamedTuple):
    """Arguments to the constructor of a sender half."""

    now_ns: int
    packet_size_bytes: int
    """Payload of a full packet, without headers."""
    header_bytes: int
    """Size of the headers of each packet."""
    rtt_ns: int | None
    """Round-trip time, or None if it has not been measured yet."""
    line_rate_bps: int | None
    """Rate of the outgoing link, or None if it is unknown."""
    seed: int
    """Seed for random numbers, derived from the seed of the scenario and the name of the flow."""


class ReceiverContext(NamedTuple):
    """Arguments to the constructor of a receiver half."""

    now_ns: int
    packet_size_bytes: int
    upcoming: int
    """Number of the packet that the receiver expects next; above 0 if packets of a handshake used some numbers."""


class Status(NamedTuple):
    """State of a sender half, for the time series of a record and for encoders.

    A value that the half does not maintain is None.
    """

    target_rate_bps: float | None = None
    pacing_rate_bps: float | None = None
    window_bytes: int | None = None
    window_packets: float | None = None
    ssthresh_packets: float | None = None
    rtt_ns: int | None = None


class SenderHalf:
    """Sender half of a controller: decides when data may be sent.

    `poll_send` must be overridden. Methods that are not overridden are not called.
    """

    def __init__(self, context: SenderContext) -> None:
        """Creates the half at the start of its flow."""

    def poll_send(self, now_ns: int, size_bytes: int) -> int | None:
        """Returns when the next data packet may be sent.

        A time up to `now_ns` means now. None means that sending is blocked until another event
        occurs. Headway may call this method at any time.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method poll_send")

    def on_send(self, now_ns: int, number: int, size_bytes: int) -> bytes | None:
        """Called when a packet with `size_bytes` of data is sent.

        The returned bytes, at most 15, are carried by the packet. The receiver half reads them from
        `packet.own`.
        """

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        """Called when a report arrives."""

    def on_application_limited(self, now_ns: int) -> None:
        """Called when a packet could have been sent but no data was waiting."""

    def handle_timeout(self, now_ns: int) -> None:
        """Called at the time that `poll_timeout` returned."""

    def poll_timeout(self) -> int | None:
        """Returns when `handle_timeout` must be called, or None for no timeout.

        After that call it returns a later time or None. This timeout is separate from the send time
        that `poll_send` returns.
        """
        return None

    def status(self) -> Status:
        """Returns the current state."""
        return Status()


class ReceiverHalf:
    """Receiver half of a controller: decides when to send a report, and with which content."""

    reports: ClassVar[Reports] = "nothing"
    """Format of the reports.

    - "nothing": no reports.
    - "own": 1 to 15 bytes that `poll_report` returns.
    - "arrivals": for each packet, whether it has arrived.
    - "timed": for each packet, whether and when it arrived.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Information that the halves require from the transport.

    "sender_clock" provides `packet.sent_ns`, "round_trip" provides `packet.rtt_ns`, and "line_rate"
    provides `line_rate_bps` of the sender context.
    """

    def __init__(self, context: ReceiverContext) -> None:
        """Creates the half at the start of its flow."""

    def on_packet(self, now_ns: int, packet: Packet) -> None:
        """Called when a packet arrives: once for each packet, not always in order."""

    def poll_report(self, now_ns: int) -> bytes | bool | None:
        """Returns the report that is due now: 1 to 15 bytes if `reports` is "own", else True.

        Returns None if no report is due; False is allowed too, except if `reports` is "own". A
        value of another type ends the run with a TypeError that names the method.
        """
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """Called at the time that `poll_timeout` returned."""

    def poll_timeout(self) -> int | None:
        """Returns when `handle_timeout` must be called, or None for no timeout.

        After that call it returns a later time or None.
        """
        return None


class Controller(NamedTuple):
    """Rate controller: the factories of its two halves. Each flow gets separate halves."""

    sender: Callable[[SenderContext], SenderHalf]
    receiver: type[ReceiverHalf] = ReceiverHalf
