"""When two programs agree: run by run where nothing is left to chance, in the mean where something is."""

import statistics

from common import student

# Relative: of a run that nothing random enters; of a mean; of a mean of rare things, which are losses
# and the one client that got least or most.
RUN, MEAN, RARE = 0.001, 0.02, 0.10
# Where ns-2 has a zero: in the figure's unit.
OF_ZERO = 0.05
# Runs a side, for a mean.
FEWEST = 10


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


def by_mean(ns2, headway, margin):
    """The means: they agree if the Welch 95 % interval of their difference lies inside the margin, and differ if it lies outside. In
    between more runs would tell, which is no pass. Fewer than ten runs a side prove nothing."""
    theirs, ours, chance = statistics.fmean(ns2), statistics.fmean(headway), student.welch(ns2, headway)
    off, allowed = abs(ours - theirs), margin * theirs if theirs else OF_ZERO
    enough = min(len(ns2), len(headway)) >= FEWEST
    verdict = "agree" if enough and off + chance <= allowed else "differ" if enough and off - chance > allowed else "undecided"
    return {"pass": verdict == "agree", "verdict": verdict, "compared": f"mean of {len(ns2)}",
            "ns2": theirs, "headway": ours, "difference_percent": percent(theirs, ours),
            "chance_percent": percent(theirs, theirs + chance), "bound": f"{100 * margin:g} %, with the whole interval"}
