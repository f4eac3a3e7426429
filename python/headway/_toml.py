"""Converts Python values to the TOML of a scenario file, so that one reader reports all errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from json import dumps
from typing import TypeAlias, TypeGuard, Union

Value: TypeAlias = Union[str, bool, int, float, "Sequence[Value]", "Mapping[str, Value]"]
"""Value of a key in a scenario: a string with a unit ("2Mbps"), number, bool, list or table."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(table: Mapping[str, Value]) -> str:
    """Returns a complete scenario.

    Plain keys are first, then a [table] for each mapping and a [[table]] for each mapping in a
    list.
    """
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
    """Returns a value as it is written after `=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes are valid in TOML. TOML requires an additional escape for DEL.
        return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    # Subclasses may override `__repr__`.
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_lines(value)) + " }" if value else "{}"
    if _is_list(value):
        return "[" + ", ".join(map(inline, value)) + "]"
    # NumPy scalars and arrays.
    if hasattr(value, "tolist"):
        return inline(value.tolist())
    raise TypeError(f"a scenario cannot hold {value!r}; expected a string, number, bool, list or dict")


def _is_list(value: object) -> TypeGuard[Sequence[Value]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _tables(value: Value) -> list[Mapping[str, Value]]:
    """Returns the mappings of a list that contains only mappings; otherwise an empty list."""
    tables = [one for one in value if isinstance(one, Mapping)] if _is_list(value) else []
    return tables if _is_list(value) and len(tables) == len(value) else []


def _lines(table: Mapping[str, Value]) -> list[str]:
    return [f"{_key(key)} = {inline(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not a string")
    return key if _BARE.fullmatch(key) else inline(key)
