"""Scenarios: made here, in a file or in a text, all read by one reader."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _native
from ._errors import Problem, RunError, ScenarioError
from ._record import Record
from ._table import counted
from ._toml import document, inline

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._controllers import Controller
    from ._queues import SendQueue
    from ._toml import Value

    Progress = Callable[[float, float, int], object]

_T = TypeVar("_T")

# What is longer is a mistake; the reader refuses it too.
_LARGEST = 16 << 20


class Scenario:
    """A network, the flows through it, and how long to watch them. It never changes: `set` makes another.

    >>> scenario = Scenario(
    ...     duration="5s",
    ...     links=[Link(("r1", "r2"), rate="2Mbps", delay="10ms", queue="red")],
    ...     flows=[Flow("ftp", "r1", "r2", transport="tcp-newreno", source="ftp")],
    ... )
    >>> faster = scenario.set("link[0].rate", "4Mbps")
    >>> faster.run().metric("flow[ftp].throughput_bps") > 1e6
    True
    """

    __slots__ = ("_inner",)
    _inner: _native.Scenario

    def __init__(
        self,
        *,
        duration: str,
        links: Iterable[Mapping[str, Value]],
        flows: Iterable[Mapping[str, Value]],
        name: str | None = None,
        seed: int | None = None,
        dialect: str | None = None,
        ties: str | None = None,
        measure_from: str | None = None,
        record: Mapping[str, Value] | None = None,
        nodes: Iterable[Mapping[str, Value]] = (),
        attackers: Iterable[Mapping[str, Value]] = (),
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        """Keys are those of a scenario file. Tables are `Link`, `Flow`, `Node` and `Attacker`, or dicts.

        Files that the scenario names are read in `folder`.
        """
        plain = {
            "name": name,
            "duration": duration,
            "seed": seed,
            "dialect": dialect,
            "ties": ties,
            "measure_from": measure_from,
            "record": record,
        }
        table: dict[str, Value] = {key: value for key, value in plain.items() if value is not None}
        for key, parts in (("node", nodes), ("link", links), ("flow", flows), ("attacker", attackers)):
            table[key] = list(parts)
        # Those that there are none of need not be there; links and flows must.
        table = {key: value for key, value in table.items() if value or key in ("link", "flow")}
        self._inner = _native.Scenario("scenario", document(table), [], folder, {})

    @classmethod
    def _of(cls, native: _native.Scenario) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._inner = native
        return scenario

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file; the files that it names are read beside it."""
        path = os.fspath(path)
        return cls._of(_native.Scenario(path, _text(path), [], os.path.dirname(path), {}))

    @classmethod
    def from_toml(cls, text: str, *, name: str = "scenario", folder: str | os.PathLike[str] = ".") -> Scenario:
        """Reads a text as if it stood in a file.

        It is called `name`, unless it says how. Files that it names are read in `folder`.
        """
        return cls._of(_native.Scenario(name, text, [], folder, {}))

    @classmethod
    def from_dict(
        cls, table: Mapping[str, Value], *, name: str = "scenario", folder: str | os.PathLike[str] = "."
    ) -> Scenario:
        """Reads a dict with the keys of a scenario file: `link` and `flow` are lists of dicts.

        Lines in errors are those of the text that it is written as.
        """
        return cls.from_toml(document(table), name=name, folder=folder)

    @overload
    def set(self, key: str, value: Value, /) -> Scenario: ...
    @overload
    def set(self, keys: Mapping[str, Value], /) -> Scenario: ...
    def set(self, key: str | Mapping[str, Value], value: Value | None = None, /) -> Scenario:
        """Another scenario, in which a key has this value, or several theirs: `set("link[0].rate", "4Mbps")`.

        Presets follow: with another kind or dialect, what was not written is the new one's. A number for a rate, a time
        or a number of bytes is in bit/s, s or bytes, as `Answer.to_pandas` has them: `set("link[0].rate", 2e6)`. A
        queue's size needs its unit, since it may be in packets or in bytes.
        """
        if isinstance(key, Mapping):
            new = key
        elif value is None:
            raise TypeError("set() needs a value: a key that shall be absent is not written")
        else:
            new = {key: value}
        sets = {_checked(key): inline(value) for key, value in new.items()}
        try:
            return self._with(sets)
        except ScenarioError as error:
            for key, value in new.items():
                sets[_checked(key)] = self._in_base_unit(sets, _checked(key), value)
            try:
                return self._with(sets)
            except ScenarioError:
                raise error from None

    def _with(self, sets: Mapping[str, str]) -> Scenario:
        was = self._inner
        sets_of_both = [*was.sets, *(f"{key}={text}" for key, text in sets.items())]
        return self._of(_native.Scenario(was.file, was.text, sets_of_both, was.folder, was.files))

    def _in_base_unit(self, sets: Mapping[str, str], key: str, value: Value) -> str:
        """The text of a number with the one base unit that this key accepts; without one, or with several, as it is."""
        number = value.tolist() if hasattr(value, "tolist") else value  # a number of NumPy
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            return sets[key]

        def problems(text: str) -> int:
            try:
                self._with({**sets, key: text})
            except ScenarioError as error:
                return len(error.problems)
            return 0

        before = problems(sets[key])
        texts = [inline(f"{Decimal(sets[key]):f}{unit}") for unit in ("bps", "s", "B", "packets")]
        accepted = [text for text in texts if problems(text) < before]
        return accepted[0] if len(accepted) == 1 else sets[key]

    def run(
        self,
        *,
        seed: int | None = None,
        progress: bool | Progress | None = None,
        trace: str | Iterable[str] = (),
        controllers: Mapping[str, Controller] | None = None,
        queues: Mapping[str, Callable[[], SendQueue]] | None = None,
    ) -> Record:
        """Runs it. Other threads run meanwhile, so that several runs take as many cores.

        `progress` is True for a line on stderr, or called with the simulated time and the duration, in s, and the
        packet hops so far: about ten times a second, and at the end. What it raises stops the run. `trace` is "ns2",
        "nam", "pcapng", "packets", "perfetto" or several of them, for the record's `traces`.

        `controllers` gives flows rate controllers of one's own, by name, in which `*` stands for any characters. Their
        transports are bare agents of any kind, or DCCP with a CCID for experiments. `queues` gives them send queues of
        one's own, in the same way, which keep the scenario's `limit` and `travel`. Such a run shares one core with all
        other threads.

        Raises KeyboardInterrupt at Ctrl-C and RunError where it cannot go on: `Record.of` gives what there is then.
        """
        scenario = self if seed is None else self.set("seed", seed)
        runs = scenario._inner.count_runs()
        if runs != 1:
            message = f"this is {runs} runs: set what varies, or leave [vary] out"
            raise ScenarioError([(scenario._inner.file, None, None, "vary", message, f"vary: {message}")])
        traces = [trace] if isinstance(trace, str) else list(trace)
        chosen = [
            (flow, controller.sender, controller.receiver, controller.receiver.reports, controller.receiver.needs)
            for flow, controller in _by_flow(scenario.flows, controllers or {}).items()
        ]
        waiting = list(_by_flow(scenario.flows, queues or {}).items())
        if progress is True:
            from ._progress import Line

            with Line() as line:
                done = scenario._inner.run(traces, line, chosen, waiting)
        else:
            done = scenario._inner.run(traces, progress or None, chosen, waiting)
        native, stopped, failure = done
        record = Record._of(native, scenario)
        if isinstance(stopped, KeyboardInterrupt):
            record._keep_with(stopped)
        if stopped is not None:
            raise stopped
        if failure is not None:
            raise RunError(failure, record)
        return record

    @property
    def toml(self) -> str:
        """The scenario as a file that gives the very same run: every preset and everything set written out."""
        return self._inner.toml

    @property
    def text(self) -> str:
        """The text that was read."""
        return self._inner.text

    @property
    def hash(self) -> str:
        """128 bits, in hexadecimal, of what the run depends on: `toml`, the seed in it, and the files that it names."""
        return self._inner.hash

    @property
    def name(self) -> str:
        """What the record calls it."""
        return self._inner.name

    @property
    def seed(self) -> int:
        """That of every random stream."""
        return self._inner.seed

    @property
    def duration_s(self) -> float:
        """How long a run lasts, in s."""
        return self._inner.duration_s

    @property
    def flows(self) -> list[str]:
        """The names of the flows, replicas too."""
        return self._inner.flows

    @property
    def links(self) -> list[str]:
        """The names of the links, each direction its own."""
        return self._inner.links

    @property
    def warnings(self) -> list[Problem]:
        """What is allowed but odd."""
        return [Problem(*warning) for warning in self._inner.warnings]

    def __repr__(self) -> str:
        return (
            f"<Scenario {self.name!r}: {self.duration_s:g} s, {counted(len(self.flows), 'flow')}, "
            f"{counted(len(self.links), 'link')}, seed {self.seed}>"
        )

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)

    # With the files that it names, so that it is the same on another machine.
    def __reduce__(self) -> tuple[object, ...]:
        was = self._inner
        return _again, (was.file, was.text, was.sets, was.folder, was.files)


