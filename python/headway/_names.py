"""Errors about unknown names."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """Returns the error about a name that is not among `known`, with the nearest name and all names."""
    return ValueError(f'there is no {what} "{name}"{_native.choices(name, list(known))}')


class Checked:
    """Base of classes whose constructors name the nearest argument for one that they do not have."""

    __slots__ = ()

    def __new__(cls, *_: object, **given: object) -> Self:
        """Raises a TypeError for an argument that the constructor does not have."""
        known = [name for name in inspect.signature(cls).parameters if name != "self"]
        for name in given:
            if name not in known:
                raise TypeError(f'{cls.__name__} has no argument "{name}"{_native.choices(name, known)}')
        return super().__new__(cls)
