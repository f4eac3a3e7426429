"""Compares one TFRC flow of ns-2 (tfrc.tcl) with Headway's dialect ns2.

The cells have periodic losses, random losses, losses that change, a bottleneck, and an interval without reports. Cells with random events have at
least ten seeds per program: the 95 % interval of the difference of the means (Welch) must be within 5 %. Each program draws its losses
separately. In cells without random events the figures must be within 5 %, and those of periodic loss also within 0.1 % of the throughput equation.

Slow start and the interval without reports are printed, but not judged. In ns-2's slow start a report is sent one measured round trip after the
previous one, so that "a round trip has passed" compares two sums of the same numbers. The last bit of a double decides how many packets the
receive rate counts, and the rate doubles a round trip earlier or later. The rest depends on the position of the flow in a round trip. So do the
seconds in which the rate of periodic losses changes, since the change happens at the 6000th packet. crates/transport/rate/tests/ns2.rs compares
all of these with stored traces, from equal phases.
"""

import collections
import math
import pathlib
import statistics
import subprocess

from common import program, student
import agreement

HERE = pathlib.Path(__file__).resolve().parent
# A short window has a large variation: this number of runs brings the interval below the margin.
STEP_SEEDS = 200
MARGIN = 0.05
EQUATION_MARGIN = 0.001
PACKET = 1000

# windows: start and end of the measurements, in s; the run ends with the last one.
Cell = collections.namedtuple("Cell", "name mode rtt_ms rate_mbps limit loss windows seeds figures judged", defaults=[True])
SENT, QUEUE = ("sent_kBps",), ("sent_kBps", "received_kbps", "queue_packets")


def cells():
    free = {"rate_mbps": 1000, "limit": 100000}
    for rtt in (50, 100, 200):
        for k in (10, 20, 100, 1000):
            windows = [(400, 600)] if k == 1000 else [(100, 200)]
            yield Cell(f"periodic.{k}.{rtt}ms", "rfc", rtt, loss=f"periodic {k}", windows=windows, seeds=1, figures=SENT, **free)
    for mode in ("rfc", "default"):
        for rtt in (50, 100, 200):
            for p in (0.001, 0.01, 0.05, 0.1):
                # Rare losses need a longer run for the same confidence.
                seconds = 5000 if p == 0.001 else 2000
                yield Cell(f"bernoulli.{mode}.{p:g}.{rtt}ms", mode, rtt, loss=f"bernoulli {p}", windows=[(20, 20 + seconds)], seeds=10,
                           figures=SENT, **free)
    steps = {"loss": "periodic 100 6000 20 9000 100 15000 0", "seeds": 1, "figures": SENT, **free}
    yield Cell("step.periodic", "rfc", 100, windows=[(10, 50), (60, 130), (145, 185), (200, 240)], **steps)
    yield Cell("step.periodic.changes", "rfc", 100, windows=[(52, 58), (131, 140)], judged=False, **steps)
    for mode in ("rfc", "default"):
        yield Cell(f"step.bernoulli.{mode}", mode, 100, loss="bernoulli 0.01 100 0.05 200 0.01 300 0", seeds=STEP_SEEDS, figures=SENT,
                   windows=[(20, 100), (100, 125), (125, 200), (200, 225), (225, 300), (300, 330)], **free)
    yield Cell("slow-start", "rfc", 100, loss="none", windows=[(0, 0.65), (0.65, 1.25)], seeds=1, figures=SENT, judged=False, **free)
    yield Cell("no-reports", "rfc", 100, loss="reports 30 35", windows=[(20, 30), (30, 31), (31, 35), (35, 40), (40, 45)], seeds=1,
               figures=SENT, judged=False, **free)
    for mode in ("rfc", "default"):
        for rtt in (40, 100):
            for limit in (10, 25, 50):
                yield Cell(f"bottleneck.{mode}.{limit}.{rtt}ms", mode, rtt, rate_mbps=2, limit=limit, loss="none", windows=[(20, 220)],
                           seeds=1, figures=QUEUE, **{})


