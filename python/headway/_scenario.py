"""Scenarios from objects, files and texts. All are parsed by the reader of scenario files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _native
from ._errors import Problem, RunError, ScenarioError
from ._names import Checked, unknown
from ._record import Record
from ._table import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._controllers import Controller
    from ._parts import Value
    from ._queues import SendQueue

    Progress = Callable[[float, float, int], object]

_T = TypeVar("_T")

# The reader in Rust has the same limit.
_MAX_SCENARIO_BYTES = 16 << 20


class Scenario(Checked):
    """A network, its flows, and the duration of the run.

    Scenarios are immutable: `set` returns a new one.

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
        """Arguments have the names of the keys in a scenario file.

        Tables are `Link`, `Flow`, `Node` and `Attacker` objects, or dicts. Paths of files in the
        scenario are relative to `folder`.
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
        # Empty lists are omitted, except links and flows, which are required.
        table = {key: value for key, value in table.items() if value or key in ("link", "flow")}
        self._inner = _native.Scenario("scenario", _native.toml_document(table), [], folder, {})

    @classmethod
    def _of(cls, native: _native.Scenario) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._inner = native
        return scenario

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file. Paths of files in it are relative to its folder."""
        path = os.fspath(path)
        return cls._of(_native.Scenario(path, _text(path), [], os.path.dirname(path), {}))

    @classmethod
    def from_toml(cls, text: str, *, name: str = "scenario", folder: str | os.PathLike[str] = ".") -> Scenario:
        """Reads the text of a scenario file.

        `name` is used if the text does not set one. Paths of files in the scenario are relative to
        `folder`.
        """
        return cls._of(_native.Scenario(name, text, [], folder, {}))

    @classmethod
    def from_dict(
        cls, table: Mapping[str, Value], *, name: str = "scenario", folder: str | os.PathLike[str] = "."
    ) -> Scenario:
        """Reads a dict with the keys of a scenario file: `link` and `flow` are lists of dicts.

        Line numbers in errors refer to the generated TOML text.
        """
        return cls.from_toml(_native.toml_document(table), name=name, folder=folder)

    @overload
    def set(self, key: str, value: Value, /) -> Scenario: ...
    @overload
    def set(self, keys: Mapping[str, Value], /) -> Scenario: ...
    def set(self, key: str | Mapping[str, Value], value: Value | None = None, /) -> Scenario:
        """Returns a new scenario with one or more keys set: `set("link[0].rate", "4Mbps")`.

        If the kind or dialect changes, keys that are not set explicitly take the presets of the new
        one.

        A number for a rate, a time or a size is in bit/s, s or bytes, as in `ResultTable.to_pandas`:
        `set("link[0].rate", 2e6)`. The size of a queue requires a unit, since it can be in packets
        or in bytes.
        """
        if isinstance(key, Mapping):
            new = key
        elif value is None:
            raise TypeError("set() needs a value; it cannot remove a key")
        else:
            new = {key: value}
        sets = {_checked(key): _native.toml_value(value) for key, value in new.items()}
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
        inner = self._inner
        all_sets = [*inner.sets, *(f"{key}={text}" for key, text in sets.items())]
        return self._of(_native.Scenario(inner.file, inner.text, all_sets, inner.folder, inner.files))

    def _in_base_unit(self, sets: Mapping[str, str], key: str, value: Value) -> str:
        """Returns the text of a number with the base unit that this key accepts.

        If the key accepts no base unit or several, the text is unchanged.
        """
        number = value.tolist() if hasattr(value, "tolist") else value  # NumPy scalar
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            return sets[key]

        def problems(text: str) -> int:
            try:
                self._with({**sets, key: text})
            except ScenarioError as error:
                return len(error.problems)
            return 0

        before = problems(sets[key])
        texts = [_native.toml_value(f"{Decimal(sets[key]):f}{unit}") for unit in ("bps", "s", "B", "packets")]
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
        """Runs the scenario and returns its record.

        The run releases Python's global lock, so that runs in several threads use one core each.

        `progress` is True for a line on stderr, or a function. The function is called with the
        simulated time in s, the duration of the scenario in s and the number of packet hops so far,
        about ten times per second of wall-clock time and at the end. An exception that it raises
        stops the run. `trace` is "ns2", "nam", "pcapng", "packets" or "perfetto", or a list of
        them; the bytes are in `Record.traces`.

        `controllers` assigns rate controllers written in Python to flows by name; `*` matches any
        characters. The transport of such a flow is one with a rate controller, such as `udpm` or
        `tfrc`, or DCCP with a CCID for experiments; the Python controller replaces its controller.
        `queues` assigns classes of send queues written in Python in the same way; the keys `limit`
        and `travel` of the flow's send queue in the scenario apply to them. A run with either
        argument does not release the lock, and so shares one core with all other Python threads.

        Raises KeyboardInterrupt at Ctrl-C and RunError if the run cannot continue. `Record.of`
        returns the partial record for both.
        """
        scenario = self if seed is None else self.set("seed", seed)
        runs = scenario._inner.count_runs()
        if runs != 1:
            message = f"the scenario describes {runs} runs; set the keys that vary, or remove [vary]"
            raise ScenarioError([(scenario._inner.file, None, None, "vary", message, f"vary: {message}")])
        traces = [trace] if isinstance(trace, str) else list(trace)
        chosen_controllers = [
            (flow, controller.sender, controller.receiver, controller.receiver.reports, controller.receiver.needs)
            for flow, controller in _assign_to_flows(scenario.flows, controllers or {}).items()
        ]
        chosen_queues = list(_assign_to_flows(scenario.flows, queues or {}).items())
        if progress is True:
            from ._progress import Line

            with Line() as line:
                done = scenario._inner.run(traces, line, chosen_controllers, chosen_queues)
        else:
            done = scenario._inner.run(traces, progress or None, chosen_controllers, chosen_queues)
        native, stopped, failure = done
        record = Record._of(native, scenario)
        if isinstance(stopped, KeyboardInterrupt):
            record._attach_to(stopped)
        if stopped is not None:
            raise stopped
        if failure is not None:
            raise RunError(failure, record)
        return record

    @property
    def toml(self) -> str:
        """A scenario file for the identical run, with all presets and set keys written out."""
        return self._inner.toml

    @property
    def text(self) -> str:
        """The original text of the scenario."""
        return self._inner.text

    @property
    def hash(self) -> str:
        """128-bit hash, in hexadecimal, of `toml` (with the seed) and the files that it names."""
        return self._inner.hash

    @property
    def name(self) -> str:
        """Name of the scenario in records."""
        return self._inner.name

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
        return self._inner.seed

    @property
    def duration_s(self) -> float:
        """Duration of a run, in s."""
        return self._inner.duration_s

    @property
    def flows(self) -> list[str]:
        """Names of the flows, including replicas."""
        return self._inner.flows

    @property
    def links(self) -> list[str]:
        """Names of the links, one per direction."""
        return self._inner.links

    @property
    def warnings(self) -> list[Problem]:
        """Warnings about valid but unusual settings."""
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

    # Includes the contents of all files, so that the scenario is the same on another machine.
    def __reduce__(self) -> tuple[object, ...]:
        inner = self._inner
        return _restore, (inner.file, inner.text, inner.sets, inner.folder, inner.files)


