"""Base class for send queues written in Python.

Headway stores the waiting packets and enforces the limit of the queue. The class decides which
packet is sent next and which packets are discarded. Times are integers in ns on the sender clock.
An exception raised by the class stops the run and is raised unchanged by `Scenario.run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._native import Waiting


class SendQueue:
    """Queue of packets that wait for the rate controller to permit sending.

    Methods return indices into `waiting`, which lists the packets in the order of arrival.
    `travel_ns` is the expected time from sending a packet to its arrival, as defined by the key
    `travel` of the scenario.

    `choose` must be overridden. Methods that are not overridden are not called.
    """

    def choose(self, now_ns: int, waiting: Sequence[Waiting], travel_ns: int) -> int | None:
        """Returns the index of the packet to send next, or None to send no packet for now.

        Headway may call this method at any time, and more than once. Calls with the same time and
        the same waiting packets must return the same index.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method choose")

    def discard(self, now_ns: int, waiting: Sequence[Waiting], travel_ns: int) -> Iterable[int]:
        """Returns the indices of packets to discard.

        Called when a packet is sent; `waiting` no longer contains it.
        """
        return ()

    def make_room(self, now_ns: int, waiting: Sequence[Waiting], newcomer: Waiting, travel_ns: int) -> int | None:
        """Returns the index of the packet to discard when the queue is full.

        None discards `newcomer`.
        """
        return None
