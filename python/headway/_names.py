"""Errors about unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from collections.abc import Iterable


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """Returns the error about a name that is not among `known`, with the nearest name and all names."""
    return ValueError(f'there is no {what} "{name}"{_native.choices(name, list(known))}')
