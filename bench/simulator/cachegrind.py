"""Counts events of a job with cachegrind, for each packet-hop or for each flow.

For packet-hops the job is run at two lengths. The difference of the counts, divided by the difference of the packet-hops, excludes the start-up.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jobs


def needed(flag):
    """Exits if valgrind is missing."""
    if not shutil.which("valgrind"):
        sys.exit(f"bench/simulator {flag} needs valgrind: apt-get install valgrind (Debian, Ubuntu)")


def count(headway, job, seconds, options, counter, stack_offset, folder):
    """Returns a counter of cachegrind (a line of its report, such as "I refs") for a run, and the run's packet-hops."""
    # Arguments and environment variables are on the stack. Their length moves the stack to other lines of a cache, so one variable sets the position.
    (folder / "headway").symlink_to(headway)
    command, record = jobs.headway_command("./headway", job, seconds, folder)
    words = [word.name if isinstance(word, pathlib.Path) else word for word in command]
    subprocess.run([shutil.which("valgrind"), "--tool=cachegrind", *options, "--cachegrind-out-file=/dev/null", "--log-file=log", *words],
                   cwd=folder, env={"OFFSET": stack_offset * "."}, stdout=subprocess.DEVNULL, check=True)
    counted = re.search(rf" {counter.replace(' ', ' +')}: +([0-9,]+)", (folder / "log").read_text())[1]
    return int(counted.replace(",", "")), json.loads((record / "summary.json").read_text())["packet_hops"]


def counted(headway, job, seconds, options, counter, stack_offset=0):
    with tempfile.TemporaryDirectory() as scratch:
        return count(headway, job, seconds, options, counter, stack_offset, pathlib.Path(scratch))


def per_hop(headway, job, short_s, options, counter, stack_offset):
    short, short_hops = counted(headway, job, short_s, options, counter, stack_offset)
    long, long_hops = counted(headway, job, job.seconds, options, counter, stack_offset)
    return (long - short) / (long_hops - short_hops)


def per_flow(headway, job, options, counter):
    """Returns the count of the whole command, from the text of the scenario to the findings."""
    return counted(headway, job, job.seconds, options, counter)[0] / job.clients
