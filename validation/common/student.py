"""Confidence intervals of means by Student's t (Student, Biometrika 6, 1908)."""

import math
import statistics

# 97.5 %, by degrees of freedom from 1 on.
SMALL = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447]


def quantile(freedom):
    """Returns the 97.5 % quantile of Student's t within 0.001: from a table below 7 degrees of freedom, and by the expansion of Cornish
    and Fisher from 7 on. In the table, degrees of freedom are rounded down."""
    if round(freedom, 6) < len(SMALL) + 1:
        return SMALL[int(round(freedom, 6)) - 1]
    z = 1.959964
    return (z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)
            + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3))


def interval(values):
    """Returns half the width of the 95 % interval of a mean; None for a single value and for equal values, which have no interval."""
    if len(set(values)) < 2:
        return None
    return quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def welch(one, other):
    """Returns half the width of the 95 % interval of the difference of two means (B. L. Welch, Biometrika 34, 1947); None if either has
    a single value, or neither varies."""
    if min(len(one), len(other)) < 2:
        return None
    a, b = (statistics.variance(values) / len(values) for values in (one, other))
    if a + b == 0:
        return None
    return quantile((a + b) ** 2 / (a ** 2 / (len(one) - 1) + b ** 2 / (len(other) - 1))) * math.sqrt(a + b)


def shown(half, form):
    """Returns half an interval as ` ± half` in this format, and an empty string if there is no interval."""
    return "" if half is None else f" ± {half:{form}}"
