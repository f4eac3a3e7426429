"""Operations of connections in event loops of asyncio.

An operation is polled until it has a result. Between two polls its task awaits a future, which is
done when the library reports the key of the operation. A task that is cancelled has received
nothing: results are only taken by a poll, whose result the task returns at once.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from . import _native

if TYPE_CHECKING:
    from typing import Any

    from ._native import Operation

_Result = TypeVar("_Result")


class _Tasks:
    """Tasks of one event loop that wait for operations."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.wakeups = _native.Wakeups()
        self.waiting: dict[int, asyncio.Future[None]] = {}
        self.keys = count()
        loop.add_reader(self.wakeups.fileno(), self._wake)

    def _wake(self) -> None:
        for key in self.wakeups.take():
            future = self.waiting.get(key)
            if future is not None and not future.done():
                future.set_result(None)


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tasks] = WeakKeyDictionary()


async def complete(operation: Operation[_Result]) -> _Result:
    """Awaits the result of an operation."""
    loop = asyncio.get_running_loop()
    tasks = _LOOPS.get(loop)
    if tasks is None:
        tasks = _LOOPS[loop] = _Tasks(loop)
    key = next(tasks.keys)
    try:
        while True:
            tasks.waiting[key] = woken = loop.create_future()
            result = operation.poll(tasks.wakeups, key)
            if result is not None:
                return result[0]
            await woken
    finally:
        del tasks.waiting[key]


async def complete_within(operation: Operation[None], seconds: float) -> None:
    """Awaits the end of an operation for at most this time."""
    try:
        await asyncio.wait_for(complete(operation), seconds)
    except asyncio.TimeoutError:
        return


async def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    """Returns the addresses of a host."""
    from socket import SOCK_DGRAM

    return list(await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_DGRAM))
