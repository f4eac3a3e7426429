"""Sweeps: many runs of one scenario, with a table of confidence intervals and a dataset."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _native
from ._algorithms import Algorithms
from ._figures import Figure, look, styled
from ._names import unknown
from ._table import Table, counted
from ._workers import run as run_in_processes

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    import xarray
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from ._controllers import Controller
    from ._figures import Style
    from ._parts import Value
    from ._queues import SendQueue
    from ._scenario import Scenario

    Parts = tuple[str, str, list[str], str, dict[str, bytes], list[str]]

Kind = Literal["lines", "boxes", "cdf", "heat-map"]
"""Kind of a figure of a sweep."""

_FLOWS, _LINKS, _RUNS = "flows.parquet", "links.parquet", "runs.parquet"


class ResultTable:
    """Result table of a sweep.

    Each row is one combination of the varied keys. Each metric has a 95 % confidence interval over
    seeds.
    """

    __slots__ = ("_data", "_inner")
    _inner: _native.ResultTable
    _data: dict[str, Any]

    def __init__(self, native: _native.ResultTable) -> None:
        """Called by `sweep`."""
        self._inner = native
        self._data = json.loads(native.json())

    @property
    def keys(self) -> list[str]:
        """Short names of the varied keys, without the seed."""
        return [key["name"] for key in self._data["keys"]]

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(self._data["metrics"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per combination: `values`, `runs`, `identical`, `metrics` (mean, ci95, runs).

        `identical` is true if all seeds gave the same numbers. `ci95` is None for a single run, and
        for a metric that is equal in all runs.
        """
        return list(self._data["rows"])

    def samples(self, row: int, metric: int | str) -> dict[int, float]:
        """Returns the value of a metric in each run of a row, by seed."""
        return dict(zip(*self._inner.samples(row, self._metric(metric)), strict=True))

    def _metric(self, metric: int | str) -> int:
        if isinstance(metric, str) and metric not in self.metrics:
            raise unknown("metric", metric, self.metrics)
        return self.metrics.index(metric) if isinstance(metric, str) else metric

    def against(self, value: str, *, paired: bool = False) -> ResultTable:
        """Returns the results with differences from a baseline: one value of a key, as `"queue=red"`.

        A difference is the metric minus that of the baseline. With `paired`, its interval is that
        of runs with equal seeds; otherwise it is Welch's.
        """
        return ResultTable(self._inner.against(value, paired))

    @overload
    def plot(
        self,
        over: str | None = ...,
        metric: int | str = ...,
        *,
        by: str | None = ...,
        kind: Kind = ...,
        log_x: bool = ...,
        ax: None = None,
        **style: Unpack[Style],
    ) -> Figure: ...
    @overload
    def plot(
        self, over: str, metric: int | str = ..., *, by: str | None = ..., log_x: bool = ..., ax: Axes
    ) -> Axes: ...
    def plot(
        self,
        over: str | None = None,
        metric: int | str = 0,
        *,
        by: str | None = None,
        kind: Kind = "lines",
        log_x: bool = False,
        ax: Axes | None = None,
        **style: Unpack[Style],
    ) -> Figure | Axes:
        """Draws a metric over the varied key `over`; if it is None, all seeds at one place.

        - `by`: a varied key with a line, box or row for each value. For each seed, the metric is
          first averaged over the values of all other varied keys. So intervals are over seeds only.
        - `kind`: "lines" (means with intervals), "boxes", "cdf" (distribution over the seeds, with
          the metric on the horizontal axis), or "heat-map" (needs `by`).
        - `ax`: axes of matplotlib, to which means with intervals are added. They are returned.
        - The other arguments are those of `headway.plot`.
        """
        number = self._metric(metric)
        if log_x:
            self._check_logarithmic(over)
        if kind == "heat-map" and by is None:
            raise ValueError("a heat map needs two keys: set by")
        if ax is not None:
            return self._add_to(ax, over, number, by, log_x=log_x)
        return styled(self._inner.draw(number, over, by, kind, log_x, look(style)), style)

    def _check_logarithmic(self, over: str | None) -> None:
        """Raises an exception if a logarithmic axis would omit values."""
        if over is None:
            raise ValueError("log_x: the seeds are no axis")
        places, lines = self._inner.over(0, over, None)
        if places is not None:
            raise ValueError(f"log_x: the values of {over} are not numbers")
        if any(point[0] <= 0 for _, points in lines for point in points):
            raise ValueError(f"log_x: {over} has a value at or below 0, and a logarithmic axis begins above 0")

    def _add_to(self, ax: Axes, over: str | None, metric: int, by: str | None, *, log_x: bool) -> Axes:
        if over is None:
            raise ValueError("ax needs a key: set over")
        places, lines = self._inner.over(metric, over, by)
        (x_title, x_scale), (y_title, y_scale) = self._inner.axes(metric, over)
        for label, points in lines:
            x, means, halves = zip(*points, strict=True) if points else ((), (), ())
            # matplotlib draws no error bar for NaN.
            bars = [float("nan") if half is None else half / y_scale for half in halves]
            at, values = [place / x_scale for place in x], [mean / y_scale for mean in means]
            ax.errorbar(at, values, yerr=bars, label=label or None, marker="o", capsize=3)
        ax.set_xlabel(x_title)
        ax.set_ylabel(y_title)
        if places is not None:
            ax.set_xticks(range(len(places)), places)
        elif log_x:
            ax.set_xscale("log")
        return ax

    def csv(self) -> str:
        """Returns the output of `headway sweep --csv`."""
        return self._inner.csv()

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `headway sweep --json` as a dict."""
        return dict(self._data)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame with one row per combination. Requires pandas.

        Each metric has a column with its mean and a column `NAME ci95` with half the width of its
        interval.

        Quantities are numbers: rates in bit/s, times in s, sizes in bytes. `Scenario.set` accepts
        these numbers. `frame.attrs["units"]` has the unit of each key and metric that has one.
        """
        import pandas

        rows = []
        for row_index, row in enumerate(self.rows):
            values: dict[str, Any] = dict(zip(self.keys, self._inner.cells(row_index), strict=True))
            values["runs"] = row["runs"]
            for name, number in zip(self.metrics, row["metrics"], strict=True):
                values[name] = number["mean"] if number else None
                values[f"{name} ci95"] = number["ci95"] if number else None
            rows.append(values)
        frame = pandas.DataFrame(rows)
        units = {key["name"]: key["unit"] for key in self._data["keys"] if "unit" in key}
        metrics = zip(self.metrics, self._data["units"], strict=True)
        frame.attrs["units"] = units | {name: unit for name, unit in metrics if unit}
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """Returns each metric as an array over the varied keys and the seed. Requires xarray.

        Combinations that were not run are NaN. The attribute `units` of a key or metric is its unit.
        """
        import pandas

        rows = []
        for row in range(len(self)):
            cells = dict(zip(self.keys, self._inner.cells(row), strict=True))
            seeds: dict[int, dict[str, Any]] = {}
            for metric in self.metrics:
                for seed, value in self.samples(row, metric).items():
                    seeds.setdefault(seed, {})[metric] = value
            rows += [cells | {"seed": seed} | values for seed, values in seeds.items()]
        frame = pandas.DataFrame(rows, columns=[*self.keys, "seed", *self.metrics])
        dataset: xarray.Dataset = frame.set_index([*self.keys, "seed"]).to_xarray()
        units = self.to_pandas().attrs["units"]
        for name in dataset.variables:
            if name in units:
                dataset[name].attrs["units"] = units[name]
        return dataset

    def __len__(self) -> int:
        return len(self._data["rows"])

    def __str__(self) -> str:
        return self._inner.plain()

    def __repr__(self) -> str:
        return f"<ResultTable of {counted(len(self), 'row')}: {', '.join(self.metrics)}>"

    def _repr_html_(self) -> str:
        def shown(number: dict[str, Any] | None) -> str:
            if number is None:
                return "-"
            return _rounded(number["mean"], number["ci95"])

        head = "".join(f"<th>{escape(name)}</th>" for name in [*self.keys, "runs", *self.metrics])
        rows = []
        for row in self.rows:
            cells = [*row["values"], f"{row['runs']}{' =' if row['identical'] else ''}", *map(shown, row["metrics"])]
            rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


