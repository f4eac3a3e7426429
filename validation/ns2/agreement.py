"""When two programs agree, run by run."""

import statistics

# Relative: half a unit of the sixth digit, of which ns-2 prints so many at least.
RUN = 0.00001
# Where ns-2 has a zero: in the figure's unit.
OF_ZERO = 0.05


def percent(ns2, headway):
    """By how much Headway differs; none of a zero."""
    return 100 * (headway - ns2) / ns2 if ns2 else None


def by_run(ns2, headway):
    """Each pair of runs: all within the bound. The difference is the largest of a pair."""
    pairs = list(zip(ns2, headway))
    return {"pass": all(abs(ours - theirs) <= (RUN * theirs if theirs else OF_ZERO) for theirs, ours in pairs),
            "ns2": statistics.fmean(ns2), "headway": statistics.fmean(headway),
            "difference_percent": max((percent(*pair) for pair in pairs if pair[0]), key=abs, default=None),
            "bound": f"{100 * RUN:g} %, of a zero {OF_ZERO}"}
