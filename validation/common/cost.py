"""Measures the processor time and the memory of a command."""

import os
import shutil
import subprocess
import tempfile

# GNU time, for the peak memory. The peak that Python reads for a child includes Python's size, since the child is a copy of Python
# until it executes another program.
TIME = shutil.which("time")


def of(command):
    """Runs a command. Returns CPU seconds (user and system), peak memory in MiB, and the output. The CPU time includes 0.3 ms of GNU time."""
    with tempfile.NamedTemporaryFile("r") as peak:
        words = [TIME, "--format=%M", f"--output={peak.name}", *map(str, command)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, list(command))
        return usage.ru_utime + usage.ru_stime, int(peak.read()) / 1024, output
