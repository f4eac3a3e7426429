"""Send queues of one's own, written in Python.

What waits, and how much of it there may be, is kept as for any other queue; a class decides. Times are integers in
ns, by the sender's clock. What it raises stops the run, and comes out as it was raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._native import Waiting


class SendQueue:
    """What waits for a rate controller to let it go: which packet is next, and which are thrown away.

    Packets are named by their places in `waiting`, where they lie in the order in which they came. `travel_ns` is how
    long a packet that goes now is taken to be on its way, by the scenario's `travel`.

    `choose` must be overridden; the rest costs nothing if it is not.
    """

    def choose(self, now_ns: int, waiting: Sequence[Waiting], travel_ns: int) -> int | None:
        """Which packet would go, or None: nothing, for now.

        It may be asked at any time, and more than once: asked again at the same instant, with the same packets waiting,
        it must answer the same.
        """
        raise NotImplementedError

    def discard(self, now_ns: int, waiting: Sequence[Waiting], travel_ns: int) -> Iterable[int]:
        """A packet goes, and is no longer among these: which of them are thrown away, as of no more use."""
        return ()

    def make_room(self, now_ns: int, waiting: Sequence[Waiting], newcomer: Waiting, travel_ns: int) -> int | None:
        """There is no room for `newcomer`: which packet is thrown away for it, or None: itself."""
        return None
