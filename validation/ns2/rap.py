"""Compares RAP of ns-2.35 (Agent/RAP) with Headway's `rap`, packet by packet over the paths of paths.py.

The time and size of each packet on each link are compared, since Agent/RAP has no numbers in its traces. A run counts as equal if all times are
within 2 us. Each run has one RAP flow: in ns-2 the second one of a run starts with a round trip of 2 s (rap.cc, `UpdateTimeValues`).

With alpha 1 and an empty queue a round trip is a whole number of gaps. Then both timers of Agent/RAP expire at the same time, and the last bit of a
double decides whether a packet is still sent with the old gap. So alpha is drawn with four digits. In runs with alpha 1 the numbers of packets that
arrive from 10 s on are compared.
"""

import collections
import random
import shutil

import paths


def flow(start="0.1", **options):
    """Returns a RAP flow from n0 with packets of 1000 B."""
    return {"kind": "rap", "from": 0, "start": start, "stop": "", "payload": 1000, "options": options}


def cbr(rate, start, stop):
    """Returns a constant-rate flow from n4, in kb/s."""
    return {"kind": "udp", "from": 4, "start": start, "stop": stop, "rate": rate, "payload": 1000}


def drawn(runs, seed):
    """Draws random paths, with and without fine grain, listed losses, a constant rate, and other alpha and beta."""
    draw = random.Random(f"rap {seed}")
    for number in range(runs):
        case = {"duration": 40, "what": "rap"}
        paths.draw_links(draw, case)
        # Delays with different digits, so that timers do not expire at the same round times.
        case["delays"] = [f"{draw.uniform(1, 40):.3f}" for _ in range(4)]
        case["limits"] = [10000, draw.choice([5, 10, 20, 30, 50]), 10000, 10000]
        options = {"useFineGrain": 1} if number % 3 == 1 else {}
        options |= {"alpha": f"{draw.uniform(0.6, 1.9):.4f}", "beta": draw.choice([0.5, 0.5, 0.875])}
        if number % 4 == 3:
            case["what"], options["alpha"], options["beta"] = "rap alpha 1", 1, 0.5
        case["flows"] = [flow(f"{draw.uniform(0, 1):.4f}", **options)]
        if draw.random() < 0.5:
            rate = float(case["rates"][1]) * draw.choice([0.3, 0.5, 0.8])
            case["flows"].append(cbr(f"{rate:.1f}", f"{draw.uniform(5, 15):.4f}", f"{draw.uniform(20, 35):.4f}"))
        if draw.random() < 0.5:
            case["lost"] = {1: sorted(draw.sample(range(1, 2000), draw.randint(1, 40)))}
        yield case


def read(trace, case):
    """Returns the events of each link and kind in their order: (us, size)."""
    events = collections.defaultdict(list)
    until_us = case["duration"] * 1_000_000 - paths.TOLERANCE_US
    for line in trace.open():
        event, at, one, other, _, size, *_ = line.split()
        at = round(float(at) * 1e6)
        if at < until_us:
            events[f"{event} n{one}->n{other}"].append((at, size))
    return events


def arrived(events):
    """Returns the number of packets that arrive at the end from 10 s on."""
    return sum(at >= 10_000_000 for at, _ in events["r n2->n3"])


def summed(counts):
    """Returns the runs with alpha 1 as one case: the totals of ns-2 and Headway must agree within 3 %. Single runs vary by more."""
    theirs, ours = map(sum, zip(*counts))
    percent = 100 * (ours / theirs - 1)
    return {"name": "rap alpha 1", "pass": abs(percent) <= 3, "parameters": f"{len(counts)} runs: ns-2 {theirs} packets, headway {ours}, {percent:+.2f} %",
            "events": theirs, "drops": 0, "first_difference": None}


def compare(headway, runs, seed, folder, keep, show):
    """Draws and compares this many runs."""
    cases, counts = [], []
    for number, case in enumerate(drawn(runs, seed)):
        place = folder / f"{number:03}"
        place.mkdir(parents=True, exist_ok=True)
        trace, _ = paths.run_ns(case, place)
        theirs = read(trace, case)
        ours = read(paths.run_headway(headway, case, [], place), case)
        if not keep:
            shutil.rmtree(place)
        if case["what"] == "rap alpha 1":
            counts.append((arrived(theirs), arrived(ours)))
            if show:
                print(f"{number:03} {case['what']:14} ns-2 {counts[-1][0]} headway {counts[-1][1]} packets from 10 s on  {paths.describe(case)}", flush=True)
            continue
        difference = paths.first_difference(theirs, ours)
        found = {"name": f"{number:03} rap", "pass": difference is None, "parameters": paths.describe(case), "events": sum(map(len, theirs.values())),
                 "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")),
                 "first_difference": None if difference is None else f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}"}
        cases.append(found)
        if show:
            print(f"{found['name']:18} {'equal' if found['pass'] else 'DIFFERS':8} {found['events']:7} events {found['drops']:5} drops  {found['parameters']}", flush=True)
            if not found["pass"]:
                print(f"{'':19}{found['first_difference']}", flush=True)
    equal = sum(case["pass"] for case in cases)
    if show:
        print(f"{equal} of {len(cases)} runs of RAP equal")
    if counts:
        cases.append(summed(counts))
        if show:
            print(f"{cases[-1]['name']}: {cases[-1]['parameters']}{'' if cases[-1]['pass'] else '  MISSED'}")
    return cases
