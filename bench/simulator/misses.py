"""Misses of data caches a packet-hop, in caches whose sizes are written down here: those of the machine have no part.

How little a flow touches shows where the cache is too small for all of them. Lines are of 64 B; instructions hardly miss.
"""

from counts import Case, Counts
from jobs import HERE, Job

COUNTS = Counts("--misses", "misses", HERE / "misses.csv", tolerance=0.1, digits=3)
L1 = "32768,8,64"
# Where the stack happens to lie beside the heap, which kernels and C libraries decide, moves the first level by 10 %: it counts as the
# mean over a page, of which a way of that cache is one.
A_PAGE = tuple(range(0, 4096, 1024))
MIB = 1 << 20
TCP_50, TCP_500, TCP_5000 = Job("tcp-50", "tcp", 50, 20), Job("tcp-500", "tcp", 500, 8), Job("tcp-5000", "tcp", 5000, 5)


def first_level(job, short_s, at_most):
    # The last level does not count here, but must have a size.
    return Case(f"{job.name} L1", job, short_s, caches(MIB, 16), "D1 misses", at_most, A_PAGE)


def last_level(job, short_s, size, ways, at_most):
    shown = f"{size // MIB}MiB" if size >= MIB else f"{size >> 10}KiB"
    return Case(f"{job.name} {shown}", job, short_s, caches(size, ways), "LLd misses", at_most)


def caches(last, ways):
    return "--cache-sim=yes", f"--I1={L1}", f"--D1={L1}", f"--LL={last},{ways},64"


# What a change to any packet-hop shows in, in half a minute.
SHORT = [first_level(TCP_50, 5, 3), last_level(TCP_500, 3, MIB // 8, 8, 4.5)]
# 5000 clients take a minute and a half.
LONG = [last_level(TCP_5000, 1, MIB, 16, 5), last_level(TCP_5000, 1, 8 * MIB, 16, 0.4)]


def main(store_them, quick, as_json):
    """`quick`: the short ones, and only what is stored decides."""
    return COUNTS.main(SHORT if quick else SHORT + LONG, store_them, as_json, bars_count=not quick)