def run_ns(cell, seed):
    """Returns the figures of ns-2, one dict per window."""
    found = []
    for start, end in cell.windows:
        arguments = [seed, end, start, cell.mode, cell.rtt_ms, cell.rate_mbps, cell.limit, cell.loss, 0]
        done = subprocess.run(["ns", HERE / "tfrc.tcl", *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
        values = {key: float(value) for key, value in (line.split() for line in done.stdout.splitlines() if not line.startswith("bins"))}
        found.append({"sent_kBps": values["sent_packets"] * PACKET / 1000 / (end - start), **values})
    return found


def loss(cell):
    """Returns the loss models of S's link and of the reverse path, as keys of their links."""
    kind, *plan = cell.loss.split()
    if kind == "none":
        return "", ""
    if kind == "reports":
        start, end = plan
        return ('loss = { kind = "periodic", every = 100 }\n',
                f'loss = {{ kind = "bernoulli", changes = [{{ at = "{start}s", probability = 1.0 }}, {{ at = "{end}s", probability = 0.0 }}] }}\n')
    first, *rest = plan
    pairs = list(zip(rest[::2], rest[1::2]))
    if kind == "periodic":
        changes = ", ".join(f"{{ packet = {packet}, every = {every} }}" for packet, every in pairs)
        return f'loss = {{ kind = "periodic", every = {first}, changes = [{changes}] }}\n', ""
    changes = ", ".join(f'{{ at = "{at}s", probability = {float(p)} }}' for at, p in pairs)
    return f'loss = {{ kind = "bernoulli", probability = {float(first)}, changes = [{changes}] }}\n', ""


def scenario(cell, seed, start, end):
    there, back = loss(cell)
    delay = f"{cell.rtt_ms * 1000 // 2 - 10}us"
    controller = {"rfc": f'datagram = "1000B", header = "0B", controller = {{ {RFC_RULES.format(t_rto_ms=4 * cell.rtt_ms)} }}', "default": ""}
    return (f'name = "tfrc"\nduration = "{end}s"\nmeasure_from = "{start}s"\nseed = {seed}\ndialect = "ns2"\nrecord.series = false\n'
            f'[[link]]\nbetween = ["s", "r"]\nrate = "1Gbps"\ndelay = "10us"\none_way = true\nqueue = {{ kind = "droptail", limit = "100000packets" }}\n{there}'
            f'[[link]]\nbetween = ["r", "s"]\nrate = "1Gbps"\ndelay = "10us"\none_way = true\nqueue = {{ kind = "droptail", limit = "100000packets" }}\n'
            f'[[link]]\nbetween = ["r", "d"]\nrate = "{cell.rate_mbps}Mbps"\ndelay = "{delay}"\none_way = true\nqueue = {{ kind = "droptail", limit = "{cell.limit}packets" }}\n'
            f'[[link]]\nbetween = ["d", "r"]\nrate = "{cell.rate_mbps}Mbps"\ndelay = "{delay}"\none_way = true\nqueue = {{ kind = "droptail", limit = "100000packets" }}\n{back}'
            f'[[flow]]\nname = "tfrc"\nfrom = "s"\nto = "d"\ntransport = {{ kind = "tfrc", {controller[cell.mode]} }}\nsource = {{ kind = "ftp" }}\n')


# The settings of mode rfc of tfrc.tcl.
RFC_RULES = 'tcp_tick = "1ms", min_rto = "{t_rto_ms}ms"'


def run_headway(headway, cell, seed, folder):
    """Returns the figures of Headway, one dict per window."""
    folder.mkdir(parents=True, exist_ok=True)
    path, found = folder / "tfrc.toml", []
    for start, end in cell.windows:
        path.write_text(scenario(cell, seed, start, end))
        summary = program.simulate(headway, path, folder / "record")
        flow, = summary["flows"]
        queue, = (link for link in summary["links"] if link["name"] == "r->d")
        found.append({"sent_kBps": flow["sent_packets"] * PACKET / 1000 / (end - start), "received_kbps": flow["throughput_bps"] / 1000,
                      "queue_packets": queue["mean_queue_packets"], "drops": sum(queue["dropped_packets"].values())})
    return found


def equation_kBps(p, rtt_s):
    """Returns X of RFC 5348 section 3.1 with b = 1 and t_RTO = 4 R."""
    return PACKET / 1000 / (rtt_s * (math.sqrt(2 * p / 3) + 12 * math.sqrt(3 * p / 8) * p * (1 + 32 * p * p)))


def within(ns2, headway, margin):
    """Checks that the difference of the means plus its interval is within the margin."""
    theirs, ours = statistics.fmean(ns2), statistics.fmean(headway)
    # Values that do not vary have no interval: only their difference is judged.
    chance = student.welch(ns2, headway) or 0.0
    return {"pass": abs(ours - theirs) + chance <= margin * theirs, "compared": f"mean of {len(ns2)}" if len(ns2) > 1 else "one run",
            "ns2": theirs, "headway": ours, "difference_percent": agreement.percent(theirs, ours),
            "chance_percent": agreement.percent(theirs, theirs + chance), "bound": f"{100 * margin:g} %, chance included"}


def judge(cell, ns2, headway):
    """Yields a case per window and figure. Both arguments are lists over seeds of lists over windows."""
    for number, (start, end) in enumerate(cell.windows):
        for figure in cell.figures:
            theirs, ours = ([run[number][figure] for run in runs] for runs in (ns2, headway))
            name = f"tfrc.{cell.name} {start}-{end}s {figure}"
            yield {"name": name, "cell": f"{cell.name} {start:g}-{end:g}s", "metric": figure, **within(theirs, ours, MARGIN)}
    if cell.name.startswith("periodic"):
        p, rtt_s = 1 / int(cell.loss.split()[1]), cell.rtt_ms / 1000
        theirs, ours = equation_kBps(p, rtt_s), headway[0][0]["sent_kBps"]
        yield {"name": f"tfrc.{cell.name} equation", "cell": f"{cell.name} X(1/k)", "metric": "sent_kBps", "pass": abs(ours / theirs - 1) <= EQUATION_MARGIN,
               "compared": "one run", "ns2": theirs, "headway": ours, "difference_percent": agreement.percent(theirs, ours), "bound": "0.1 % of the equation"}


def compare(headway, folder, show):
    """Compares all cells. Returns their cases, and those that are only reported."""
    cases, reported = [], []
    if show:
        print(f"{'cell':40} {'figure':14} {'compared':11} {'ns-2':>11} {'headway':>11} {'differs':>9} {'chance':>9}")
    for cell in cells():
        seeds = range(1, cell.seeds + 1)
        ns2 = [run_ns(cell, seed) for seed in seeds]
        ours = [run_headway(headway, cell, seed, folder / f"{cell.name}-{seed}") for seed in seeds]
        found = list(judge(cell, ns2, ours))
        (cases if cell.judged else reported).extend(found)
        for case in found if show else ():
            print(f"{case['cell']:40} {case['metric']:14} {case['compared']:11} {case['ns2']:>11.5g} {case['headway']:>11.5g} "
                  f"{case['difference_percent']:>+8.2f}% {case.get('chance_percent') or 0:>8.2f}%{'  not judged' if not cell.judged else '' if case['pass'] else '  MISSED'}", flush=True)
    if show:
        print(f"{sum(case['pass'] for case in cases)} of {len(cases)} figures within their bounds", flush=True)
    return cases, [{key: value for key, value in case.items() if key not in ("pass", "bound")} for case in reported]
