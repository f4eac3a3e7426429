"""How far a run is, on a line of stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class Line:
    """Writes the line again each time it is called."""

    def __enter__(self) -> Line:
        return self

    def __call__(self, now_s: float, duration_s: float, packet_hops: int) -> None:
        """See `Scenario.run`."""
        share = now_s / duration_s
        sys.stderr.write(f"\r{share:4.0%}  {now_s:.1f} of {duration_s:g} s, {packet_hops:,} packet-hops ")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        sys.stderr.write("\n")
