"""Python values as the TOML of a scenario file, so that there is one reader and one kind of error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from json import dumps
from typing import TypeAlias, TypeGuard, Union

Value: TypeAlias = Union[str, bool, int, float, "Sequence[Value]", "Mapping[str, Value]"]
"""What a scenario's key may have: texts with units ("2Mbps"), numbers, truths, lists, tables."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(table: Mapping[str, Value]) -> str:
    """A whole scenario: plain keys, then a [table] for each mapping, then a [[table]] for each one of a list."""
    plain: list[str] = []
    blocks: list[str] = []
    for key, value in table.items():
        name = _key(key)
        if isinstance(value, Mapping):
            blocks += ["", f"[{name}]", *_lines(value)]
        elif tables := _tables(value):
            for one in tables:
                blocks += ["", f"[[{name}]]", *_lines(one)]
        else:
            plain.append(f"{name} = {inline(value)}")
    return "\n".join([*plain, *blocks, ""])


def inline(value: Value) -> str:
    """A value as it stands behind `=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for this one.
        return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    # Their own `__repr__`: subclasses show themselves otherwise.
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_lines(value)) + " }" if value else "{}"
    if _is_list(value):
        return "[" + ", ".join(map(inline, value)) + "]"
    # Of NumPy, and what is like it.
    if hasattr(value, "tolist"):
        return inline(value.tolist())
    raise TypeError(f"a scenario cannot hold {value!r}: write a text, a number, a truth, a list or a dict")


def _is_list(value: object) -> TypeGuard[Sequence[Value]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _tables(value: Value) -> list[Mapping[str, Value]]:
    """Those of a list that holds nothing else."""
    tables = [one for one in value if isinstance(one, Mapping)] if _is_list(value) else []
    return tables if _is_list(value) and len(tables) == len(value) else []


def _lines(table: Mapping[str, Value]) -> list[str]:
    return [f"{_key(key)} = {inline(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a scenario's keys are texts, and {key!r} is none")
    return key if _BARE.fullmatch(key) else inline(key)
