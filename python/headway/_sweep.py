"""Many runs of one scenario: one table with intervals, one dataset."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from . import _native
from ._table import Table, counted
from ._toml import inline

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    from matplotlib.figure import Figure

    from ._scenario import Scenario
    from ._toml import Value

    Parts = tuple[str, str, list[str], str, dict[str, bytes], list[str]]

_FLOWS, _LINKS, _RUNS = "flows.parquet", "links.parquet", "runs.parquet"


class Answer:
    """What a sweep says: a row a combination of what was varied, each metric with its 95 % interval over seeds."""

    __slots__ = ("_inner", "_read")
    _inner: _native.Answer
    _read: dict[str, Any]

    def __init__(self, native: _native.Answer) -> None:
        """Sweeps make it."""
        self._inner = native
        self._read = json.loads(native.json())

    @property
    def keys(self) -> list[str]:
        """What was varied, but for the seed, by short names."""
        return [key["name"] for key in self._read["keys"]]

    @property
    def metrics(self) -> list[str]:
        """What was asked of each run."""
        return list(self._read["metrics"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict a combination: `values`, `runs`, `identical`, `metrics` (mean, ci95, runs).

        `identical` says that all seeds gave the same numbers. `ci95` is None for a single run, and for a metric that
        is the same in all runs.
        """
        return list(self._read["rows"])

    def samples(self, row: int, metric: int | str) -> dict[int, float]:
        """What each run of a row gave, by its seed."""
        number = self.metrics.index(metric) if isinstance(metric, str) else metric
        return dict(zip(*self._inner.samples(row, number), strict=True))

    def against(self, value: str, *, paired: bool = False) -> Answer:
        """The same with the differences to one value of a key, such as `"queue=red"`: by Welch, or paired by seed."""
        return Answer(self._inner.against(value, paired))

    def plot(
        self, over: str, metric: int | str = 0, *, by: str | None = None, log_x: bool = False, title: str | None = None
    ) -> Figure:
        """A metric's mean with its interval over a key, a line for each value of another one: a figure of matplotlib.

        What else varies is taken together, seed by seed, so that intervals are over seeds alone.
        """
        from ._plot import plot_over

        number = self.metrics.index(metric) if isinstance(metric, str) else metric
        return plot_over(self, number, over, by, log_x=log_x, title=title)

    def csv(self) -> str:
        """As `headway sweep --csv` prints it."""
        return self._inner.csv()

    def to_dict(self) -> dict[str, Any]:
        """As `headway sweep --json` prints it."""
        return dict(self._read)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a combination; each metric's mean, and half of its interval as `NAME ci95`. It needs pandas.

        Quantities are numbers: rates in bit/s, times in s, sizes in bytes. `Scenario.set` accepts these numbers.
        `frame.attrs["units"]` has the unit of each key and metric that has one.
        """
        import pandas

        rows = []
        for number_of_row, row in enumerate(self.rows):
            values: dict[str, Any] = dict(zip(self.keys, self._inner.cells(number_of_row), strict=True))
            values["runs"] = row["runs"]
            for name, number in zip(self.metrics, row["metrics"], strict=True):
                values[name] = number["mean"] if number else None
                values[f"{name} ci95"] = number["ci95"] if number else None
            rows.append(values)
        frame = pandas.DataFrame(rows)
        units = {key["name"]: key["unit"] for key in self._read["keys"] if "unit" in key}
        metrics = zip(self.metrics, self._read["units"], strict=True)
        frame.attrs["units"] = units | {name: unit for name, unit in metrics if unit}
        return frame

    def __len__(self) -> int:
        return len(self._read["rows"])

    def __str__(self) -> str:
        return self._inner.plain()

    def __repr__(self) -> str:
        return f"<Answer of {counted(len(self), 'row')}: {', '.join(self.metrics)}>"

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


class Swept:
    """What a sweep left: its answer, and the folder of its dataset."""

    __slots__ = ("answer", "path")

    def __init__(self, path: str, answer: Answer) -> None:
        """`sweep` makes it."""
        self.path = path
        """The folder of `flows.parquet`, `links.parquet` and `runs.parquet`."""
        self.answer = answer
        """The table."""

    @property
    def flows(self) -> Table:
        """A row a run and flow."""
        return Table(_native.dataset_table(self.path, _FLOWS))

    @property
    def links(self) -> Table:
        """A row a run and direction of a link."""
        return Table(_native.dataset_table(self.path, _LINKS))

    @property
    def runs(self) -> Table:
        """A row a run, with its summary as JSON."""
        return Table(_native.dataset_table(self.path, _RUNS))

    def __str__(self) -> str:
        return str(self.answer)

    def __repr__(self) -> str:
        return f"<Swept {self.path!r}: {self.answer!r}>"

    def _repr_html_(self) -> str:
        return self.answer._repr_html_()


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Value] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    metrics: Mapping[str, str] | Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: object = None,
    precision: float | str | None = None,
    most: int | None = None,
    again: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Swept:
    """Runs a scenario at every combination of what `vary` says, each with each seed.

    It leaves a dataset in `out` [out/NAME-sweep]. `vary` has keys as `Scenario.set` has them, each with a list of
    values or with a range, `{"from": "1ms", "to": "9ms", "steps": 5}`; they stand in place of those of the scenario's
    own `[vary]`. `seeds` is how many, from 1 on, or which. `metrics` are expressions as `Record.metric` has them, by
    name. With `precision`, such as 0.05 or "5%", seeds are added until each interval is narrower than that share of its
    mean, up to `most` [1000], at least as many as the sweep begins with. A metric that is the same in all runs has no
    interval, and is reported after 10 seeds.

    What is there already of this very sweep, complete and undamaged, is not run again. Runs go on `jobs` threads [one
    a core], or on the Dask cluster at the address (or of the `distributed.Client`) `cluster`. Ctrl-C leaves what is
    done, and the same call goes on from there. `progress` is called with how many runs are done, and how many there
    were to do.
    """
    from ._scenario import Scenario

    if not isinstance(scenario, Scenario):
        raise TypeError(f"sweep() runs a Scenario: Scenario.load({scenario!r}) reads a file")
    if vary is not None and not isinstance(vary, Mapping):
        raise TypeError('vary is a dict of keys and their values: {"link[0].rate": ["1Mbps", "2Mbps"]}')
    if isinstance(metrics, str):
        raise TypeError(f"metrics are several: write [{metrics!r}]")
    share = _share(precision)
    varies = [f"{key}={inline(values)}" for key, values in (vary or {}).items()]
    if isinstance(seeds, Iterable):
        varies.append(f"seed={inline(list(seeds))}")
    elif seeds is not None:
        varies.append(f"seeds={operator.index(seeds)}")
    parts = _parts(scenario, varies)
    asked = [f"{name}={of}" for name, of in metrics.items()] if isinstance(metrics, Mapping) else list(metrics)
    native = _native.Sweep(*parts)
    begin = len({seed for _, seed in native.tasks()})
    if most is not None and most < begin:
        raise ValueError(f"most is {most}, and the sweep begins with {begin} seeds: it must be at least {begin}")
    most = max(1000, begin) if most is None else most
    native.check(asked)
    path = os.fspath(out) if out is not None else os.path.join("out", f"{native.name}-sweep")
    session = native.open(path, again)
    try:
        while True:
            if cluster is None:
                session.run(jobs, progress)
            else:
                from .dask import run

                run(cluster, parts, session, progress)
            if share is None or not session.refine(asked, share, most):
                break
        answer = Answer(session.answer(asked))
        session.finish()
    finally:
        session.close()
    return Swept(path, answer)


def _rounded(mean: float, half: float | None) -> str:
    """A mean, to the digits of its interval: two significant ones. Without an interval the mean has four."""
    if not half or not math.isfinite(half):
        return f"{mean:.4g}"
    size = max(abs(mean), half)
    power = math.floor(math.log10(size)) if not 1e-3 <= size < 1e6 else 0
    # Of 0.0996 two digits are 0.10.
    digits = 1 - math.floor(math.log10(float(f"{half:.1e}"))) + power
    mean, half = (round(number / 10.0**power, digits) for number in (mean, half))
    shown = f"{mean:.{max(digits, 0)}f} ± {half:.{max(digits, 0)}f}"
    return f"({shown})e{power}" if power else shown


def _share(precision: float | str | None) -> float | None:
    """A part of the mean: 0.05 or "5%"."""
    if precision is None:
        return None
    wrong = ValueError(f'precision is a share of the mean, such as 0.05 or "5%", and not {precision!r}')
    try:
        percent = isinstance(precision, str) and precision.strip().endswith("%")
        share = float(precision.strip()[:-1]) / 100 if percent and isinstance(precision, str) else float(precision)
    except ValueError:
        raise wrong from None
    if not 0 < share < 1:
        raise wrong
    return share


def _parts(scenario: Scenario, varies: list[str]) -> Parts:
    was = scenario._inner
    return was.file, was.text, list(was.sets), os.fspath(was.folder), dict(was.files), varies
