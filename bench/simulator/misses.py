"""Counts misses of data caches per packet-hop, in simulated caches of fixed sizes: the caches of the machine have no effect.

The memory that a flow uses shows in caches that are too small for all flows. Lines have 64 B; instructions rarely miss.
"""

from counts import Case, Counts
from jobs import HERE, Job

COUNTS = Counts("--misses", "misses", HERE / "misses.csv", tolerance=0.1, digits=3)
L1 = "32768,8,64"
# The position of the stack relative to the heap depends on the kernel and the C library, and changes the misses of the first level by 10 %. So
# the count is the mean over the positions in a page, which is the size of one way of this cache.
A_PAGE = tuple(range(0, 4096, 1024))
MIB = 1 << 20
TCP_50, TCP_500, TCP_5000 = Job("tcp-50", "tcp", 50, 20), Job("tcp-500", "tcp", 500, 8), Job("tcp-5000", "tcp", 5000, 5)


def first_level(job, short_s, at_most):
    # The last level is not counted, but must have a size.
    return Case(f"{job.name} L1", job, short_s, caches(MIB, 16), "D1 misses", at_most, A_PAGE)


def last_level(job, short_s, size, ways, at_most):
    shown = f"{size // MIB}MiB" if size >= MIB else f"{size >> 10}KiB"
    return Case(f"{job.name} {shown}", job, short_s, caches(size, ways), "LLd misses", at_most)


def caches(last, ways):
    return "--cache-sim=yes", f"--I1={L1}", f"--D1={L1}", f"--LL={last},{ways},64"


# Cases that show a change to any packet-hop, in half a minute.
SHORT = [first_level(TCP_50, 5, 3), last_level(TCP_500, 3, MIB // 8, 8, 4.5)]
# 5000 clients take a minute and a half.
LONG = [last_level(TCP_5000, 1, MIB, 16, 5), last_level(TCP_5000, 1, 8 * MIB, 16, 0.4)]


def main(store_them, quick, as_json):
    """Runs the cases. `quick`: only the short ones, and only the stored counts are judged."""
    return COUNTS.main(SHORT if quick else SHORT + LONG, store_them, as_json, bars_count=not quick)