class SweepResult:
    """Result of a sweep: the result table and the folder of the dataset."""

    __slots__ = ("path", "results")

    def __init__(self, path: str, results: ResultTable) -> None:
        """Called by `sweep`."""
        self.path = path
        """The folder of `flows.parquet`, `links.parquet` and `runs.parquet`."""
        self.results = results
        """The result table."""

    @property
    def flows(self) -> Table:
        """One row per run and flow."""
        return Table(_native.dataset_table(self.path, _FLOWS))

    @property
    def links(self) -> Table:
        """One row per run and direction of a link."""
        return Table(_native.dataset_table(self.path, _LINKS))

    @property
    def runs(self) -> Table:
        """One row per run, with its summary as JSON."""
        return Table(_native.dataset_table(self.path, _RUNS))

    def __str__(self) -> str:
        return str(self.results)

    def __repr__(self) -> str:
        return f"<SweepResult {self.path!r}: {self.results!r}>"

    def _repr_html_(self) -> str:
        return self.results._repr_html_()


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Value] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    metrics: Mapping[str, str] | Iterable[str] = (),
    controllers: Mapping[str, Controller] | None = None,
    queues: Mapping[str, Callable[[], SendQueue]] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: object = None,
    precision: float | str | None = None,
    max_seeds: int | None = None,
    again: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> SweepResult:
    """Runs a scenario for every combination of the values in `vary`, with each seed.

    - `vary`: keys as in `Scenario.set`, each with a list of values or with a range such as
      `{"from": "1ms", "to": "9ms", "steps": 5}`. They replace the same keys in `[vary]` of the
      scenario.
    - `seeds`: the number of seeds, starting at 1, or a list of seeds. By default those of `[vary]`
      in the scenario, or else only the seed of the scenario.
    - `metrics`: expressions as in `Record.metric`, by name. By default rates, losses, delays and
      shares on time of the flows, and Jain's index.
    - `controllers`, `queues`: rate controllers and send queues in Python, as in `Scenario.run`. Each
      of the `jobs` is then a process. Finished runs are reused until the source of a module with one
      of these classes changes. Classes of a notebook or of the main module need cloudpickle.
    - `out`: the folder of the dataset; `out/NAME-sweep` by default, with the name of the scenario.
    - `jobs`: the number of threads, or of processes with `controllers` or `queues`; one per core by
      default. It has no effect with `cluster`.
    - `cluster`: the address of a Dask cluster or a `distributed.Client`, to run on the cluster
      instead of threads.
    - `precision`: a share of the mean, such as 0.05 or "5%". Seeds are added to a combination until
      half the width of each 95 % interval is at most this share, or until `max_seeds`. A metric
      that is equal in all runs has no interval; it is reported after 10 seeds.
    - `max_seeds`: the maximum number of seeds with `precision`; by default 1000, or the initial
      number if that is larger. It cannot be below the initial number.
    - `again`: whether to run all combinations again. By default, complete and undamaged runs of the
      same sweep in `out` are reused.
    - `progress`: a function that is called with the number of runs that this call has finished and
      the number that it has to do. With `precision` both start again when seeds are added.

    After Ctrl-C the finished runs are kept, and a repeated call runs only the missing ones.
    """
    from ._scenario import Scenario

    if not isinstance(scenario, Scenario):
        raise TypeError(f"expected a Scenario; use Scenario.load({scenario!r}) to read a file")
    if vary is not None and not isinstance(vary, Mapping):
        raise TypeError('vary must be a dict of keys and values, such as {"link[0].rate": ["1Mbps", "2Mbps"]}')
    if isinstance(metrics, str):
        raise TypeError(f"metrics must be a dict or a list, not a string: write [{metrics!r}]")
    precision_share = _share(precision)
    varies = [f"{key}={_native.toml_value(values)}" for key, values in (vary or {}).items()]
    if isinstance(seeds, Iterable):
        varies.append(f"seed={_native.toml_value(list(seeds))}")
    elif seeds is not None:
        varies.append(f"seeds={operator.index(seeds)}")
    parts = _parts(scenario, varies)
    expressions = [f"{name}={of}" for name, of in metrics.items()] if isinstance(metrics, Mapping) else list(metrics)
    algorithms = Algorithms(controllers or {}, queues or {}) if controllers or queues else None
    native = _native.Sweep(*parts, algorithms.identity() if algorithms else "")
    initial = len({seed for _, seed in native.tasks()})
    if max_seeds is not None and max_seeds < initial:
        raise ValueError(f"max_seeds is {max_seeds}, below the initial number of seeds; expected {initial} or more")
    max_seeds = max(1000, initial) if max_seeds is None else max_seeds
    native.check(expressions)
    path = os.fspath(out) if out is not None else os.path.join("out", f"{native.name}-sweep")
    session = native.open(path, again)
    try:
        while True:
            if cluster is not None:
                from .dask import run

                run(cluster, parts, algorithms, session, progress)
            elif algorithms is not None:
                run_in_processes(parts, algorithms, session, jobs, progress)
            else:
                session.run(jobs, progress)
            if precision_share is None or not session.refine(expressions, precision_share, max_seeds):
                break
        results = ResultTable(session.results(expressions))
        session.finish()
    finally:
        session.close()
    return SweepResult(path, results)


