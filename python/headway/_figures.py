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
    is_rate: bool = False
    """Whether its unit follows its largest value."""


FIGURES = {
    "throughput": Figure("throughput_bps", "Throughput of each flow", "Throughput", is_rate=True),
    "allowed-rate": Figure("allowed_rate_bps", "Data rate that each controller allows", "Rate", is_rate=True),
    "queue": Figure("queue_packets", "Queue of each link", "Waiting (packets)", of_links=True),
    "cwnd": Figure("cwnd_packets", "Congestion window of each flow", "Window (packets)"),
    "rtt": Figure("rtt_s", "Round trip as each controller has smoothed it", "Round trip (s)"),
    "loss-events": Figure("loss_event_ratio", "Loss event rate of each controller", "Loss event rate"),
    "loss": Figure("loss_packets", "Packets lost since the start", "Lost (packets)"),
}
"""By their names."""
