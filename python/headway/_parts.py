"""Tables of a scenario file as Python objects.

Arguments have the names of the keys in the file; arguments that are None are omitted. A table that
has only a `kind` can be written as a string: `queue="red"` is equal to `queue={"kind": "red"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ._names import Checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    Value: TypeAlias = str | bool | int | float | Sequence["Value"] | Mapping[str, "Value"]
    """Value of a key in a scenario: a string with a unit ("2Mbps"), number, bool, list or table."""

    Options: TypeAlias = str | Mapping[str, Value]
    Times: TypeAlias = str | Sequence[str] | Mapping[str, Value]

# Keys whose tables have a `kind`.
_KINDS = frozenset({"queue", "loss", "jitter", "reorder", "transport", "send_queue", "source", "attack"})


class Part(Checked, Mapping[str, "Value"]):
    """A table of a scenario file, as an immutable mapping."""

    __slots__ = ("_keys",)
    _keys: dict[str, Value]

    def _set(self, arguments: dict[str, Value]) -> None:
        # `arguments` are the `locals()` of `__init__`.
        given = ((key.rstrip("_"), value) for key, value in arguments.items() if key != "self" and value is not None)
        self._keys = {key: _with_kind(key, value) for key, value in given}

    def __getitem__(self, key: str) -> Value:
        return self._keys[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._keys.items())})"


def _with_kind(key: str, value: Value) -> Value:
    return {"kind": value} if key in _KINDS and isinstance(value, str) else value


class Node(Part):
    """A node with replicas, a host or a clock. Other nodes need no table: the links name them."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        *,
        count: int | None = None,
        host: Mapping[str, Value] | None = None,
        clock: Mapping[str, Value] | None = None,
    ) -> None:
        """Arguments have the names of the keys in a scenario file."""
        self._set(locals())


class Link(Part):
    """A link, in both directions unless `one_way`: `Link("r1", "r2", rate="2Mbps", delay="10ms",
    queue="red")`.

    The two nodes may also be one argument: `Link(("r1", "r2"))`.
    """

    __slots__ = ()

    def __init__(
        self,
        between: str | Sequence[str],
        and_: str | None = None,
        *,
        rate: str | None = None,
        delay: str | None = None,
        queue: Options | None = None,
        loss: Options | None = None,
        name: str | None = None,
        capacity: str | None = None,
        one_way: bool | None = None,
        mtu: str | None = None,
        overhead: str | None = None,
        events: str | None = None,
        by_flow: bool | None = None,
        dialect: str | None = None,
        policer: Mapping[str, Value] | None = None,
        shaper: Mapping[str, Value] | None = None,
        jitter: Mapping[str, Value] | None = None,
        reorder: Mapping[str, Value] | None = None,
        duplicate: Mapping[str, Value] | None = None,
        ecn: str | None = None,
        reverse: Mapping[str, Value] | None = None,
        changes: Sequence[Mapping[str, Value]] | None = None,
    ) -> None:
        """Arguments have the names of the keys in a scenario file."""
        arguments = locals()
        if isinstance(between, str):
            if arguments.pop("and_") is None:
                raise TypeError(f'a link is between two nodes: Link("{between}", "NODE")')
            arguments["between"] = [between, and_]
        elif arguments.pop("and_") is not None:
            raise TypeError("the nodes of a link are one pair, or two names")
        self._set(arguments)


class Flow(Part):
    """A sender and its receiver: `Flow("ftp", "r1", "r2", transport="tcp-cubic", source="ftp")`.

    `from_` is the sending node; its key in a file is `from`. With `count`, the flow has replicas.
    `headway lab` starts the shell commands `program` and `server`; a simulation refuses such flows.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        from_: str,
        to: str,
        *,
        transport: Options | None = None,
        source: Options | None = None,
        program: str | None = None,
        server: str | None = None,
        send_queue: Options | None = None,
        count: int | None = None,
        start: Times | None = None,
        stop: str | None = None,
        fid: int | None = None,
        dscp: Options | None = None,
        e_model: Mapping[str, Value] | None = None,
        dialect: str | None = None,
    ) -> None:
        """Arguments have the names of the keys in a scenario file."""
        self._set(locals())


class Attacker(Part):
    """An attacker on a DCCP flow."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        *,
        at: str,
        target: str,
        attack: Options,
        on_path: bool | None = None,
        start: str | None = None,
        stop: str | None = None,
    ) -> None:
        """Arguments have the names of the keys in a scenario file."""
        self._set(locals())
