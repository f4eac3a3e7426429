"""The mutants of cargo-mutants: lists them, runs them, stores their outcomes, and reads the judgements."""

import contextlib
import csv
import fcntl
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from common import command

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
JUDGED = HERE / "judged.csv"

# Outcomes of cargo-mutants, and their names here.
OUTCOMES = {"CaughtMutant": "killed", "Timeout": "killed", "MissedMutant": "survived", "Unviable": "unviable"}
# Files outside of their crate that tests read.
SHARED = ["Cargo.lock", "Cargo.toml", "docs/src/dccp.md", "docs/src/rate", "docs/src/scenario.md", "fuzz", "papers", "scenarios",
          "validation/mutants/limits"]
CRATES = ["units", "link", "tcp", "media", "bound", "rate", "dccp", "attack", "record", "scenario", "sim", "run", "papers", "net", "cli"]
# The mutants of a crate are judged by its own tests, and by these test programs of crates that use it, which compare its numbers with
# external references. Programs that need minutes are left out.
DEPENDENTS = {"units": {"link": ["headway_link", "link"], "tcp": ["golden", "ns2", "rfc"]},
              "link": {"sim": ["ns2_calibration_udp"]},
              "attack": {"sim": ["attackers"]}}
LEFT_OUT = {"sim": ["liveness", "ns2_lan"], "papers": ["rerun"]}
# Time in s that cargo-mutants has to end its processes.
GRACE = 30


def listed(crates):
    """Returns all mutants of these crates, in the order of their names."""
    packages = [word for crate in crates for word in ("--package", f"headway-{crate}")]
    text = subprocess.run(["cargo", "mutants", "--list", "--json", *packages], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = []
    for entry in json.loads(text):
        function = entry["function"]
        found.append({"name": entry["name"], "crate": entry["package"].removeprefix("headway-"), "file": entry["file"],
                      "function": function["function_name"] if function else "", "mutant": entry["name"].split(": ", 1)[1],
                      "code": code(entry), "package": entry["package"]})
    return sorted(found, key=lambda mutant: mutant["name"])


def code(entry):
    """Returns the line with the mutated part between «», if that part is within one line. It identifies a mutant when lines have moved."""
    start, end = entry["span"]["start"], entry["span"]["end"]
    if entry["genre"] == "FnValue" or start["line"] != end["line"]:
        return ""
    line = (ROOT / entry["file"]).read_text().splitlines()[start["line"] - 1]
    first, last = start["column"] - 1, end["column"] - 1
    return (line[:first] + "«" + line[first:last] + "»" + line[last:]).strip()


def within(everything, prefixes):
    """Returns the mutants of files whose paths start with one of these prefixes, and all mutants of crates without a prefix."""
    named = {prefix.split("/")[2] for prefix in prefixes if prefix.startswith("crates/") and prefix.count("/") > 2}
    return [mutant for mutant in everything
            if mutant["crate"] not in named or any(mutant["file"].startswith(prefix) for prefix in prefixes)]


def draw(everything, size, seed):
    """Draws mutants of each crate in proportion to its number of mutants, by largest remainders. With the same seed, a larger sample contains
    the smaller ones, except for rounding."""
    crates = {}
    for mutant in everything:
        crates.setdefault(mutant["crate"], []).append(mutant)
    size = min(size, len(everything))
    share = {crate: size * len(of) / len(everything) for crate, of in crates.items()}
    counts = {crate: int(part) for crate, part in share.items()}
    for crate in sorted(share, key=lambda crate: (counts[crate] - share[crate], crate))[:size - sum(counts.values())]:
        counts[crate] += 1
    for crate, of in crates.items():
        random.Random(f"{seed} {crate}").shuffle(of)
    return [mutant for crate, of in crates.items() for mutant in of[:counts[crate]]]


def judges(crate):
    """Returns the packages whose tests judge the mutants of a crate."""
    return [crate, *DEPENDENTS.get(crate, {})]


def judged(mutants):
    """Returns the reasons for mutants that no test can kill: {name: reason}. A row that fits no mutant, or two, is an error."""
    names = {}
    keys = ("crate", "file", "function", "mutant", "code")
    for mutant in mutants:
        names.setdefault(tuple(mutant[key] for key in keys), []).append(mutant["name"])
    crates = {mutant["crate"] for mutant in mutants}
    reasons = {}
    with JUDGED.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["crate"] not in crates:
                continue
            fits = names.get(tuple(row[key] for key in keys), [])
            if len(fits) != 1 or not row["reason"].strip():
                sys.exit(f"{JUDGED.name}: a row must fit one mutant and have a reason, this one fits {len(fits)}: {row}")
            reasons[fits[0]] = row["reason"]
    return reasons


def source_hashes(crates):
    """Returns a hash of 12 digits of the files that decide the outcomes of a crate's mutants: the sources of the packages that judge it and
    of their dependencies, and the files that the tests read."""
    text = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    packages = json.loads(text)["packages"]
    uses = {package["name"]: [dependency["name"] for dependency in package["dependencies"] if dependency.get("path")] for package in packages}
    folder = {package["name"]: os.path.relpath(os.path.dirname(package["manifest_path"]), ROOT) for package in packages}

    # Development dependencies may form cycles.
    def closure(name):
        found, left = set(), [name]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += uses[name]
        return found

    hashes = {}
    for crate in crates:
        folders = [folder[name] for name in sorted(set().union(*(closure(f"headway-{judge}") for judge in judges(crate))))]
        arguments = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *folders, *SHARED]
        files = subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        digest = hashlib.sha256()
        for path in sorted(set(filter(None, files))):
            if (ROOT / path).is_file():
                digest.update(path.encode() + b"\0" + hashlib.sha256((ROOT / path).read_bytes()).digest())
        hashes[crate] = digest.hexdigest()[:12]
    return hashes


