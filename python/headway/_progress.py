"""Progress line of a run on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class Line:
    """Rewrites the line at each call."""

    def __enter__(self) -> Line:
        return self

    def __call__(self, now_s: float, duration_s: float, packet_hops: int) -> None:
        """Callback for the argument `progress` of `Scenario.run`."""
        share = now_s / duration_s
        sys.stderr.write(f"\r{share:4.0%}  {now_s:.1f} of {duration_s:g} s, {packet_hops:,} packet-hops ")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        sys.stderr.write("\n")
