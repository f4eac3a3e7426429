"""Constants that several tests use."""

from pathlib import Path

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