class Store:
    """Outcomes by mutant, one file per state of a crate: out/mutants/rate-0123456789ab.jsonl. Each outcome is written as soon as it is known."""

    def __init__(self, folder, hashes):
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {crate: folder / f"{crate}-{digest}.jsonl" for crate, digest in hashes.items()}
        self.outcomes = {}
        for path in self.paths.values():
            for line in path.read_text().splitlines() if path.exists() else []:
                entry = json.loads(line)
                self.outcomes[entry["name"]] = entry["outcome"]

    def add(self, mutant, outcome):
        if mutant["name"] not in self.outcomes:
            self.outcomes[mutant["name"]] = outcome
            with self.paths[mutant["crate"]].open("a") as file:
                file.write(json.dumps({"name": mutant["name"], "outcome": outcome}) + "\n")


def execute(drawn, everything, store, folder, tasks, nice):
    """Runs the drawn mutants that have no stored outcome, crate by crate."""
    todo = [mutant for mutant in drawn if mutant["name"] not in store.outcomes]
    if not todo:
        return
    # One run at a time: cargo-mutants has one folder for its output.
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another run uses {folder}: wait for it, or specify another folder with --keep")
    # Also where SIGINT is ignored, as in the background of a script.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    progress = Progress(store, len(todo))
    for crate in sorted({mutant["crate"] for mutant in todo}, key=CRATES.index):
        of = [mutant for mutant in todo if mutant["crate"] == crate]
        run_crate(crate, of, [mutant for mutant in everything if mutant["crate"] == crate], store, folder, tasks, nice, progress)
    progress.end()


