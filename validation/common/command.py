"""Runs a command. Errors of the environment are reported in one sentence, not as a traceback."""

import concurrent.futures
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

INTERRUPTED = 128 + signal.SIGINT
# Number of words of a failed command that are printed.
SHOWN_WORDS = 3


# Signals that ask a command to end: Ctrl-C, `kill`, a closed terminal.
ASKS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Time from such a signal until the command and all processes that it started are killed.
GRACE_S = 10


def run(main):
    """Runs `main` in a child process that leads a process group. The parent waits, forwards signals, and at the end kills the remaining
    processes of the group and removes the temporary files."""
    sys.stdout.flush()
    scratch = tempfile.mkdtemp(prefix="headway-")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        for number in _heeded():
            signal.signal(number, signal.default_int_handler)
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        _end_with(main)
    try:
        status = _wait(child)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(status)


def _heeded():
    """Returns the signals of ASKS that are handled: all, except SIGHUP under nohup."""
    return [number for number in ASKS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]


def _wait(child):
    """Waits for the child, kills the rest of its group, and returns the exit status."""
    def ask(_number, _frame):
        _signal(child, signal.SIGTERM)
        signal.alarm(GRACE_S)

    with contextlib.suppress(OSError):  # the child does this too, and may already have ended
        os.setpgid(child, child)
    signal.signal(signal.SIGALRM, lambda _number, _frame: _signal(child, signal.SIGKILL))
    for number in _heeded():
        signal.signal(number, ask)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _signal(child, signal.SIGKILL)
    return status if status >= 0 else INTERRUPTED


def _signal(group, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _end_with(main):
    """Runs `main` and exits with the status that it returns; with 1 if something is missing or fails, with 130 after a signal."""
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except KeyboardInterrupt:
        stopped()
    except subprocess.CalledProcessError as error:
        # The signal goes to the whole process group, and a child may end first.
        if error.returncode == INTERRUPTED or -error.returncode in ASKS:
            stopped()
        sys.exit(failure(error))
    except BrokenPipeError:
        # The reader closed the pipe (`run | head`). Output that is still buffered must not be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except FileNotFoundError as missing:
        rust = ": it is part of Rust (https://rustup.rs)" if missing.filename in ("cargo", "rustc") else ""
        sys.exit(f"{missing.filename} was not found{rust}")
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def stopped():
    print("stopped", file=sys.stderr)
    sys.exit(INTERRUPTED)


def failure(error):
    """Returns a sentence on a failed process, after its captured standard error."""
    words = list(map(str, error.cmd))
    command = shlex.join(words[:SHOWN_WORDS]) + (" ..." if len(words) > SHOWN_WORDS else "")
    ended = f"was ended by signal {-error.returncode}" if error.returncode < 0 else f"ended with status {error.returncode}"
    said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr or ""
    return "\n".join([*said.strip().splitlines(), f"{command} {ended}"])


@contextlib.contextmanager
def pool(jobs):
    """Yields a pool of threads that runs this many jobs at once. When a job fails, or on Ctrl-C, pending jobs are canceled."""
    threads = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)