def _restore(file: str, text: str, sets: list[str], folder: str, files: dict[str, bytes]) -> Scenario:
    return Scenario._of(_native.Scenario(file, text, sets, folder, files))


def _assign_to_flows(flows: list[str], given: Mapping[str, _T]) -> dict[str, _T]:
    """Returns the value of the first matching pattern for each flow.

    Flows without a match are omitted.
    """
    assigned: dict[str, _T] = {}
    for pattern, value in given.items():
        regex = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        matching = [flow for flow in flows if regex.fullmatch(flow)]
        if not matching:
            raise unknown("flow", pattern, flows)
        for flow in matching:
            assigned.setdefault(flow, value)
    return assigned


def _checked(key: str) -> str:
    if "=" in key:
        message = 'a key cannot contain "="; pass the value as the second argument: set("link[0].rate", "4Mbps")'
        raise ScenarioError([("", None, None, key, message, f"{key}: {message}")])
    return key


def _text(path: str) -> str:
    def wrong(line: int | None, column: int | None, message: str) -> ScenarioError:
        place = f"{path}:{line}:{column}" if line else path
        return ScenarioError([(path, line, column, "", message, f"{place}: {message}")])

    try:
        with open(path, "rb") as file:
            contents = file.read(_MAX_SCENARIO_BYTES + 1)
    except OSError as error:
        raise wrong(None, None, f"cannot be read: {error.strerror or error}") from error
    if len(contents) > _MAX_SCENARIO_BYTES:
        raise wrong(None, None, f"the file is larger than {_MAX_SCENARIO_BYTES} bytes, the limit for a scenario")
    try:
        return contents.decode()
    except UnicodeDecodeError as error:
        before = contents[: error.start].decode()
        line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
        raise wrong(line, column, "the file is not UTF-8; save it as UTF-8 text") from None


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenario files, with descriptions of all tables, keys and kinds."""
    return dict(json.loads(_native.schema()))
