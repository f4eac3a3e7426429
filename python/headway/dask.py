"""Sweeps on a Dask cluster. Requires the package `distributed`.

Clusters on SLURM and other batch systems are created with dask-jobqueue, clusters on Kubernetes
with dask-kubernetes. Each worker needs the same build of the package `headway`.

Runs are submitted in tasks of a few seconds. If a worker dies, another worker repeats its task. The
results of a task are written to the journal in the folder of the sweep as soon as they arrive. The
dataset is identical, byte for byte, to that of `headway.sweep` without a cluster.

`headway sweep --dask` runs `python -m headway.dask CODE ADDRESS OUT AGAIN SCENARIO [KEY=VALUE].. --
[KEY=V1,V2]..`.
"""

from __future__ import annotations

import functools
import os
import pickle
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _native
from ._algorithms import Algorithms, simulate
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._sweep import Parts

_TASK_S = 3.0
"""Target duration of a task. The overhead of Dask is a few ms per task."""
_FIRST_RUNS = 4
"""Runs per task until the duration of a run is known."""
_TASKS_PER_THREAD = 3
"""Maximum number of submitted tasks per worker thread."""


def run(
    cluster: object,
    parts: Parts,
    algorithms: Algorithms | None,
    session: _native.Session,
    progress: Callable[[int, int], object] | None,
) -> None:
    """Runs the missing runs of a session on a cluster, which is an address or a
    `distributed.Client`.
    """
    import distributed

    # The package has no type annotations.
    dask: Any = distributed
    own_client = None if isinstance(cluster, dask.Client) else dask.Client(cluster)
    client: Any = own_client or cluster
    try:
        chosen = algorithms and (algorithms.pickled(), algorithms.identity())
        pending = session.missing()
        total, done, runs = len(pending), 0, _FIRST_RUNS
        pending.reverse()
        futures: Any = dask.as_completed()
        submitted: set[Any] = set()

        def submit() -> None:
            if pending:
                batch = [pending.pop() for _ in range(min(runs, len(pending)))]
                future = client.submit(_work, parts, chosen, batch, _native.CODE, pure=False, retries=3)
                submitted.add(future)
                futures.add(future)

        threads = max(1, sum(client.nthreads().values()))
        for _ in range(_TASKS_PER_THREAD * threads):
            submit()
        for future in futures:
            submitted.discard(future)
            elapsed_s, results = future.result()
            for point, seed, summary in results:
                session.add(point, seed, summary)
            done += len(results)
            if progress:
                progress(done, total)
            # Fill the target duration, but keep enough runs for the other threads.
            run_s = max(elapsed_s / len(results), 1e-6)
            runs = max(1, min(int(_TASK_S / run_s), len(pending) // threads + 1))
            while pending and futures.count() < _TASKS_PER_THREAD * threads:
                submit()
    except BaseException:
        # Cancel the tasks that no worker has started.
        client.cancel(list(submitted), force=True)
        raise
    finally:
        if own_client is not None:
            own_client.close()


def _work(
    parts: Parts, algorithms: tuple[bytes, str] | None, tasks: list[tuple[int, int]], code: str
) -> tuple[float, list[tuple[int, int, str]]]:
    """Executes a task on a worker. Returns its duration in s and the results."""
    if code != _native.CODE:
        raise Error(
            f"the worker has headway {_native.CODE}, the sweep needs {code}; install the same wheel on all machines"
        )
    start = time.perf_counter()
    file, text, sets, folder, files, varies = parts
    pickled, identity = algorithms or (None, "")
    sweep = _cached_sweep(file, text, tuple(sets), folder, tuple(files.items()), tuple(varies), identity)
    if pickled is None:
        results = [(point, seed, sweep.simulate(point, seed)) for point, seed in tasks]
    else:
        chosen = pickle.loads(pickled)
        results = [(point, seed, simulate(sweep, parts, chosen, point, seed)) for point, seed in tasks]
    return time.perf_counter() - start, results


@functools.lru_cache(maxsize=4)
def _cached_sweep(
    file: str,
    text: str,
    sets: tuple[str, ...],
    folder: str,
    files: tuple[tuple[str, bytes], ...],
    varies: tuple[str, ...],
    identity: str,
) -> _native.Sweep:
    return _native.Sweep(file, text, list(sets), folder, dict(files), list(varies), identity)


def _main(words: list[str]) -> None:
    """Entry point for `headway sweep --dask`, which reads the finished runs from the folder."""
    from ._scenario import _text

    code, address, out, again, path, *rest = words
    if code != _native.CODE:
        raise SystemExit(f"the package headway is {_native.CODE}, the command is {code}; install the same build")
    at = rest.index("--")
    read = _native.Scenario(path, _text(path), rest[:at], os.path.dirname(path), {})
    parts = read.file, read.text, read.sets, os.fspath(read.folder), read.files, rest[at + 1 :]
    session = _native.Sweep(*parts, "").open(out, again == "again")
    # The command closes its end of the pipe when it exits or stops the sweep.
    threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    try:
        run(address, parts, None, session, None)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        raise SystemExit(f"cannot reach the cluster at {address}: {error}") from None
    finally:
        session.close()


def _stop_at_end_of_input() -> None:
    # `sys.stdin` would hold its lock when the interpreter exits.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    # Import the module by name: workers look up functions by it, and this copy is `__main__`.
    from headway import dask as module

    module._main(sys.argv[1:])
