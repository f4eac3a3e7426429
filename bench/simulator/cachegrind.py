"""What a job counts under cachegrind, for each packet-hop or for each flow.

For a packet-hop the job is run at two lengths; the difference, by the packet-hops between them, has no start-up in it.
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
    """Ends the program where there is no valgrind."""
    if not shutil.which("valgrind"):
        sys.exit(f"bench/simulator {flag} needs valgrind: apt-get install valgrind (Debian, Ubuntu)")


def count(headway, job, seconds, options, counter, stack_offset, folder):
    """What a counter of cachegrind's (a line of its report, such as "I refs") says of a run, and the run's packet-hops."""
    # Words and variables lie on the stack: were they longer, all of it would fall into other lines of a cache. So one variable moves it.
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
    """Of the whole command, from the text of the scenario to the findings."""
    return counted(headway, job, job.seconds, options, counter)[0] / job.clients