def _again(file: str, text: str, sets: list[str], folder: str, files: dict[str, bytes]) -> Scenario:
    return Scenario._of(_native.Scenario(file, text, sets, folder, files))


def _by_flow(flows: list[str], given: Mapping[str, _T]) -> dict[str, _T]:
    """What each flow is given that is given anything, by the first name that fits."""
    found: dict[str, _T] = {}
    for pattern, what in given.items():
        form = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        fitting = [flow for flow in flows if form.fullmatch(flow)]
        if not fitting:
            raise ValueError(f"there is no flow {pattern!r}; there are {', '.join(flows[:12])}")
        for flow in fitting:
            found.setdefault(flow, what)
    return found


def _checked(key: str) -> str:
    if "=" in key:
        message = 'a key is not written with its value: set("link[0].rate", "4Mbps")'
        raise ScenarioError([("", None, None, key, message, f"{key}: {message}")])
    return key


def _text(path: str) -> str:
    def wrong(line: int | None, column: int | None, message: str) -> ScenarioError:
        place = f"{path}:{line}:{column}" if line else path
        return ScenarioError([(path, line, column, "", message, f"{place}: {message}")])

    try:
        with open(path, "rb") as file:
            read = file.read(_LARGEST + 1)
    except OSError as error:
        raise wrong(None, None, f"cannot be read: {error.strerror or error}") from error
    if len(read) > _LARGEST:
        raise wrong(None, None, f"it is larger than {_LARGEST} bytes, which no scenario is")
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        before = read[: error.start].decode()
        line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
        raise wrong(line, column, "this is not UTF-8: save the file as UTF-8 text") from None


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files: every table, key, kind and option with its description."""
    return dict(json.loads(_native.schema()))
