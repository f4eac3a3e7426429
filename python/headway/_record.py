"""What a run leaves."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _native
from ._table import Table, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._scenario import Scenario


class Record:
    """The measurements of one run."""

    __slots__ = ("_cached_summary", "_inner", "_scenario")
    _inner: _native.Record
    # A record that was read knows its folder.
    _scenario: Scenario | str
    _cached_summary: dict[str, Any] | None

    @classmethod
    def _of(cls, native: _native.Record, scenario: Scenario | str) -> Record:
        record = cls.__new__(cls)
        record._inner, record._scenario, record._cached_summary = native, scenario, None
        return record

    def _keep_with(self, stopped: KeyboardInterrupt) -> None:
        # A class of its own would not end the program as Ctrl-C does.
        stopped.record = self  # type: ignore[attr-defined]
        # Since Python 3.11.
        if hasattr(stopped, "add_note"):
            stopped.add_note("what was done is kept: headway.Record.of(this exception) is not complete")

    @staticmethod
    def of(stopped: BaseException) -> Record | None:
        """What there is of the run that this KeyboardInterrupt or RunError has ended. It is not complete."""
        record = getattr(stopped, "record", None)
        return record if isinstance(record, Record) else None

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Record:
        """Reads the folder that a run has left, but for its traces."""
        return cls._of(_native.Record.load(folder), os.fspath(folder))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the folder that `headway run` leaves, which can be cited, drawn and run again.

        The folder is new, empty, or holds a record, which it writes over.
        """
        self._inner.save(self.scenario._inner, folder)

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        if isinstance(self._scenario, str):
            from ._scenario import Scenario

            self._scenario = Scenario.load(os.path.join(self._scenario, "scenario.toml"))
        return self._scenario

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers, as `summary.json` has them."""
        if self._cached_summary is None:
            self._cached_summary = json.loads(self._inner.summary_json)
        return self._cached_summary

    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
        return bool(self.summary["complete"])

    @property
    def fingerprint(self) -> str:
        """The order of the run's events: equal for equal runs, on any machine."""
        return str(self.summary["fingerprint"])

    @property
    def timing(self) -> dict[str, float]:
        """What the run took: wall_s, simulated_s, speed, packet_hops_per_s, events. No two machines agree."""
        return dict(json.loads(self._inner.timing_json))

    @property
    def flows(self) -> Table:
        """A row a flow. Columns are called as the paths of `metric` are, such as `one_way_delay_s.p95`."""
        return Table(self._inner.flows())

    @property
    def links(self) -> Table:
        """A row a direction of a link, with columns as of `flows`."""
        return Table(self._inner.links())

    @property
    def series(self) -> Table:
        """Samples over time: time_ns, entity (a flow, or a link's direction), metric, value.

        Without rows if the scenario records none.
        """
        return Table(self._inner.series())

    @property
    def events(self) -> Table:
        """What went wrong, and when: time_ns, event, entity, flow, kind, cause, sequence, bytes, late_ns.

        Without columns if the record has none: that of a sweep's run, or of a run between sockets.
        """
        return Table(self._inner.events())

    @property
    def distributions(self) -> dict[str, Any] | None:
        """How long each packet and frame took, as `distributions.json` has it.

        None unless the scenario asks for it: `record={"distributions": True}`.
        """
        text = self._inner.distributions_json
        return None if text is None else dict(json.loads(text))

    @property
    def traces(self) -> dict[str, bytes]:
        """The bytes of each trace that was asked for, by its format."""
        return self._inner.traces

    def samples(self, metric: str) -> dict[str, tuple[list[float], list[float]]]:
        """The series of this metric by entity: times in s, and values."""
        return {entity: (times, values) for entity, times, values in self._inner.samples(metric)}

    def metric(self, expression: str) -> float | None:
        """A number by name: "mean(flow[media*].throughput_bps) / 1e3". None where the run has no such number."""
        return self._inner.metric(expression)

    def plot(self, figure: str = "throughput") -> Figure:
        """A picture over time, by matplotlib, which must be installed: one of `headway.FIGURES`."""
        from ._plot import plot

        return plot([self], figure)

    def __repr__(self) -> str:
        summary = self.summary
        state = "" if self.complete else ", not complete"
        return (
            f"<Record {summary['name']!r}: seed {summary['seed']}, {summary['interval']['to']:g} s, "
            f"{counted(len(summary['flows']), 'flow')}{state}>"
        )

    def __str__(self) -> str:
        return f"{self!r}\n\n{self._inner.tables()}"

    def _repr_html_(self) -> str:
        from ._html import record

        return record(self)

    def __reduce__(self) -> tuple[object, ...]:
        was = self._inner
        parts = (
            was.summary_json,
            was.series_bytes,
            was.events_bytes,
            was.distributions_json,
            was.traces,
            was.timing_json,
        )
        return _again, (*parts, self.scenario)


def _again(
    summary: str,
    series: bytes | None,
    events: bytes | None,
    distributions: str | None,
    traces: dict[str, bytes],
    timing: str,
    scenario: Scenario,
) -> Record:
    return Record._of(_native.Record(summary, series, events, distributions, traces, timing), scenario)
