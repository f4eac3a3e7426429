"""Compares packet spacing in ns-2 (spacing.tcl) and in Headway's dialect ns2: media with gaps between their packets next to TCP flows.

The flows have fixed gaps, the ad-hoc or the damped protocol, or TFRC, through a trunk with a short queue. In ns-2 the rules of the protocol
are written in OTcl.

Lines: one, two or eight flows of the protocol without TCP, with random rules, sizes, delays and queues. The starts are odd, so that no packets
arrive at the same time. Nothing is random, and every line of the two traces must be the same, with the time within 2 us. The numbers of reports
are not compared.

Cells: ten seeds each. Starts, gaps and the phases of TCP's clocks are drawn once and set in both programs, so that nothing is random here
either. Throughputs, losses and variation of every run must be the same within 0.001 %. In cells with TCP one of the ten runs may differ, and the
mean by 5 %: TCP's packets arrive at the trunk at multiples of its transmission time, and the last bit of a double decides in ns-2 which of two
events at the same time is first. A TCP's throughput at its receiver is defined differently, as data in order (ns-2) or as data that arrive for
the first time (Headway): it must be within 1 % or 0.01 Mb/s in every run.

TFRC: its slow start depends on the last bit of a double (tfrc.py), and so does the rest of the run. There are enough seeds that chance is small:
the Welch 95 % interval of the difference of the means must be within the margin.
"""

import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess

from common import program
import agreement
import paths
import tfrc

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = range(1, 11)
LINE_MBPS, TRUNK_MBPS, ACCESS_MS = 100, 155, 2
# Largest relative error of a sender's clock, which is slow.
SLOW = 1e-3
AGENTS = {"tcp-reno": "Agent/TCP/Reno", "tcp-newreno": "Agent/TCP/Newreno", "tcp-sack": "Agent/TCP/Sack1"}
# A single run of TFRC has a standard deviation of 12 %.
TFRC_SEEDS = range(1, 151)
# Allowed difference, relative to ns-2's figure and in the unit of the figure: for means of TFRC, and for TCP's throughput in each run.
TFRC_MARGINS = {"media_mbps": (0.05, 0), "media_loss_pct": (0.05, 0.1), "tcp_mbps": (0.05, 0.02), "tcp_loss_pct": (0.05, 0.2)}
TCP_MARGIN = (0.01, 0.01)
MEAN_MARGIN = 0.05

# family: fixed, spacing or tfrc. media: their number. rules: for fixed the gap in us; for spacing (damping, decrease, amount) as in spacing.tcl.
# begin: delay of the second medium's start, in s. tcp: (kind, number). rtt_ms: base round trip that the protocol uses, if not the true one.
Cell = collections.namedtuple("Cell", "name family media rules tcp size delay_ms limit begin duration warm rtt_ms", defaults=[None])
# Random values: starts in whole ns, gaps in whole ns.
Draw = collections.namedtuple("Draw", "media tcp gaps")


def fixed(spacing, media=16, tcp=("tcp-reno", 16), size=1500, trunk=(40, 10)):
    # An overload has many packets, and so little random variation.
    duration, warm = (20, 5) if spacing < 200 else (40, 10)
    parts = [f"fixed.{spacing}us.{media}", f"{tcp[0][4:]}.{tcp[1]}" if tcp[1] else "alone", "" if size == 1500 else f"{size}B",
             "" if trunk == (40, 10) else f"{trunk[0]}ms.{trunk[1]}"]
    return Cell(".".join(filter(None, parts)), "fixed", media, spacing, tcp, size, *trunk, 0, duration, warm)


def fixed_cells():
    some = (0, 1000, 1200, 1500, 3000)
    for spacing in (0, 50, 100, 200, 400, 600, 800, 1000, 1050, 1100, 1200, 1350, 1500, 2000, 2500, 3000, 4000, 5000):
        yield fixed(spacing, tcp=("tcp-reno", 0))
        yield fixed(spacing)
    for spacing in some:
        for kind in ("tcp-newreno", "tcp-sack"):
            yield fixed(spacing, tcp=(kind, 16))
        for size in (508, 1000, 1430):
            yield fixed(spacing, size=size)
        for trunk in ((10, 25), (80, 50)):
            yield fixed(spacing, trunk=trunk)
    for spacing in (0, 200, 1000, 3000):
        for media in (2, 4, 8):
            yield fixed(spacing, media=media, tcp=("tcp-reno", media))


