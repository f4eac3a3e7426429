"""What a job counts under cachegrind, a packet-hop.

The job is run at two lengths; the difference, by the packet-hops between them, has no start-up in it.
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


def per_hop(headway, job, short_s, options, counter, stack_offset):
    counted = []
    for seconds in (short_s, job.seconds):
        with tempfile.TemporaryDirectory() as scratch:
            counted.append(count(headway, job, seconds, options, counter, stack_offset, pathlib.Path(scratch)))
    (short, short_hops), (long, long_hops) = counted
    return (long - short) / (long_hops - short_hops)
