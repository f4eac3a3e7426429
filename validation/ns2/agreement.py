"""Decides whether two programs agree, run by run."""

import statistics

# Relative bound: half a unit of the sixth digit; ns-2 prints at least six digits.
RUN = 0.00001
# Bound for a zero of ns-2, in the unit of the figure.
OF_ZERO = 0.05


def percent(ns2, headway):
    """Returns the relative difference of Headway in percent; None for a zero of ns-2."""
    return 100 * (headway - ns2) / ns2 if ns2 else None


def by_run(ns2, headway):
    """Compares each pair of runs; all must be within the bound. The reported difference is the largest one."""
    pairs = list(zip(ns2, headway))
    return {"pass": all(abs(ours - theirs) <= (RUN * theirs if theirs else OF_ZERO) for theirs, ours in pairs),
            "ns2": statistics.fmean(ns2), "headway": statistics.fmean(headway),
            "difference_percent": max((percent(*pair) for pair in pairs if pair[0]), key=abs, default=None),
            "bound": f"{100 * RUN:g} %, of a zero {OF_ZERO}"}