RULES = {"rate1": ("rate", 1.0), "rate10": ("rate", 10.0), "step50us": ("step", 50e-6), "half": ("factor", 0.5)}


def spacing(rule, damping, tcp=("tcp-newreno", 0), begin=0):
    name = f"feedback.{rule}.{damping}." + (f"{tcp[0][4:]}.{tcp[1]}" if tcp[1] else "staggered" if begin else "alone")
    return Cell(name, "spacing", 2, (damping, *RULES[rule]), tcp, 1500, 40, 10, begin, 60, 20)


def spacing_cells():
    for rule in RULES:
        for damping in ("none", "newest", "in-force"):
            for begin in (0, 10):
                yield spacing(rule, damping, begin=begin)
    for rule in ("rate1", "rate10", "step50us"):
        for damping in ("newest", "in-force"):
            yield spacing(rule, damping, ("tcp-newreno", 10))
    for kind in ("tcp-reno", "tcp-sack"):
        yield spacing("rate1", "in-force", (kind, 10))


def tfrc_cells():
    for kind, count in (("tcp-reno", 10), ("tcp-newreno", 10), ("tcp-sack", 10), ("tcp-reno", 0)):
        yield Cell(f"equation.{kind[4:]}.{count}" if count else "equation.alone", "tfrc", 2, None, (kind, count), 1500, 40, 10, 0, 120, 40)


def draw(cell, seed):
    """Draws the starts and gaps. A flow has the same start in all cells of a seed."""
    media, tcp, slow = (random.Random(f"{what} {seed}") for what in ("media", "tcp", "slow"))
    def starts(generator, count, max_s):
        return [generator.randrange(round(max_s * 1e9)) for _ in range(count)]
    late = 5_000_000_000 if cell.family == "tfrc" or (cell.family == "spacing" and cell.tcp[1]) else 0
    begins = [start + late + number * cell.begin * 1_000_000_000 for number, start in enumerate(starts(media, cell.media, 0.5 if cell.family == "tfrc" else 0.1))]
    gaps = []
    if cell.family == "fixed":
        sending = cell.size * 8 * 1000 // LINE_MBPS
        gaps = [round((sending + cell.rules * 1000) / (1 - slow.uniform(0, SLOW))) - sending for _ in range(cell.media)]
    return Draw(begins, starts(tcp, cell.tcp[1], 1), gaps)


