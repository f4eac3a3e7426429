"""How a command runs: whatever stops it from outside is told in a sentence, never as a traceback."""

import concurrent.futures
import contextlib
import os
import shlex
import signal
import subprocess
import sys

INTERRUPTED = 128 + signal.SIGINT
# How much of a failed command is told.
SHOWN_WORDS = 3


def run(main):
    """Runs `main`, and ends with the exit status that it returns; with 1 where something is missing or fails, with 130 on Ctrl-C."""
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except KeyboardInterrupt:
        stopped()
    except subprocess.CalledProcessError as error:
        # Ctrl-C goes to the whole group of processes, and a child may end first.
        if error.returncode in (-signal.SIGINT, INTERRUPTED):
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
