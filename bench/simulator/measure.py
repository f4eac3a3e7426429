"""Summarizes repeated measurements."""

import statistics


def spread(values):
    """Returns median, minimum and maximum, to six digits."""
    return {name: float(f"{of(values):.6g}") for name, of in (("median", statistics.median), ("min", min), ("max", max))}


def show(values, digits=3):
    """Returns a spread as text."""
    one = values if isinstance(values, dict) else spread(values)
    return f"{one['median']:.{digits}f} ({one['min']:.{digits}f}-{one['max']:.{digits}f})"
