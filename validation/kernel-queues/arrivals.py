"""Lists of packets that arrive at a queue: phases with a load of 0.5 to 1.5, in bursts, of four flows."""

import random

SIZES = [1500, 1500, 1500, 1000, 576, 40]


def drawn(seed, byte_ns, packets=20_000, sizes=SIZES):
    """Returns (ns, flow, bytes) of each packet. Times are whole multiples of `byte_ns`, the time that the link needs for a byte."""
    draw = random.Random(seed)
    now, found, load = byte_ns, [], 1.0
    while len(found) < packets:
        if draw.random() < 0.002:
            load = draw.uniform(0.5, 1.5)
        flow = draw.choices(range(4), [8, 4, 2, 1])[0]
        for _ in range(draw.choice([1, 1, 1, 2, 10])):
            size = draw.choice(sizes)
            found.append((now, flow, size))
            now += byte_ns * max(1, round(size / load * draw.expovariate(1)))
    return found
