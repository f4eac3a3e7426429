"""Computes the exact times of a shaper in rational numbers from its definition: RFC 2475 section 2.3.3.3 and the curve burst + rate t.

There is no bucket. The transmission of a packet starts at the first time at which the packet has arrived, its predecessor has left the
transmitter, and no interval that ends then has more bits than burst + (integral of the rate over that interval). With the start s_i and the
bits c_i of packet i:

    s_i >= arrival_i,   s_i >= s_(i-1) + wire_(i-1) / link,   G(s_i) - G(s_j) >= c_j + .. + c_i - burst for each j <= i

G is the integral of the shaper's rate. Times are seconds.
"""

import bisect
import itertools
from fractions import Fraction


class Rate:
    """The shaper's rate over time, in bit/s."""

    def __init__(self, first, changes=()):
        self.since = [Fraction(0), *(Fraction(at) for at, _ in changes)]
        self.rates = [Fraction(first), *(Fraction(rate) for _, rate in changes)]
        steps = ((b - a) * rate for a, b, rate in zip(self.since, self.since[1:], self.rates))
        self.given = [Fraction(0), *itertools.accumulate(steps)]

    def until(self, time):
        """Returns the integral of the rate until then, in bits."""
        part = bisect.bisect_right(self.since, time) - 1
        return self.given[part] + (time - self.since[part]) * self.rates[part]

    def when(self, bits):
        """Returns the first time at which the integral has reached this many bits."""
        part = bisect.bisect_left(self.given, bits) - 1
        if part < 0:
            return Fraction(0)
        return self.since[part] + (bits - self.given[part]) / self.rates[part]


def starts(packets, link, overhead, rate, burst, is_full=True, limit=None, counts_first=False):
    """Returns the start and end of each of [(arrival, bytes)] that fits into the burst and into a queue of `limit` packets.

    The bucket is full or empty at time zero. A packet leaves the queue when its predecessor has left the transmitter, or, with `counts_first`
    (the reading of tbf), when its transmission starts.
    """
    left = []
    # An empty bucket is a full one after a burst.
    given, sums, sent = ([], [], 0) if is_full else ([Fraction(0)], [0], 8 * burst)
    begun, free = [], Fraction(0)
    for arrival, size in packets:
        if size > burst:
            continue
        start = max(Fraction(arrival), free)
        waiting = len(left) - bisect.bisect_left(left, arrival)
        if limit is not None and waiting >= limit and start > arrival:
            continue
        sums.append(sent)
        sent += 8 * size
        # The bits from packet j to this one minus the burst, plus the integral of the rate until the start of j.
        least = max((gave + sent - before for gave, before in zip(given, sums)), default=0) - 8 * burst
        leaves = start
        if least > rate.until(start):
            start = rate.when(least)
        left.append(start if counts_first else leaves)
        free = start + Fraction(8 * (size + overhead)) / link
        begun.append((start, free))
        given.append(rate.until(start))
    return begun


def in_series(packets, link, overhead, rate, burst):
    """Returns the same for another reading: a shaper that releases packets even if the transmitter is busy."""
    fitting = [packet for packet in packets if packet[1] <= burst]
    released = [start for start, _ in starts(fitting, Fraction(10) ** 30, 0, rate, burst)]
    free, begun = Fraction(0), []
    for release, (_, size) in zip(released, fitting):
        start = max(release, free)
        free = start + Fraction(8 * (size + overhead)) / link
        begun.append((start, free))
    return begun
