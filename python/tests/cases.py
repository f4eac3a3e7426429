"""Constants and controllers that several tests use."""

from pathlib import Path

import headway

ROOT = Path(__file__).resolve().parents[2]
"""Root folder of the repository."""

TEXT = """
duration = "5s"
[[link]]
between = ["r1", "r2"]
rate    = "2Mbps"
delay   = "10ms"
queue   = { kind = "red" }
[[flow]]
name      = "ftp"
from      = "r1"
to        = "r2"
transport = { kind = "tcp-newreno" }
source    = { kind = "ftp" }
"""


class Paced(headway.SenderHalf):
    """Sends each 10 ms."""

    gap_ns = 10_000_000

    def __init__(self, context):
        self.next_ns = context.now_ns

    def poll_send(self, now_ns, size_bytes):
        return self.next_ns

    def on_send(self, now_ns, number, size_bytes):
        self.next_ns = max(now_ns, self.next_ns) + self.gap_ns


class Slow(Paced):
    """Sends each 40 ms."""

    gap_ns = 40_000_000


class Broken(Paced):
    """Fails at the first packet."""

    def on_send(self, now_ns, number, size_bytes):
        return 1 // 0