def window(cell):
    """Returns the bandwidth-delay product in packets, rounded up."""
    return -(-TRUNK_MBPS * 1000 * 2 * (cell.delay_ms + ACCESS_MS) // (8 * cell.size))


def rtt_s(cell):
    return (cell.rtt_ms or 2 * (cell.delay_ms + ACCESS_MS)) / 1000


# By ns-2.


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def run_ns(cell, drawn, seed, trace=""):
    """Returns a list for each figure, with a number per flow, and the phases of the clocks."""
    media = []
    for number, start in enumerate(drawn.media):
        words = [seconds(start), cell.size, cell.family]
        if cell.family == "fixed":
            words.append(repr(cell.size * 8 / (cell.size * 8 / (LINE_MBPS * 1e6) + drawn.gaps[number] / 1e9)))
        elif cell.family == "spacing":
            words += [rtt_s(cell), *cell.rules]
        media.append("{" + " ".join(map(str, words)) + "}")
    tcp = [AGENTS[cell.tcp[0]], window(cell), cell.size, *map(seconds, drawn.tcp)]
    words = [seed, cell.duration, cell.warm, cell.delay_ms, cell.limit, " ".join(media), " ".join(map(str, tcp)), trace]
    done = subprocess.run(["ns", HERE / "spacing.tcl", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in done.stdout.splitlines()}


def figures_ns(cell, said):
    mbps = [8e-6 * count / (cell.duration - cell.warm) for count in said["bytes"]]
    left = [8e-6 * count / (cell.duration - cell.warm) for count in said["left"]]
    return figures(cell, mbps, left, said["arrived"], said["dropped"], [said[f"cov_{number}"][0] for number in range(cell.media)])


def figures(cell, mbps, left, arrived, dropped, cov):
    """Returns the figures of the flows in their order: media, then TCPs."""
    def mean(values):
        return sum(values) / len(values)
    def loss(flows):
        return 100 * sum(dropped[flows]) / max(1, sum(arrived[flows]))
    media, tcp = slice(0, cell.media), slice(cell.media, None)
    found = {"media_mbps": mean(mbps[media]), "media_loss_pct": loss(media)}
    if cell.family == "spacing":
        found |= {"lower_mbps": min(mbps[media]), "higher_mbps": max(mbps[media])}
    if cell.family != "fixed":
        found["media_cov"] = mean(cov)
    if cell.tcp[1]:
        found |= {"tcp_mbps": mean(mbps[tcp]), "tcp_trunk_mbps": mean(left[tcp]), "tcp_loss_pct": loss(tcp)}
    return found


# By Headway.


def transport(cell, drawn, number):
    common = f'datagram = "{cell.size}B", header = "0B"'
    if cell.family == "tfrc":
        return f'kind = "tfrc", {common}'
    if cell.family == "fixed":
        return f'kind = "spacing-fixed", {common}, line_rate = "{LINE_MBPS}Mbps", controller = {{ spacing = "{drawn.gaps[number]}ns" }}'
    damping, decrease, amount = cell.rules
    how = {"rate": f'packets = {amount}', "step": f'step = "{round(amount * 1e9)}ns"', "factor": f'factor = {amount}'}[decrease]
    return (f'kind = "spacing", {common}, feedback = "40B", line_rate = "{LINE_MBPS}Mbps", initial_rtt = "{round(rtt_s(cell) * 1e9)}ns", '
            f'controller = {{ damping = "{damping}", shorten = "{decrease}", {how}, first = "50us" }}')


def scenario(cell, drawn, seed, phases):
    def link(one, other, rate, delay_ms, limit, more=""):
        return (f'[[link]]\nbetween = ["{one}", "{other}"]\none_way = true\nrate = "{rate}Mbps"\ndelay = "{delay_ms}ms"\n'
                f'queue = {{ kind = "droptail", limit = "{limit}packets" }}\n{more}')
    senders = [f"s{number}" for number in range(1, 1 + cell.media + cell.tcp[1])]
    text = [f'name = "spacing"\nduration = "{cell.duration}s"\nmeasure_from = "{cell.warm}s"\nseed = {seed}\ndialect = "ns2"\nrecord.series = false\n']
    text += [f'[[node]]\nname = "{name}"\n' for name in ["middle", "sink", *senders]]
    text += [link("middle", "sink", TRUNK_MBPS, cell.delay_ms, cell.limit, "by_flow = true\n"), link("sink", "middle", TRUNK_MBPS, cell.delay_ms, 10000)]
    for name in senders:
        text += [link(name, "middle", LINE_MBPS, ACCESS_MS, 100000), link("middle", name, LINE_MBPS, ACCESS_MS, 10000)]
    transports = [transport(cell, drawn, number) for number in range(cell.media)]
    transports += [f'kind = "{cell.tcp[0]}", window = "{window(cell)}packets", segment = "{cell.size}B", clock_phase = "{round(phase * 10_000_000)}ns"'
                   for phase in phases]
    for name, start, how in zip(senders, [*drawn.media, *drawn.tcp], transports):
        text.append(f'[[flow]]\nname = "{name}"\nfrom = "{name}"\nto = "sink"\nstart = "{start}ns"\ntransport = {{ {how} }}\nsource = {{ kind = "ftp" }}\n')
    return "".join(text)


def figures_headway(cell, summary):
    trunk = next(link for link in summary["links"] if link["from"] == "middle" and link["to"] == "sink")
    nothing = {"arrived_packets": 0, "dropped_packets": {}, "sent_bytes": 0}
    there = {flow["name"]: flow for flow in trunk["flows"]}
    there = [there.get(flow["name"], nothing) for flow in summary["flows"]]
    media, tcp = summary["flows"][:cell.media], summary["flows"][cell.media:]
    mbps = [flow["throughput_bps"] / 1e6 for flow in media] + [flow["goodput_bps"] / 1e6 * cell.size / (cell.size - 40) for flow in tcp]
    left = [8e-6 * flow["sent_bytes"] / (cell.duration - cell.warm) for flow in there]
    return figures(cell, mbps, left, [flow["arrived_packets"] for flow in there], [sum(flow["dropped_packets"].values()) for flow in there],
                   [flow["rate_cov"] for flow in media])


def run(headway, cell, seed, folder):
    """Returns the figures of ns-2 and of Headway."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(cell, seed)
    said = run_ns(cell, drawn, seed)
    path = folder / "spacing.toml"
    path.write_text(scenario(cell, drawn, seed, said["clock_phase"]))
    ours = figures_headway(cell, program.simulate(headway, path, folder / "record"))
    shutil.rmtree(folder)
    return figures_ns(cell, said), ours


# Every line.


def draw_case(generator, number):
    """Draws a number of flows of the protocol, and all other parameters."""
    rule = generator.choice([("rate", generator.choice([1.0, 10.0, 3.5])), ("step", generator.choice([50e-6, 5e-6, 13e-6])), ("factor", generator.choice([0.5, 0.9]))])
    damping, size = generator.choice(["none", "newest", "in-force"]), generator.choice([1500, 1500, 1000, 508])
    late = generator.choice([0, 3_000_000_000])
    # With many flows the gaps reach the round trip, and there are rounds without a packet.
    media, delay_ms, limit, duration, rtt_ms = generator.choice([
        (generator.choice([1, 2]), generator.choice([40, 40, 10, 80, 3]), generator.choice([10, 10, 25, 50, 3]), 6, None),
        (2, generator.choice([40, 10]), 10, 6, None),
        (8, 3, 2, 3, 1.5)])
    cell = Cell(f"{number:03}", "spacing", media, (damping, *rule), ("tcp-reno", 0), size, delay_ms, limit, 0, duration, 1, rtt_ms)
    begins = [generator.randrange(100_000_000) for _ in range(media)]
    if media == 2:
        begins[1] += late
    return cell, Draw(begins, [], [])


def read(trace, cell):
    """Reads a trace as paths.py does. Reports have no common number, and ns-2's numbers of data start at 1."""
    nodes = ["middle", "sink", *(f"s{number}" for number in range(1, 1 + cell.media))]
    events = collections.defaultdict(list)
    for line in trace.open():
        event, at, one, other, kind, size, flags, _, source, _, sequence, _ = line.split()
        at, node = round(float(at) * 1e6), nodes[int(source.split(".")[0])]
        if at < cell.duration * 1_000_000 - paths.TOLERANCE_US:
            number = "report" if node == "sink" else int(sequence) - (kind == "cbr")
            events[f"{event} {one}->{other}"].append((at, f"{number} from {node}, {size} B"))
    return events


def check(headway, cell, drawn, folder, keep):
    """Compares every line of a run's two traces."""
    folder.mkdir(parents=True, exist_ok=True)
    run_ns(cell, drawn, 1, folder / "ns.tr")
    path = folder / "spacing.toml"
    path.write_text(scenario(cell, drawn, 1, []))
    program.simulate(headway, path, folder / "record", "--trace", "ns2")
    theirs, ours = read(folder / "ns.tr", cell), read(folder / "record" / "trace.tr", cell)
    difference = paths.first_difference(theirs, ours)
    if not keep:
        shutil.rmtree(folder)
    return {"name": f"spacing.lines.{cell.name}", "pass": difference is None, "parameters": " ".join(map(str, [*cell[2:], drawn.media])),
            "events": sum(map(len, theirs.values())), "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")),
            "first_difference": None if difference is None else f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}"}


