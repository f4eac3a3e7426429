"""HTML tables of a record for notebooks, with the columns of `headway run`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._record import Record
    from ._summary import FlowSummary, LinkSummary

_Entry = TypeVar("_Entry")

_MAX_ROWS = 10

_FLOWS: list[tuple[str, Callable[[FlowSummary], object]]] = [
    ("flow", lambda flow: flow["name"]),
    ("from", lambda flow: flow["from"]),
    ("to", lambda flow: flow["to"]),
    ("kind", lambda flow: flow["kind"]),
    ("sent", lambda flow: flow["sent_packets"]),
    ("lost", lambda flow: sum(flow["lost_packets"].values())),
    ("loss, %", lambda flow: _rounded(flow["loss_ratio"], 100)),
    ("rate, Mb/s", lambda flow: f"{flow['throughput_bps'] / 1e6:.3f}"),
    ("delay, ms", lambda flow: _rounded(_part(flow, "mean"), 1e3)),
    ("95 %, ms", lambda flow: _rounded(_part(flow, "p95"), 1e3)),
    ("jitter, ms", lambda flow: _rounded(flow["jitter_s"], 1e3)),
]
_LINKS: list[tuple[str, Callable[[LinkSummary], object]]] = [
    ("link", lambda link: link["name"]),
    ("arrived", lambda link: link["arrived_packets"]),
    ("dropped", lambda link: sum(link["dropped_packets"].values())),
    ("queue, packets", lambda link: _rounded(link["mean_queue_packets"], 1)),
    ("peak, packets", lambda link: link["peak_queue_packets"]),
    ("used, %", lambda link: _rounded(link["utilisation"], 100)),
]


def record(shown: Record) -> str:
    """Returns a heading, the table of flows, and the table of links that packets arrived at, by
    utilization.
    """
    summary = shown.summary
    links = [link for link in summary["links"] if link["arrived_packets"]]
    links.sort(key=lambda link: -link["utilisation"])
    parts = [_table(_FLOWS, summary["flows"]), _table(_LINKS, links)]
    return f"<p><b>{escape(repr(shown)[1:-1])}</b></p>" + "".join(parts)


def _table(columns: list[tuple[str, Callable[[_Entry], object]]], entries: list[_Entry]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name, _ in columns)
    rows = ["".join(f"<td>{escape(str(value(entry)))}</td>" for _, value in columns) for entry in entries[:_MAX_ROWS]]
    if len(entries) > _MAX_ROWS:
        rows.append(f'<td colspan="{len(columns)}">... {len(entries) - _MAX_ROWS} more</td>')
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _part(flow: FlowSummary, name: Literal["mean", "p95"]) -> float | None:
    delay = flow["one_way_delay_s"]
    return delay[name] if delay else None


def _rounded(value: float | None, scale: float) -> str:
    return "-" if value is None else f"{value * scale:.2f}"
