"""Controllers and send queues in Python, as parts of the runs of a sweep."""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
from typing import TYPE_CHECKING, NamedTuple

from . import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from ._controllers import Controller
    from ._queues import SendQueue
    from ._sweep import Parts

try:
    import cloudpickle
except ImportError:
    cloudpickle = None


class Algorithms(NamedTuple):
    """Controllers and send queues by the names of their flows."""

    controllers: Mapping[str, Controller]
    queues: Mapping[str, Callable[[], SendQueue]]

    def identity(self) -> str:
        """Returns a hash of the algorithms, from the sources of their modules.

        An edited module has another hash. Values that it reads from elsewhere are not included.
        """
        digest = hashlib.sha256()
        for flow, controller in sorted(self.controllers.items()):
            _add(digest, f"controller {flow}", controller.sender)
            _add(digest, "receiver", controller.receiver)
        for flow, queue in sorted(self.queues.items()):
            _add(digest, f"queue {flow}", queue)
        return digest.hexdigest()

    def pickled(self) -> bytes:
        """Returns the algorithms for another process.

        Classes of the main module and of a notebook need the package cloudpickle there.
        """
        if cloudpickle is not None:
            return bytes(cloudpickle.dumps(self))
        if any(_is_main(part) for part in self._parts()):
            raise ImportError("classes of the main module need the package cloudpickle: pip install cloudpickle")
        return pickle.dumps(self)

    def _parts(self) -> list[object]:
        halves = [half for controller in self.controllers.values() for half in controller]
        return [*halves, *self.queues.values()]


def _is_main(part: object) -> bool:
    return getattr(part, "__module__", None) == "__main__"


def _add(digest: hashlib._Hash, role: str, part: object) -> None:
    """Adds an algorithm to a hash: its name, the source of its module and its arguments."""
    # The arguments of functools.partial are values like other parameters of an algorithm.
    arguments = (getattr(part, "args", ()), getattr(part, "keywords", {}))
    function = getattr(part, "func", part)
    module: ModuleType | None = inspect.getmodule(function)
    try:
        source = inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError):
        source = ""
    try:
        own = inspect.getsource(function)  # type: ignore[arg-type]
    except (OSError, TypeError):
        own = ""
    if not source and not own:
        raise ValueError(f"the source of {function!r} is not known, so that its runs could not be reused safely")
    name = getattr(function, "__qualname__", repr(function))
    for text in (role, name, source, own, repr(arguments)):
        digest.update(text.encode())
        digest.update(b"\0")


def simulate(sweep: _native.Sweep, parts: Parts, algorithms: Algorithms, point: int, seed: int) -> str:
    """Executes a run of a sweep and returns its summary as JSON."""
    from ._scenario import Scenario

    file, _, _, folder, files, _ = parts
    scenario = Scenario._of(_native.Scenario(file, sweep.resolved(point, seed), [], folder, files))
    record = scenario.run(controllers=algorithms.controllers, queues=algorithms.queues)
    return record._inner.summary_line


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