# The comparison.


def judge(cell, both):
    """Yields a case per figure."""
    for figure in [figure for figure in both[0][0] if cell.family != "tfrc" or figure in TFRC_MARGINS]:
        theirs, ours = ([run[side][figure] for run in both] for side in (0, 1))
        if cell.family == "tfrc":
            judged = by_mean(theirs, ours, *TFRC_MARGINS[figure])
        else:
            judged = by_run(theirs, ours, figure)
            if cell.tcp[1] and not judged["pass"]:
                judged = but_one(judged, theirs, ours, figure)
        yield {"name": f"spacing.{cell.name} {figure}", "cell": cell.name, "metric": figure, **judged}


def by_run(ns2, headway, figure):
    judged = agreement.by_run(ns2, headway)
    if figure != "tcp_mbps":
        return judged
    part, nothing = TCP_MARGIN
    within = all(abs(ours - theirs) <= max(part * theirs, nothing) for theirs, ours in zip(ns2, headway))
    return {**judged, "pass": within, "bound": f"{100 * part:g} % or {nothing:g}"}


def but_one(judged, ns2, headway, figure):
    """Judges all runs except the one with the largest difference, and the mean of all."""
    *rest, _ = sorted(zip(ns2, headway), key=lambda pair: abs(pair[1] - pair[0]))
    mean = abs(judged["headway"] - judged["ns2"]) <= MEAN_MARGIN * judged["ns2"]
    return {**judged, "pass": mean and by_run(*zip(*rest), figure)["pass"], "runs_that_differ": 1, "bound": f"{judged['bound']}, but one run"}


