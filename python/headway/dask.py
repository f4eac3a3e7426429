"""Sweeps on a cluster of `dask.distributed`, which must be installed.

SLURM's and others' clusters are made by dask-jobqueue, Kubernetes' by dask-kubernetes. Each worker needs the package
`headway` of the same code. Runs go in tasks of some seconds; a task whose worker dies is done by another one, and what
a task gave is in the journal of the sweep's folder as soon as it is back. The dataset is that of `headway.sweep`
without a cluster, byte for byte.

`python -m headway.dask CODE ADDRESS OUT AGAIN SCENARIO [KEY=VALUE].. -- [KEY=V1,V2]..` is for `headway sweep --dask`.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._sweep import Parts

_TASK_S = 3.0
"""How long a task is to take: Dask's own cost a task is some ms."""
_FIRST_RUNS = 4
"""Runs of the first tasks, before it is known how long one takes."""
_AHEAD = 3
"""Tasks a worker thread that are with the scheduler at a time."""


def run(cluster: object, parts: Parts, session: _native.Session, progress: Callable[[int, int], object] | None) -> None:
    """Does what is missing of a session on the cluster at an address, or on that of a `distributed.Client`."""
    import distributed

    # It says nothing of its types.
    dask: Any = distributed
    own = None if isinstance(cluster, dask.Client) else dask.Client(cluster)
    client: Any = own or cluster
    try:
        waiting = session.missing()
        every, done, runs = len(waiting), 0, _FIRST_RUNS
        waiting.reverse()
        futures: Any = dask.as_completed()
        asked: set[Any] = set()

        def submit() -> None:
            if waiting:
                batch = [waiting.pop() for _ in range(min(runs, len(waiting)))]
                future = client.submit(_work, parts, batch, _native.CODE, pure=False, retries=3)
                asked.add(future)
                futures.add(future)

        threads = max(1, sum(client.nthreads().values()))
        for _ in range(_AHEAD * threads):
            submit()
        for future in futures:
            asked.discard(future)
            took_s, gave = future.result()
            for point, seed, summary in gave:
                session.add(point, seed, summary)
            done += len(gave)
            if progress:
                progress(done, every)
            # As many as take so long, but no more than leave work for the others.
            each_s = max(took_s / len(gave), 1e-6)
            runs = max(1, min(int(_TASK_S / each_s), len(waiting) // threads + 1))
            while waiting and futures.count() < _AHEAD * threads:
                submit()
    except BaseException:
        # What no worker has begun is begun no more.
        client.cancel(list(asked), force=True)
        raise
    finally:
        if own is not None:
            own.close()


def _work(parts: Parts, tasks: list[tuple[int, int]], code: str) -> tuple[float, list[tuple[int, int, str]]]:
    """On a worker: the runs, and how long they took."""
    if code != _native.CODE:
        raise Error(
            f"this worker has headway {_native.CODE}, and the sweep is of {code}: install the same wheel everywhere"
        )
    begin = time.perf_counter()
    file, text, sets, folder, files, varies = parts
    sweep = _read(file, text, tuple(sets), folder, tuple(files.items()), tuple(varies))
    gave = [(point, seed, sweep.simulate(point, seed)) for point, seed in tasks]
    return time.perf_counter() - begin, gave


@functools.lru_cache(maxsize=4)
def _read(
    file: str,
    text: str,
    sets: tuple[str, ...],
    folder: str,
    files: tuple[tuple[str, bytes], ...],
    varies: tuple[str, ...],
) -> _native.Sweep:
    return _native.Sweep(file, text, list(sets), folder, dict(files), list(varies))


def _main(words: list[str]) -> None:
    """For the command, which then finds every run in the folder, and tells of them."""
    from ._scenario import _text

    code, address, out, again, path, *rest = words
    if code != _native.CODE:
        raise SystemExit(f"the package headway is of {_native.CODE}, and the command of {code}: install that wheel")
    at = rest.index("--")
    read = _native.Scenario(path, _text(path), rest[:at], os.path.dirname(path), {})
    parts = read.file, read.text, read.sets, os.fspath(read.folder), read.files, rest[at + 1 :]
    session = _native.Sweep(*parts).open(out, again == "again")
    # The command is gone, or wants to stop, when its end of the pipe is closed.
    threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    try:
        run(address, parts, session, None)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        raise SystemExit(f"the cluster at {address} does not answer: {error}") from None
    finally:
        session.close()


def _stop_at_end_of_input() -> None:
    # Not by `sys.stdin`, whose lock would be held when the interpreter ends.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    # Not this copy of it: workers find what they are sent by the module's own name.
    from headway import dask as itself

    itself._main(sys.argv[1:])
