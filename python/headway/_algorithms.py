"""Controllers and send queues in Python, as parts of the runs of a sweep."""

from __future__ import annotations

import hashlib
import inspect
import pickle
from typing import TYPE_CHECKING, NamedTuple

from . import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

        An edited module has another hash, and so have other arguments of `functools.partial` and other
        values in a closure. Values that a class reads from elsewhere are not included.
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
    """Adds an algorithm to a hash: its name, the source of its module, and the values that it holds.

    A value whose text contains its address differs in each program, so such runs are not reused.
    """
    function = getattr(part, "func", part)  # of functools.partial
    closure = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    held = [getattr(part, name, None) for name in ("args", "keywords", "__defaults__", "__kwdefaults__")]
    source = _source(inspect.getmodule(function))
    own = _source(function)
    if not source and not own:
        raise ValueError(f"the source of {function!r} is not known, so that its runs could not be reused safely")
    name = getattr(function, "__qualname__", repr(function))
    for text in (role, name, source, own, repr(held), repr(closure)):
        digest.update(text.encode())
        digest.update(b"\0")


def _source(part: object) -> str:
    try:
        return inspect.getsource(part)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def simulate(sweep: _native.Sweep, parts: Parts, algorithms: Algorithms, point: int, seed: int) -> str:
    """Executes a run of a sweep and returns its summary as JSON."""
    from ._scenario import Scenario

    file, _, _, folder, files, _ = parts
    scenario = Scenario._of(_native.Scenario(file, sweep.resolved(point, seed), [], folder, files))
    record = scenario.run(controllers=algorithms.controllers, queues=algorithms.queues)
    return record._inner.summary_line
