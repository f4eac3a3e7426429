"""Records of runs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, overload

from . import _native
from ._figures import check_no_style, plot
from ._table import Table, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from ._figures import Figure, Style, Time
    from ._scenario import Scenario
    from ._summary import Summary


class Record:
    """The measurements of one run."""

    __slots__ = ("_cached_summary", "_inner", "_scenario")
    _inner: _native.Record
    # The folder name if the record was loaded and the scenario has not been read yet.
    _scenario: Scenario | str
    _cached_summary: Summary | None

    @classmethod
    def _of(cls, native: _native.Record, scenario: Scenario | str) -> Record:
        record = cls.__new__(cls)
        record._inner, record._scenario, record._cached_summary = native, scenario, None
        return record

    def _attach_to(self, interrupt: KeyboardInterrupt) -> None:
        # The original exception is kept: a subclass would not end the program as Ctrl-C does.
        interrupt.record = self  # type: ignore[attr-defined]
        # Python 3.10 has no `add_note`.
        if hasattr(interrupt, "add_note"):
            interrupt.add_note("headway.Record.of(exception) returns the partial record of this run")

    @staticmethod
    def of(stopped: BaseException) -> Record | None:
        """Returns the partial record of the run that this KeyboardInterrupt or RunError ended.

        Returns None for other exceptions.
        """
        record = getattr(stopped, "record", None)
        return record if isinstance(record, Record) else None

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Record:
        """Reads the folder of a run.

        A packet trace remains in the folder until the figure `sequence` needs it. A file that does not match
        its checksum is a RecordError.
        """
        return cls._of(_native.Record.load(folder), os.fspath(folder))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder as `headway run` does, which can be drawn and run again.

        The folder must be new or empty, or hold a record, which is overwritten.
        """
        self._inner.save(self.scenario._inner, folder)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        if isinstance(self._scenario, str):
            from ._scenario import Scenario

            self._scenario = Scenario.load(os.path.join(self._scenario, "scenario.toml"))
        return self._scenario

    @property
    def summary(self) -> Summary:
        """All results, with the structure of `summary.json`."""
        if self._cached_summary is None:
            summary: Summary = json.loads(self._inner.summary_json)
            self._cached_summary = summary
        return self._cached_summary

    @property
    def complete(self) -> bool:
        """Whether the run reached the end of its scenario."""
        return bool(self.summary["complete"])

    @property
    def fingerprint(self) -> str:
        """Hash of the order of events: equal for equal runs, on any machine."""
        return str(self.summary["fingerprint"])

    @property
    def timing(self) -> dict[str, float]:
        """Speed of the run: wall_s, simulated_s, speed, packet_hops_per_s, events.

        `speed` is simulated time divided by wall-clock time, `packet_hops_per_s` is per second of
        wall-clock time, `events` is the number of simulator events. The values depend on the
        machine, except `simulated_s` and `events`.
        """
        return dict(json.loads(self._inner.timing_json))

    @property
    def flows(self) -> Table:
        """One row per flow.

        Columns have the names of the paths in `metric`, such as `one_way_delay_s.p95`.
        """
        return Table(self._inner.flows())

    @property
    def links(self) -> Table:
        """One row per direction of a link, with columns named as in `flows`."""
        return Table(self._inner.links())

    @property
    def series(self) -> Table:
        """Samples over simulated time: time_ns, entity (a flow or a direction of a link), metric, value.

        The table is empty if the scenario records no series.
        """
        return Table(self._inner.series())

    @property
    def events(self) -> Table:
        """Drops, timeouts, late packets and other events.

        Columns: time_ns, event, entity, flow, kind, cause, sequence, bytes, late_ns.

        The table has no columns if the record has no events, as for runs of a sweep or between real
        sockets.
        """
        return Table(self._inner.events())

    @property
    def distributions(self) -> dict[str, Any] | None:
        """Delay distributions of packets and frames, as in `distributions.json`.

        None unless the scenario sets `record={"distributions": True}`.
        """
        text = self._inner.distributions_json
        return None if text is None else dict(json.loads(text))

    @property
    def traces(self) -> dict[str, bytes]:
        """The bytes of each trace that `Scenario.run` was asked for, by format.

        Empty for a loaded record.
        """
        return self._inner.traces

    def samples(self, metric: str) -> dict[str, tuple[list[float], list[float]]]:
        """Returns the series of a metric by entity, as times in s and values.

        The dict is empty if the run has no samples of the metric. An unknown name is a ValueError.
        """
        return {entity: (times, values) for entity, times, values in self._inner.samples(metric)}

    def metric(self, expression: str) -> float | None:
        """Evaluates an expression such as "mean(flow[media*].throughput_bps) / 1e3".

        Returns None if the run has no value for it.
        """
        return self._inner.metric(expression)

    @overload
    def plot(self, figure: str = ..., *, time: Time = ..., ax: None = None, **style: Unpack[Style]) -> Figure: ...
    @overload
    def plot(self, figure: str = ..., *, time: Time = ..., ax: Axes) -> Axes: ...
    def plot(
        self,
        figure: str = "throughput",
        *,
        time: Time = (None, None),
        ax: Axes | None = None,
        **style: Unpack[Style],
    ) -> Figure | Axes:
        """Returns one of `headway.FIGURES`, or adds it to axes of matplotlib.

        The other arguments are those of `headway.plot`, which draws several records.
        """
        if ax is None:
            return plot([self], figure, time=time, **style)
        check_no_style(style)
        return plot([self], figure, time=time, ax=ax)

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
        inner = self._inner
        parts = (
            inner.summary_json,
            inner.series_bytes,
            inner.events_bytes,
            inner.distributions_json,
            inner.traces,
            inner.timing_json,
        )
        return _restore, (*parts, self.scenario)


def _restore(
    summary: str,
    series: bytes | None,
    events: bytes | None,
    distributions: str | None,
    traces: dict[str, bytes],
    timing: str,
    scenario: Scenario,
) -> Record:
    return Record._of(_native.Record(summary, series, events, distributions, traces, timing), scenario)
