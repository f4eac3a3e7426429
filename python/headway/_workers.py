"""Runs of a sweep in separate processes, since algorithms in Python share one core in a process.

A worker is a Python that runs `serve`. It receives the sweep and then the runs on standard input,
and answers with their summaries on standard output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO

from . import _native
from ._algorithms import Algorithms, simulate
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._sweep import Parts

_CHECK_S = 0.1
"""Time between two checks for Ctrl-C."""


def run(
    parts: Parts,
    algorithms: Algorithms,
    session: _native.Session,
    jobs: int | None,
    progress: Callable[[int, int], object] | None,
) -> None:
    """Executes the missing runs of a session."""
    pending = session.missing()
    total = len(pending)
    tasks: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for task in pending:
        tasks.put(task)
    start = pickle.dumps((parts, algorithms.pickled(), algorithms.identity()))
    answers: queue.SimpleQueue[tuple[int, int, str] | BaseException] = queue.SimpleQueue()
    workers = [_Worker(start) for _ in range(min(jobs or _cores(), total))]
    threads = [threading.Thread(target=worker.work, args=(tasks, answers), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for done in range(1, total + 1):
            answer = _next(answers)
            if isinstance(answer, BaseException):
                raise answer
            session.add(*answer)
            if progress:
                progress(done, total)
    finally:
        for worker in workers:
            worker.end()


def _cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _next(answers: queue.SimpleQueue[tuple[int, int, str] | BaseException]) -> tuple[int, int, str] | BaseException:
    # A wait without a limit would delay Ctrl-C on some systems.
    while True:
        try:
            return answers.get(timeout=_CHECK_S)
        except queue.Empty:
            pass


class _Worker:
    """A process that executes runs."""

    def __init__(self, start: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from headway._workers import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The modules of this process, headway included.
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        self._start = start

    def work(
        self,
        tasks: queue.SimpleQueue[tuple[int, int]],
        answers: queue.SimpleQueue[tuple[int, int, str] | BaseException],
    ) -> None:
        """Sends one run after another to the process, until there are no more or one fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(self._start)
            while True:
                try:
                    point, seed = tasks.get_nowait()
                except queue.Empty:
                    return
                pickle.dump((point, seed), self._process.stdin)
                self._process.stdin.flush()
                summary, failure = pickle.load(self._process.stdout)
                if failure is not None:
                    answers.put(Error(f"the run of point {point} with seed {seed} failed:\n{failure}"))
                    return
                answers.put((point, seed, summary))
        # A ValueError is a pipe that `end` has closed.
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            answers.put(Error("a process of the sweep ended early"))

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        # Waits, and closes the pipes. What the process did not read cannot be written.
        with contextlib.suppress(BrokenPipeError):
            self._process.__exit__(None, None, None)


def _serve(received: BinaryIO, sent: BinaryIO) -> None:
    parts, algorithms, identity = pickle.load(received)
    chosen: Algorithms = pickle.loads(algorithms)
    file, text, sets, folder, files, varies = parts
    sweep: Any = None
    while True:
        try:
            point, seed = pickle.load(received)
        except EOFError:
            return
        answer: tuple[str | None, str | None]
        try:
            sweep = sweep or _native.Sweep(file, text, sets, folder, files, varies, identity)
            answer = simulate(sweep, parts, chosen, point, seed), None
        except Exception:
            answer = None, traceback.format_exc()
        pickle.dump(answer, sent)
        sent.flush()


def serve() -> None:
    """Executes runs until standard input ends."""
    # What an algorithm prints must not be among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve(sys.stdin.buffer, answers)
    except (KeyboardInterrupt, BrokenPipeError):
        # The process that started this one has stopped.
        os._exit(130)
