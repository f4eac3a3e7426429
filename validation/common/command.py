"""How a command runs: whatever stops it from outside is told in a sentence, never as a traceback."""

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
# How much of a failed command is told.
SHOWN_WORDS = 3


# What asks a command to end: Ctrl-C, `kill`, a terminal that is closed.
ASKS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# So long it may take to end when it is asked; then it is killed, with all that it has started.
GRACE_S = 10


def run(main):
    """Runs `main` in a process of its own, the first of a group to which all that it starts belongs. This one waits, passes on what asks
    it to end, and leaves nothing of the group and no temporary file behind."""
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
    """Those of ASKS that count: all but a closed terminal where nohup says so."""
    return [number for number in ASKS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]


def _wait(child):
    """The exit status of the child, when its group is gone."""
    def ask(_number, _frame):
        _signal(child, signal.SIGTERM)
        signal.alarm(GRACE_S)

    with contextlib.suppress(OSError):  # the child does so too, and who comes second may find it gone
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
    """Runs `main`, and ends with the exit status that it returns; with 1 where something is missing or fails, with 130 when it is asked."""
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except KeyboardInterrupt:
        stopped()
    except subprocess.CalledProcessError as error:
        # The whole group of processes is asked, and a child may end first.
        if error.returncode == INTERRUPTED or -error.returncode in ASKS:
            stopped()
        sys.exit(failure(error))
    except BrokenPipeError:
        # Who read the output has enough of it (`run | head`); what is left of it must not be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except FileNotFoundError as missing:
        rust = ": it comes with Rust (https://rustup.rs)" if missing.filename in ("cargo", "rustc") else ""
        sys.exit(f"there is no {missing.filename}{rust}")
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def stopped():
    print("stopped", file=sys.stderr)
    sys.exit(INTERRUPTED)


def failure(error):
    """A failed process as a sentence, behind what it said itself where that was not for the terminal."""
    words = list(map(str, error.cmd))
    command = shlex.join(words[:SHOWN_WORDS]) + (" ..." if len(words) > SHOWN_WORDS else "")
    ended = f"was ended by signal {-error.returncode}" if error.returncode < 0 else f"ended with status {error.returncode}"
    said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr or ""
    return "\n".join([*said.strip().splitlines(), f"{command} {ended}"])


@contextlib.contextmanager
def pool(jobs):
    """Threads that run so many jobs at once. When one fails, or on Ctrl-C, those that have not begun never do."""
    threads = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)
