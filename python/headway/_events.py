"""What a connection reports: events and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    EventKind: TypeAlias = Literal[
        "connected", "datagram", "rate", "scale", "largest", "interrupted", "peer-not-listening", "closed", "other"
    ]
    Fate: TypeAlias = Literal[
        "sent", "delivered", "lost", "dropped", "expired", "refused", "pushed-out", "unknown", "withdrawn"
    ]
    Reason: TypeAlias = Literal[
        "here", "peer", "no-answer", "reset", "aborted", "breaker", "security", "refused", "socket", "other"
    ]


class Event(NamedTuple):
    """Event of a connection. Fields that an event of this kind does not have are None.

    - "connected": the connection is established: at a client, the server has answered. With
      `reconnect=True` also after each interruption.
    - "datagram": `fate` is the outcome of the datagram `number`. A datagram that is sent has one
      more event for each transmission, when it is known whether it arrived.
    - "rate": an encoder should produce data at `rate_bps` from now on.
    - "scale": only with the controller `udpm`, which has discrete rates. The peer announced
      `rate_bps`, the rate with the index `number`; an encoder should use it.
    - "largest": the largest datagram has `largest_bytes` from now on.
    - "interrupted": the connection is lost for this `reason`, and begins again when the server
      returns. Only at a client with `reconnect=True`.
    - "peer-not-listening": the peer's program no longer reads, so no more data is sent.
    - "closed": the connection is closed for this `reason`. This is the last event.
    - "other": an event of a newer version of the library.
    """

    kind: EventKind
    number: int | None = None
    """Number of the datagram, which `send` returned, or index of the discrete rate."""
    fate: Fate | None = None
    """Outcome of a datagram.

    - "sent": it was sent. A later event reports whether it arrived.
    - "delivered": the peer received it.
    - "lost": it was lost on the path.
    - "dropped": the peer received it, and its program did not read it in time.
    - "expired": it would have arrived after its deadline and was not sent.
    - "refused": the send queue was full and refused it.
    - "pushed-out": the send queue was full and discarded it for another one.
    - "unknown": it was sent, and its outcome is unknown.
    - "withdrawn": the connection was closed before it was sent.
    """
    lateness_s: float | None = None
    """Time by which a datagram that the send queue discarded would have been late, in s, as expected."""
    rate_bps: int | None = None
    """Rate for an encoder ("rate") or announced rate ("scale"), in bit/s."""
    largest_bytes: int | None = None
    """Size of the largest datagram that fits into one packet, in bytes."""
    reason: Reason | None = None
    """Reason of the end or interruption, as in `ConnectionClosed.reason`."""
    message: str | None = None
    """Sentence that describes `reason`."""


class Statistics(NamedTuple):
    """Statistics of a connection. Counters start at 0."""

    controller: str | None
    """Rate controller of the datagrams that this end sends, on which both ends agreed."""
    rtt_s: float | None
    """Smoothed round-trip time, in s; None before it is measured."""
    rate_bps: int | None
    """Rate at which an encoder should produce data, in bit/s; None before the first report of the peer."""
    queued_bytes: int
    """Bytes of the datagrams in the send queue."""
    sent_datagrams: int
    """Datagrams sent."""
    sent_bytes: int
    """Bytes of the datagrams sent."""
    lost_packets: int
    """Packets that this end sent and that were lost."""
    marked_packets: int
    """Packets that this end sent and that the network marked (Congestion Experienced)."""
    acknowledged_packets: int
    """Packets sent up to the newest one that the peer acknowledged, including lost ones."""
    received_datagrams: int
    """Datagrams received."""
    received_bytes: int
    """Bytes of the datagrams received."""
    missing_datagrams: int
    """Packets of the peer that have not arrived and may have carried datagrams."""
    unread_datagrams: int
    """Datagrams that arrived and were dropped, since this program did not read in time."""
