"""Counts for each packet-hop or flow. They are stable between runs and between machines, so that they can be stored and compared."""

import csv
import dataclasses
import json
import pathlib
import platform
import statistics
import subprocess
import sys

from common import program
import cachegrind
import jobs

# Rises above the lowest counts, each with its reason.
ACCEPTED = jobs.HERE / "accepted.md"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    # Duration of the long run, in simulated s: that of the job.
    job: jobs.Job
    # None: the whole command is counted, for each flow.
    short_s: float | None
    # Options of cachegrind, and the line of its report with the count.
    options: tuple
    counter: str
    # Largest allowed count of a packet-hop, whatever is stored.
    at_most: float | None = None
    # Positions of the stack, in bytes: the count is the mean over these.
    stack_offsets: tuple = (0,)

    @property
    def of(self):
        return "flow" if self.short_s is None else "packet-hop"

    def count(self, headway):
        if self.short_s is None:
            return cachegrind.per_flow(headway, self.job, self.options, self.counter)
        return statistics.fmean(cachegrind.per_hop(headway, self.job, self.short_s, self.options, self.counter, offset)
                                for offset in self.stack_offsets)


@dataclasses.dataclass(frozen=True)
class Counts:
    """Cases that are counted in one unit, and stored in one file."""

    # The option of bench/simulator/run for these counts.
    flag: str
    unit: str
    file: pathlib.Path
    # Differences between compilers, C libraries and processors are smaller than this fraction.
    tolerance: float
    digits: int

    @property
    def column(self):
        return self.unit

    @property
    def to_store(self):
        return f"bench/simulator/run {self.flag} --store"

    def store(self, found):
        """Stores the lowest count of each case, with the machine and the compiler. Replaces counts of other compilers."""
        made_by = f"{platform.machine()}, {' '.join(first_line('rustc', '--version').split()[:2])}, {first_line('valgrind', '--version')}"
        kept, kept_by = self.stored()
        if kept_by == made_by:
            found = {name: min(value, kept.get(name, value)) for name, value in found.items()}
        rows = [f"{name},{value:.{self.digits}f}" for name, value in found.items()]
        self.file.write_text("\n".join([f"# {made_by}: {self.to_store}", f"name,{self.column}", *rows]) + "\n")

    def stored(self):
        """Returns the stored counts, {name: count}, and the description of the machine and compiler."""
        made_by, *lines = self.file.read_text().splitlines()
        return {row["name"]: float(row[self.column]) for row in csv.DictReader(lines)}, made_by.lstrip("# ").partition(":")[0]

    def accepted(self):
        """Returns the higher counts that accepted.md accepts: {name: at most}."""
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in ACCEPTED.read_text().splitlines() if line.startswith("|")]
        return {row[1]: float(row[4]) for row in rows[2:] if row[2] == self.unit}

    def comparable(self, cases):
        """Exits if the stored counts are of another machine, or not of these cases."""
        kept, made_by = self.stored()
        if not made_by.startswith(platform.machine()):
            sys.exit(f"{self.file.name} is for {made_by}, this is {platform.machine()}: nothing to compare with")
        if missing := {case.name for case in cases} - kept.keys():
            sys.exit(f"{self.file.name} has no {', '.join(sorted(missing))}: run {self.to_store}")

    def check(self, case, now, kept, accepted):
        """Compares a count with the lowest stored one and with its bar, and returns the case with an advice."""
        change = now / kept - 1
        numbers = f"{now:.{self.digits}f} {self.unit} a {case.of}, {kept:.{self.digits}f} are stored"
        most = max(kept * (1 + self.tolerance), accepted or 0)
        advice = ""
        if now > most:
            advice = f"{case.name} takes {numbers}; if this is intended, write the reason into {ACCEPTED.name}"
        elif change < -self.tolerance:
            advice = f"{case.name} takes only {numbers}; store it with {self.to_store}"
        checked = {"name": case.name, "of": case.of, self.column: round(now, self.digits), "stored": kept, "change": round(change, 4),
                   "accepted": accepted, "pass": now <= most, "advice": advice}
        return checked if case.at_most is None else checked | {"at_most": case.at_most, "bar_holds": now <= case.at_most}

    def show(self, made_by, checked):
        print(f"{self.unit} (stored with {made_by})")
        for case in checked:
            bar = f"  at most {case['at_most']:<4}{'holds' if case['bar_holds'] else 'FAILS'}" if "at_most" in case else ""
            accepted = f"  accepted {case['accepted']:.{self.digits}f}" if case["accepted"] else ""
            print(f"{case['name']:16} {case[self.column]:9.{self.digits}f} a {case['of']:10}  stored {case['stored']:9.{self.digits}f}  {case['change']:+7.2%}  "
                  f"{'ok' if case['pass'] else 'MORE':4}{bar}{accepted}".rstrip())

    def main(self, cases, store_them, as_json, bars_count=True):
        """Counts the cases and compares. Returns 0 if no case exceeds its stored count and all judged bars hold."""
        cachegrind.needed(self.flag)
        if not store_them:
            self.comparable(cases)
        headway = program.headway()
        found = {}
        for case in cases:
            print(f"{case.name} under cachegrind ...", file=sys.stderr, flush=True)
            found[case.name] = case.count(headway)
        if store_them:
            self.store(found)
        kept, made_by = self.stored()
        accepted = self.accepted()
        checked = [self.check(case, found[case.name], kept[case.name], accepted.get(case.name)) for case in cases]
        if as_json:
            print(json.dumps({"stored_with": made_by, "cases": checked}, indent=1))
        else:
            self.show(made_by, checked)
        for case in checked:
            if case["advice"]:
                print(case["advice"], file=sys.stderr)
        return 0 if all(case["pass"] and (case.get("bar_holds", True) or not bars_count) for case in checked) else 1


def first_line(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