class Progress:
    """Progress of a run, on one line of a terminal."""

    def __init__(self, store, of):
        self.store, self.of, self.before, self.began = store, of, len(store.outcomes), time.monotonic()

    def done(self):
        return len(self.store.outcomes) - self.before

    def show(self, crate):
        if sys.stderr.isatty():
            print(f"\r{self.done()} of {self.of} run, {time.monotonic() - self.began:.0f} s, {crate:9}", end="", file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print(file=sys.stderr)


def run_crate(crate, todo, everything, store, folder, tasks, nice, progress):
    """Runs these mutants of a crate with the tests of the packages that judge it."""
    by_name = {mutant["name"]: mutant for mutant in todo}
    # The regular expressions of cargo-mutants cannot exclude a removed field of a struct, so all other mutants are listed as done.
    made = folder / "mutants.out"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    (made / "caught.txt").write_text("".join(f"{mutant['name']}\n" for mutant in everything if mutant["name"] not in by_name))
    host = re.search(r"^host: (.*)$", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout, re.M).group(1)
    lists = {"MUTANTS_ONLY": DEPENDENTS.get(crate, {}), "MUTANTS_LEFT_OUT": LEFT_OUT}
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(folder / "target"), "CARGO_INCREMENTAL": "1", "CARGO_BUILD_JOBS": str(tasks),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1", "CARGO_PROFILE_TEST_DEBUG": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "RUST_TEST_THREADS": str(tasks),
        "PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        "MUTANTS_CRATE": f"headway-{crate}",
        **{name: " ".join(f"headway-{of}/{program}" for of, programs in these.items() for program in programs) for name, these in lists.items()},
        f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER": str(HERE / "limits")}
    tests = [word for judge in judges(crate) for word in ("--test-package", f"headway-{judge}")]
    # `limits` sets the time limits; the limit of cargo-mutants is for a program that sleeps.
    arguments = ["nice", "-n", str(nice), "cargo", "mutants", "--iterate", "--shuffle", "--gitignore", "true", "--package", f"headway-{crate}", *tests,
                 "--all-features", "--output", str(folder), "--jobs", "1", "--jobserver-tasks", str(tasks), "--minimum-test-timeout", "300",
                 "--no-times", "--colors", "never", "--cargo-arg=--tests"]
    report = made / "outcomes.json"
    with (folder / f"log-{crate}.txt").open("w") as log:
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            while True:
                running = process.poll() is None
                collect(report, by_name, store)
                progress.show(crate)
                if not running:
                    break
                time.sleep(1)
        except BaseException as stopped:
            end(process)
            collect(report, by_name, store)
            if not isinstance(stopped, KeyboardInterrupt):
                raise
            print(f"\nstopped; {progress.done()} of {progress.of} are stored: the same command continues from there", file=sys.stderr)
            sys.exit(command.INTERRUPTED)
    left = [name for name in by_name if name not in store.outcomes]
    if left:
        sys.exit(f"cargo-mutants ended with {process.returncode} and left {len(left)} mutants of {crate}: see {folder / f'log-{crate}.txt'}")


def end(process):
    """Ends cargo-mutants and all of its processes; kills them if they do not end in time."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    started = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in started | {process.pid}:
        for child in (pid, *descendants(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def descendants(pid):
    """Returns the ids of all descendants of a process."""
    children = {}
    for line in subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, open_ids = set(), [pid]
    while open_ids:
        new = children.get(open_ids.pop(), [])
        found.update(new)
        open_ids += new
    return found


def collect(report, by_name, store):
    """Stores the outcomes that cargo-mutants has written."""
    try:
        entries = json.loads(report.read_text())["outcomes"]
    except (FileNotFoundError, json.JSONDecodeError):  # not yet there, or being written
        return
    for entry in entries:
        if entry["scenario"] == "Baseline":
            continue
        name, outcome = entry["scenario"]["Mutant"]["name"], OUTCOMES.get(entry["summary"])
        if name in by_name and outcome:
            store.add(by_name[name], outcome)


def wilson(killed, of):
    """Returns the 95 % interval of a share (E. B. Wilson, JASA 22, 1927)."""
    if not of:
        return [0.0, 1.0]
    z = 1.959964
    share = killed / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return [middle - half, middle + half]
