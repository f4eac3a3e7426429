"""Counts instructions per packet-hop, and of the whole command."""

from counts import Case, Counts
from jobs import HERE, Job

COUNTS = Counts("--instructions", "instructions", HERE / "instructions.csv", tolerance=0.02, digits=1)
# The jobs, with the duration of the short run in simulated s.
JOBS = [(Job("tcp-50", "tcp", 50, 20), 5), (Job("tcp-50-scheduled", "tcp", 50, 20, scheduled=True), 5), (Job("cbr-50", "cbr", 50, 8), 2),
        (Job("cbr-50-scheduled", "cbr", 50, 8, scheduled=True), 2), (Job("red-series-10", "tcp", 10, 40, red=True, series=True), 10),
        (Job("tfrc-50", "tfrc", 50, 8), 2), (Job("dccp-50", "dccp", 50, 8), 2),
        (Job("media-50", "media", 50, 10, series=True), 4)]
# The whole command with findings. If it scales linearly, a flow of 50,000 costs as much as a flow of 5000.
WHOLE = [Job("whole-50", "tcp", 50, 10, series=True), Job("whole-1000", "tcp", 1000, 1, series=True), Job("whole-5000", "tcp", 5000, 0.02, series=True),
         Job("whole-50000", "tcp", 50000, 0.02, series=True)]


def main(store_them, as_json):
    cases = [Case(job.name, job, short_s, ("--cache-sim=no",), "I refs") for job, short_s in [*JOBS, *((job, None) for job in WHOLE)]]
    return COUNTS.main(cases, store_them, as_json)
