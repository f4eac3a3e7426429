"""What a command costs."""

import shutil
import statistics
import tempfile

from common import program

# GNU time, for the peak memory. What Python itself is told of a child starts at Python's own size: a child is a copy of it until
# it becomes another program.
TIME = shutil.which("time")


def cost(command):
    """Runs a command: CPU seconds (user and system), peak memory in MiB, what it printed. Both CPU times count GNU time's 0.3 ms."""
    with tempfile.NamedTemporaryFile("r") as peak:
        output, usage = program.cost([TIME, "--format=%M", f"--output={peak.name}", *command])
        return usage.ru_utime + usage.ru_stime, int(peak.read()) / 1024, output


def spread(values):
    """Median, least and most, to six digits."""
    return {name: float(f"{of(values):.6g}") for name, of in (("median", statistics.median), ("min", min), ("max", max))}


def show(values, digits=3):
    """A spread as text."""
    one = values if isinstance(values, dict) else spread(values)
    return f"{one['median']:.{digits}f} ({one['min']:.{digits}f}-{one['max']:.{digits}f})"