def _rounded(mean: float, half: float | None) -> str:
    """Returns a mean, rounded to two significant digits of its interval.

    A mean without an interval has four significant digits.
    """
    if not half or not math.isfinite(half):
        return f"{mean:.4g}"
    size = max(abs(mean), half)
    power = math.floor(math.log10(size)) if not 1e-3 <= size < 1e6 else 0
    # Round first: 0.0996 to two digits is 0.10.
    digits = 1 - math.floor(math.log10(float(f"{half:.1e}"))) + power
    mean, half = (round(number / 10.0**power, digits) for number in (mean, half))
    shown = f"{mean:.{max(digits, 0)}f} ± {half:.{max(digits, 0)}f}"
    return f"({shown})e{power}" if power else shown


def _share(precision: float | str | None) -> float | None:
    """Returns the share of the mean: 0.05 for 0.05 or "5%"."""
    if precision is None:
        return None
    wrong = ValueError(f'precision is {precision!r}; expected a share of the mean, such as 0.05 or "5%", below 1')
    try:
        percent = isinstance(precision, str) and precision.strip().endswith("%")
        share = float(precision.strip()[:-1]) / 100 if percent and isinstance(precision, str) else float(precision)
    except ValueError:
        raise wrong from None
    if not 0 < share < 1:
        raise wrong
    return share


def _parts(scenario: Scenario, varies: list[str]) -> Parts:
    inner = scenario._inner
    return inner.file, inner.text, list(inner.sets), os.fspath(inner.folder), dict(inner.files), varies
