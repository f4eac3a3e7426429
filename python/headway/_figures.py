"""The pictures of records over time, as `headway plot` names them. `_plot.py` draws them, and needs matplotlib."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """What a picture shows."""

    metric: str
    """That of `Record.series`."""
    title: str
    y_title: str
    of_links: bool = False
    """Whether it is one of links; of flows otherwise."""
    unit: str | None = None
    """That of the metric; a picture shows a multiple of it in which values have few digits."""


FIGURES = {
    "throughput": Figure("throughput_bps", "Throughput of each flow", "Throughput", unit="bps"),
    "allowed-rate": Figure("allowed_rate_bps", "Data rate that each controller allows", "Rate", unit="bps"),
    "queue": Figure("queue_packets", "Queue of each link", "Waiting", of_links=True, unit="packets"),
    "cwnd": Figure("cwnd_packets", "Congestion window of each flow", "Window", unit="packets"),
    "rtt": Figure("rtt_s", "Round trip as each controller has smoothed it", "Round trip", unit="s"),
    "loss-events": Figure("loss_event_ratio", "Loss event rate of each controller", "Loss event rate"),
    "loss": Figure("loss_packets", "Packets lost since the start", "Lost", unit="packets"),
}
"""By their names."""