def by_mean(ns2, headway, part, nothing):
    """Checks that the difference of the means plus its interval is within the margin."""
    judged = tfrc.within(ns2, headway, part)
    theirs, ours = judged["ns2"], judged["headway"]
    within = abs(ours - theirs) + theirs * judged["chance_percent"] / 100 <= max(part * theirs, nothing)
    return {**judged, "pass": within, "bound": f"{100 * part:g} % or {nothing:g}, chance included"}


def compare(headway, runs, seed, folder, keep, show):
    """Compares all lines of this many random runs, and all cells."""
    generator = random.Random(seed)
    cases = []
    # At most one process for each core, and at most two.
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count())) as pool:
        drawn = [draw_case(generator, number) for number in range(runs)]
        for case in pool.map(lambda one: check(headway, *one, folder / f"lines-{one[0].name}", keep), drawn):
            cases.append(case)
            if show and not case["pass"]:
                print(f"{case['name']} DIFFERS  {case['parameters']}\n{'':13}{case['first_difference']}", flush=True)
        if show:
            print(f"{sum(case['pass'] for case in cases)} of {len(cases)} runs of packet spacing equal; {sum(case['events'] for case in cases)} events, "
                  f"{sum(case['drops'] for case in cases)} drops in ns-2", flush=True)
        for cell in (*fixed_cells(), *spacing_cells(), *tfrc_cells()):
            seeds = TFRC_SEEDS if cell.family == "tfrc" else SEEDS
            found = list(judge(cell, list(pool.map(lambda seed: run(headway, cell, seed, folder / f"{cell.name}-{seed}"), seeds))))
            cases += found
            if show:
                show_cell(found)
    if show:
        print(f"{sum(case['pass'] for case in cases)} of {len(cases)} figures and runs agree", flush=True)
    return cases


def show_cell(cases):
    """Prints the row of a cell: ns-2's figures, and Headway's largest difference of a run or, with its interval, the difference of the means."""
    print(f"{cases[0]['cell']:34}", end="")
    for case in cases:
        off = "=" if not case["difference_percent"] else f"{case['difference_percent']:+.4f} %"
        chance = f" ± {case['chance_percent']:.2f}" if case.get("chance_percent") else ""
        print(f"  {case['metric']} {case['ns2']:.5g} {off}{chance}{' in one run' if case.get('runs_that_differ') else ''}"
              f"{'' if case['pass'] else ' MISSED'}", end="")
    print(flush=True)
