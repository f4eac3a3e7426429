"""Types of `summary.json`. The book's page on records describes each number."""

from __future__ import annotations

from typing import Any, TypedDict

# `from` is a keyword, so these are no classes.
_Ends = TypedDict("_Ends", {"from": str, "to": str})
Interval = TypedDict("Interval", {"from": float, "to": float})
"""The measured interval, in s."""


class DelaySummary(TypedDict):
    """Statistics of delays, in s."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


class RttSummary(TypedDict):
    """Round-trip times measured by a sender, in s."""

    mean: float
    min: float
    max: float


class _FlowParts(TypedDict, total=False):
    duplicate_packets: int
    one_way_delay_error_s: float
    frames: dict[str, dict[str, Any]]
    display: dict[str, Any]
    encoder: dict[str, Any]
    retransmitted_packets: int
    timeouts: int
    stuck: bool
    send_queue: dict[str, dict[str, Any]]
    connection_failure: str
    losses_judged: dict[str, Any]
    sessions: dict[str, Any]
    pages: dict[str, Any]
    phases: dict[str, dict[str, Any]]


class FlowSummary(_Ends, _FlowParts):
    """Results of a flow. Packets are those sent in the measured interval."""

    name: str
    kind: str
    sent_packets: int
    received_packets: int
    lost_packets: dict[str, int]
    in_flight_packets: int
    throughput_bps: float
    goodput_bps: float
    loss_ratio: float
    one_way_delay_s: DelaySummary | None
    jitter_s: float | None
    rtt_s: RttSummary | None
    on_time_ratio: dict[str, float]
    late_ratio: dict[str, float]
    r_factor: float | None
    mos: float | None
    rate_cov: float | None


class _LinkParts(TypedDict, total=False):
    duplicated_packets: int
    reordered_packets: int
    flows: list[dict[str, Any]]


class LinkSummary(_Ends, _LinkParts):
    """Results of a direction of a link."""

    name: str
    arrived_packets: int
    dropped_packets: dict[str, int]
    marked_packets: int
    mean_queue_packets: float
    mean_queue_bytes: float
    peak_queue_packets: int
    mean_red_average: float | None
    utilisation: float


class _Parts(TypedDict, total=False):
    hosts: list[dict[str, Any]]
    attackers: list[dict[str, Any]]


class Summary(_Parts):
    """Results of a run."""

    version: str
    name: str
    seed: int
    complete: bool
    interval: Interval
    flows: list[FlowSummary]
    links: list[LinkSummary]
    jain_index: float | None
    packet_hops: int
    fingerprint: str
