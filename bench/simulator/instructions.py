"""Instructions per packet-hop: steady from run to run and from machine to machine, so that they can be kept and compared.

A job is run under cachegrind at two lengths; the difference, by the packet-hops between them, has no start-up in it.
"""

import csv
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from common import program
import jobs

STORED = jobs.HERE / "instructions.csv"
# Other compilers, C libraries and processors are good for less than this.
TOLERANCE = 0.05
# With its short and its long run in simulated seconds.
CASES = [(jobs.Job("tcp-50", "tcp", 50, 20), 5), (jobs.Job("tcp-50-scheduled", "tcp", 50, 20, scheduled=True), 5),
         (jobs.Job("cbr-50", "cbr", 50, 8), 2), (jobs.Job("cbr-50-scheduled", "cbr", 50, 8, scheduled=True), 2),
         (jobs.Job("red-series-10", "tcp", 10, 40, red=True, series=True), 10), (jobs.Job("tfrc-50", "tfrc", 50, 8), 2),
         (jobs.Job("dccp-50", "dccp", 50, 8), 2)]


def count(headway, job, seconds, folder):
    """Instructions and packet-hops of a run."""
    command, record = jobs.headway_command(headway, job, seconds, folder)
    log = folder / "cachegrind.log"
    subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log}", *command],
                   stdout=subprocess.DEVNULL, check=True)
    instructions = int(re.search(r"I +refs: +([0-9,]+)", log.read_text())[1].replace(",", ""))
    return instructions, json.loads((record / "summary.json").read_text())["packet_hops"]


def per_hop(headway, job, short_s):
    with tempfile.TemporaryDirectory() as scratch:
        short, long = (count(headway, job, seconds, pathlib.Path(scratch)) for seconds in (short_s, job.seconds))
    return (long[0] - short[0]) / (long[1] - short[1])


def first_line(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]


def store(counts):
    """Keeps the counts, and what they hold for."""
    made_by = f"{platform.machine()}, {' '.join(first_line('rustc', '--version').split()[:2])}, {first_line('valgrind', '--version')}"
    rows = [f"{name},{value:.1f}" for name, value in counts.items()]
    STORED.write_text("\n".join([f"# {made_by}: bench/simulator/run --instructions --store", "name,instructions_per_hop", *rows]) + "\n")


def stored():
    """What is kept: {name: count}, and by what it was made."""
    made_by, *lines = STORED.read_text().splitlines()
    return {row["name"]: float(row["instructions_per_hop"]) for row in csv.DictReader(lines)}, made_by.lstrip("# ").partition(":")[0]


def check(name, now, kept):
    """A count beside the one that is kept, and what is to be done about it."""
    change = now / kept - 1
    numbers = f"{now:.0f} instructions a packet-hop, {kept:.0f} are stored"
    advice = ""
    if change > TOLERANCE:
        advice = f"{name} takes {numbers}; if that is meant, run bench/simulator/run --instructions --store"
    elif change < -TOLERANCE:
        advice = f"{name} takes only {numbers}; keep it with bench/simulator/run --instructions --store"
    return {"name": name, "instructions_per_hop": round(now, 1), "stored": kept, "change": round(change, 4), "pass": change <= TOLERANCE,
            "advice": advice}


def main(store_them, as_json):
    if not shutil.which("valgrind"):
        sys.exit("bench/simulator --instructions needs valgrind: apt-get install valgrind (Debian, Ubuntu)")
    if not store_them:
        kept, made_by = stored()
        if not made_by.startswith(platform.machine()):
            sys.exit(f"{STORED.name} holds for {made_by}, this is {platform.machine()}: nothing to compare with")
        if missing := {job.name for job, _ in CASES} - kept.keys():
            sys.exit(f"{STORED.name} has no {', '.join(sorted(missing))}: run bench/simulator/run --instructions --store")
    headway = program.headway()
    counts = {}
    for job, short_s in CASES:
        print(f"{job.name} under cachegrind ...", file=sys.stderr, flush=True)
        counts[job.name] = per_hop(headway, job, short_s)
    if store_them:
        store(counts)
        kept, made_by = stored()
    cases = [check(name, now, kept[name]) for name, now in counts.items()]
    if as_json:
        print(json.dumps({"stored_with": made_by, "cases": cases}, indent=1))
    else:
        print(f"instructions a packet-hop (stored with {made_by})")
        for case in cases:
            print(f"{case['name']:16} {case['instructions_per_hop']:8.1f}  stored {case['stored']:8.1f}  {case['change']:+7.2%}  "
                  f"{'ok' if case['pass'] else 'MORE'}")
    for case in cases:
        if case["advice"]:
            print(case["advice"], file=sys.stderr)
    return 0 if all(case["pass"] for case in cases) else 1
