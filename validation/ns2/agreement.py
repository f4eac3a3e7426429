"""When two programs agree: run by run where nothing is left to chance, in the mean where something is."""

import math
import statistics

# Relative: of a run that nothing random enters; of a single run of TCP; of a mean; of a mean of rare things, which are losses
# and the one client that got least or most.
RUN, SINGLE, MEAN, RARE = 0.001, 0.01, 0.02, 0.10
# Where ns-2 has a zero: in the figure's unit.
OF_ZERO = 0.05


def student(freedom):
    """The 97.5 % quantile of Student's t, after Cornish and Fisher: within 0.001 from 5 degrees of freedom on."""
    z = 1.959964
    return (z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)
            + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3))


def interval(values):
    """Half the 95 % interval of a mean."""
    return student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def welch(one, other):
    """Half the 95 % interval of the difference of two means."""
    a, b = (statistics.variance(values) / len(values) for values in (one, other))
    if a + b == 0:
        return 0.0
    return student((a + b) ** 2 / (a ** 2 / (len(one) - 1) + b ** 2 / (len(other) - 1))) * math.sqrt(a + b)


def percent(ns2, headway):
    """By how much Headway differs; none of a zero."""
    return 100 * (headway - ns2) / ns2 if ns2 else None


def by_run(ns2, headway, bound):
    """Each pair of runs: all within the bound. The difference is the largest of a pair."""
    pairs = list(zip(ns2, headway))
    return {"pass": all(abs(ours - theirs) <= (bound * theirs if theirs else OF_ZERO) for theirs, ours in pairs), "compared": "each run",
            "ns2": statistics.fmean(ns2), "headway": statistics.fmean(headway),
            "difference_percent": max((percent(*pair) for pair in pairs if pair[0]), key=abs, default=None),
            "bound": f"{100 * bound:g} %, of a zero {OF_ZERO}"}


def by_mean(ns2, headway, bound):
    """The means: within the bound, or as near as chance allows."""
    theirs, ours, chance = statistics.fmean(ns2), statistics.fmean(headway), welch(ns2, headway)
    return {"pass": abs(ours - theirs) <= max(bound * theirs, chance), "compared": f"mean of {len(ns2)}",
            "ns2": theirs, "headway": ours, "difference_percent": percent(theirs, ours),
            "chance_percent": percent(theirs, theirs + chance), "bound": f"{100 * bound:g} % or chance"}
