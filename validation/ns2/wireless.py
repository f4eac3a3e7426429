"""Compares ns-2 (wireless.tcl) and Headway's dialect ns2 on a flow over wired links and a wireless link with random loss, next to constant rates.

The loss rate, delays, queues and load are random. Kinds of flow and networks alternate, so that a few cells include all of them. Starts and the
phase of TCP's clock are set in both programs. The throughput at the receiver from 20 to 220 s is compared.

Given losses: the lost packets are drawn once, and set in both programs too. Each run must be the same within 0.5 %, which a window at either end may
account for: ns-2's sink of TCP counts data in order, Headway counts data that arrive for the first time.

Westwood is that of Agent/TCP/Linux (`select_ca westwood`) with timestamps. Its cells are listed, not drawn: from few losses to many, in each
network.

Cells: each program draws its losses separately, and the means are compared. The whole Welch 95 % interval of their difference must be within 5 %
of ns-2's mean. Runs are added until the interval is narrow, whatever the difference. Each cell has separate seeds, so that random effects of one
cell do not affect the others.
"""

import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import statistics
import subprocess

from common import program, student
import agreement

HERE = pathlib.Path(__file__).resolve().parent
DATA = program.ROOT / "crates" / "simulator" / "sim" / "tests" / "data" / "ns2-wireless"
DURATION_S, WARM_S = 220, 20
PACKET, HEADER = 1000, 40
# With timestamps a header is longer; the SYN's is not.
TIMESTAMP = 10
MARGIN, GIVEN_MARGIN = 0.05, 0.005
# With half an interval of 1 %, no cell misses the margin by chance alone.
ENOUGH, MIN_RUNS, MAX_RUNS = 0.01, 20, 320

# Delay of all wired links together, and of the wireless link, in ms.
DELAYS = {"A": (10, 10), "B": (45, 5)}
# The other flows: their rate in Mb/s and their paths. single: S - R1 ~ D. The others: S - R1 - R2 - R3 - R4 ~ D; flows join at each hop, or there is
# one flow per hop.
LOADS = {"single": (2, [("r1", "d")] * 3), "path": (2, [("r1", "r4"), ("r2", "r4"), ("r3", "r4")]),
         "onehop.2": (2, [("r1", "r2"), ("r2", "r3"), ("r3", "r4")]), "onehop.6": (6, [("r1", "r2"), ("r2", "r3"), ("r3", "r4")])}
# t_RTO of ns-2's TFRC is about a round trip by default; in tfrc.4R it is that of RFC 5348 section 3.1.
FLOWS = {"tfrc": "Agent/TFRC", "tfrc.4R": "Agent/TFRC", "tcp-reno": "Agent/TCP/Reno", "tcp-newreno": "Agent/TCP/Newreno", "tcp-sack": "Agent/TCP/Sack1",
         "tcp-westwood": "Agent/TCP/Linux"}
DRAWN = [flow for flow in FLOWS if flow != "tcp-westwood"]

# More packets than the wireless link can carry in a run.
MAX_PACKETS = 300_000

Cell = collections.namedtuple("Cell", "flow network delays limit loss")
WESTWOOD = [Cell("tcp-westwood", *cell) for cell in [
    ("single", "A", 50, 0.02), ("single", "A", 50, 0.005), ("single", "A", 50, 0.035), ("single", "A", 50, 0.05), ("single", "A", 50, 0.08),
    ("single", "B", 50, 0.01), ("single", "B", 50, 0.1), ("path", "A", 50, 0.0), ("path", "A", 10, 0.013), ("path", "B", 50, 0.01),
    ("onehop.2", "B", 100, 0.0025), ("onehop.6", "A", 50, 0.03), ("onehop.6", "B", 50, 0.065)]]
# Starts in whole ns.
Draw = collections.namedtuple("Draw", "flow cbrs")


def name(cell):
    return f"{cell.flow} {cell.network} {cell.delays} q{cell.limit} p{cell.loss:g}"


def cells(count, seed):
    """Draws cells with each kind of flow in each network in turn; no two cells are the same."""
    draw = random.Random(seed)
    networks, found = {}, []
    while len(found) < count:
        flow = DRAWN[len(found) % len(DRAWN)]
        if not networks.get(flow):
            networks[flow] = draw.sample(list(LOADS), len(LOADS))
        loss = 0.0 if draw.random() < 0.1 else float(f"{0.005 * 16 ** draw.random():.2g}")
        found.append(Cell(flow, networks[flow].pop(), draw.choice(list(DELAYS)), draw.choice([50, 50, 10, 20, 100]), loss))
    return found


def given_cells(seed):
    """Yields a cell for each kind of flow in each network, with the packets that are lost in it."""
    drawn = random.Random(f"told {seed}")
    for flow in FLOWS:
        for network in LOADS:
            # A list of more losses is too long for an argument of a command.
            cell = Cell(flow, network, drawn.choice(list(DELAYS)), drawn.choice([10, 20, 50, 100]), float(f"{0.005 * 6 ** drawn.random():.2g}"))
            yield cell, [packet for packet in range(MAX_PACKETS) if drawn.random() < cell.loss]


def draw(seed):
    starts = random.Random(seed)
    return Draw(starts.randrange(10**9), [starts.randrange(10**8) for _ in range(3)])


def links(cell):
    """Returns (from, to, Mb/s, ms, packets) of the links from the sender to the receiver. The last link is wireless."""
    wired, wireless = DELAYS[cell.delays]
    names = ["s", "r1", "d"] if cell.network == "single" else ["s", "r1", "r2", "r3", "r4", "d"]
    hops = list(zip(names, names[1:]))
    return [(one, other, 100 if one == "s" else 10, wireless if other == "d" else wired / (len(hops) - 1), cell.limit) for one, other in hops]


def four_round_trips_s(cell):
    return 8 * sum(DELAYS[cell.delays]) / 1000


def dithered(cell):
    """Returns whether the constant rates are dithered. Without losses, even gaps would lock in phase with the flow, and the starts would decide its
    throughput."""
    return cell.loss == 0


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def run_ns(cell, drawn, seed, lost):
    """Returns the throughput in Mb/s and the phase of a TCP's clock."""
    mbps, ways = LOADS[cell.network]
    settings = {"tfrc": ["tcp_tick_", 0.01], "tfrc.4R": ["tcp_tick_", 0.01, "minrto_", four_round_trips_s(cell)],
                "tcp-westwood": ["timestamps_", "true", "packetSize_", PACKET - header(cell)]}.get(cell.flow, [])
    cbrs = [(*way, mbps, seconds(start)) for way, start in zip(ways, drawn.cbrs)]
    def listed(rows):
        return " ".join("{" + " ".join(map(str, row)) + "}" for row in rows)
    words = [seed, DURATION_S, WARM_S, listed(links(cell)), " ".join(map(str, lost or [cell.loss])), listed(cbrs), int(dithered(cell)),
             " ".join(map(str, [FLOWS[cell.flow], seconds(drawn.flow), *settings]))]
    done = subprocess.run(["ns", HERE / "wireless.tcl", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    said = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    return 8e-6 * int(said["bytes"]) / (DURATION_S - WARM_S), said["clock_phase"]


def header(cell):
    return HEADER + TIMESTAMP if cell.flow == "tcp-westwood" else HEADER


def transport(cell, phase):
    if cell.flow.startswith("tfrc"):
        least = f', min_rto = "{four_round_trips_s(cell)}s"' if cell.flow == "tfrc.4R" else ""
        return f'kind = "tfrc", datagram = "{PACKET}B", header = "0B", controller = {{ tcp_tick = "10ms"{least} }}'
    # Timestamps need no phase of a clock.
    clock = f'timestamps = true, syn_size = "{HEADER}B"' if cell.flow == "tcp-westwood" else f'clock_phase = "{round(float(phase) * 10_000_000)}ns"'
    return f'kind = "{cell.flow}", segment = "{PACKET}B", header = "{header(cell)}B", window = "1000packets", {clock}'


def scenario(cell, drawn, seed, phase, lost):
    text = [f'name = "wireless"\nduration = "{DURATION_S}s"\nmeasure_from = "{WARM_S}s"\nseed = {seed}\ndialect = "ns2"\nrecord.series = false\n']
    for one, other, mbps, ms, packets in links(cell):
        common = f'rate = "{mbps}Mbps"\ndelay = "{round(ms * 1000)}us"\nqueue = {{ kind = "droptail", limit = "{packets}packets" }}\n'
        if other == "d":
            common = f'one_way = true\n{common}'
            text.append(f'[[link]]\nbetween = ["d", "{one}"]\n{common}')
            model = f'kind = "list", packets = {lost}' if lost else f'kind = "bernoulli", probability = {cell.loss}'
            common += f'loss = {{ {model}, place = "after-transmission" }}\n'
        text.append(f'[[link]]\nbetween = ["{one}", "{other}"]\n{common}')
    text.append(f'[[flow]]\nname = "flow"\nfrom = "s"\nto = "d"\nstart = "{drawn.flow}ns"\ntransport = {{ {transport(cell, phase)} }}\nsource = {{ kind = "ftp" }}\n')
    mbps, ways = LOADS[cell.network]
    for number, ((one, other), start) in enumerate(zip(ways, drawn.cbrs), 1):
        text.append(f'[[flow]]\nname = "cbr{number}"\nfrom = "{one}"\nto = "{other}"\nstart = "{start}ns"\ntransport = {{ kind = "udp", datagram = "{PACKET}B" }}\n'
                    f'source = {{ kind = "cbr", rate = "{mbps}Mbps", size = "{PACKET}B", dither = {str(dithered(cell)).lower()} }}\n')
    return "".join(text)


def run_headway(headway, cell, drawn, seed, phase, lost, folder):
    """Returns the throughput in Mb/s; for TCP as ns-2's sink counts it, each segment once and with headers."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "wireless.toml"
    path.write_text(scenario(cell, drawn, seed, phase, lost))
    flow = program.simulate(headway, path, folder / "record")["flows"][0]
    shutil.rmtree(folder)
    if cell.flow.startswith("tfrc"):
        return flow["throughput_bps"] / 1e6
    return flow["goodput_bps"] / 1e6 * PACKET / (PACKET - header(cell))


def run(headway, cell, seed, folder):
    """Returns the throughput of ns-2 and of Headway."""
    drawn = draw(seed)
    theirs, phase = run_ns(cell, drawn, seed, ())
    return theirs, run_headway(headway, cell, drawn, seed, phase, (), folder)


def run_given(headway, cell, lost, seed, folder):
    """Returns the cell, its case, and the values that an ordinary test needs to repeat the run."""
    drawn = draw(seed)
    theirs, phase = run_ns(cell, drawn, seed, lost)
    ours = run_headway(headway, cell, drawn, seed, phase, lost, folder)
    case = {"name": f"wireless.given {name(cell)}", "cell": name(cell), "metric": "mbps", "pass": abs(ours - theirs) <= GIVEN_MARGIN * theirs,
            "ns2": theirs, "headway": ours, "difference_percent": agreement.percent(theirs, ours), "bound": f"{100 * GIVEN_MARGIN:g} %"}
    return cell, case, (drawn, phase, lost)


def judge(cell, ns2, headway):
    # Values that do not vary have no interval: only their difference is judged.
    theirs, ours, chance = statistics.fmean(ns2), statistics.fmean(headway), student.welch(ns2, headway) or 0.0
    off = abs(ours - theirs)
    verdict = "agree" if off + chance <= MARGIN * theirs else "differ" if off - chance > MARGIN * theirs else "undecided"
    return {"name": f"wireless {name(cell)}", "cell": name(cell), "metric": "mbps", "pass": verdict == "agree", "verdict": verdict, "runs": len(ns2),
            "ns2": theirs, "ns2_ci95": student.interval(ns2), "ns2_sd": statistics.stdev(ns2), "headway": ours, "headway_ci95": student.interval(headway),
            "difference_percent": agreement.percent(theirs, ours), "chance_percent": 100 * chance / theirs, "bound": f"{100 * MARGIN:g} %, chance included"}


def compare(headway, count, seed, folder, show):
    """Compares the given cells, then this many drawn ones and Westwood's. Returns each with its case."""
    # At most one process for each core, and at most two.
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count())) as pool:
        given = list(pool.map(lambda one: run_given(headway, *one[1], one[0], folder / f"given-{one[0]}"), enumerate(given_cells(seed), 1)))
        for _, case, _ in given if show else ():
            print(f"{case['cell']:36} given {case['ns2']:>17.4f} {case['headway']:>17.4f} {case['difference_percent']:>+7.3f} %"
                  f"{'' if case['pass'] else '  MISSED'}", flush=True)
        found = []
        if show:
            print(f"{'cell':36} {'runs':>4} {'ns-2':>17} {'headway':>17} {'difference':>16}")
        for number, cell in enumerate(cells(count, seed) + WESTWOOD, 1):
            values, runs = [], MIN_RUNS
            while len(values) < runs:
                seeds = range(1000 * number + len(values) + 1, 1000 * number + runs + 1)
                values += pool.map(lambda one: run(headway, cell, one, folder / f"{number}-{one}"), seeds)
                case = judge(cell, *zip(*values))
                if case["chance_percent"] > 100 * ENOUGH:
                    runs = min(2 * runs, MAX_RUNS)
            found.append((cell, case))
            if show:
                print(line(case), flush=True)
    if show:
        print(f"{sum(case['pass'] for _, case, _ in given)} of {len(given)} given runs and {sum(case['pass'] for _, case in found)} of {len(found)} cells agree", flush=True)
    return given, found


def line(case):
    return (f"{case['cell']:36} {case['runs']:>4} {case['ns2']:>8.4f}{student.shown(case['ns2_ci95'], '.4f'):9} {case['headway']:>8.4f}{student.shown(case['headway_ci95'], '.4f'):9} "
            f"{case['difference_percent']:>+7.2f} ± {case['chance_percent']:.2f} %{'' if case['pass'] else '  ' + case['verdict'].upper()}")


def store(version, given, found):
    """Writes ns-2's figures to the files that an ordinary test reads: the given runs of one network, and all means."""
    DATA.mkdir(parents=True, exist_ok=True)
    head = [f"# {version}: throughput at the receiver from {WARM_S} to {DURATION_S} s. The columns are described in validation/ns2/wireless.py,",
            "# which made them: `validation/ns2/run --only wireless --store`."]
    def columns(cell):
        return [cell.flow, cell.network, cell.delays, str(cell.limit), f"{cell.loss:g}"]
    runs = [*head, "flow,network,delays,limit_packets,loss,start_ns,cbr_starts_ns,clock_phase,lost,mbps"]
    for cell, case, (drawn, phase, lost) in given:
        if cell.network == "path":
            # Lost packets after the last packet of the run are left out.
            last_packet = 1.3 * case["ns2"] * DURATION_S / (8e-6 * PACKET)
            row = [str(drawn.flow), " ".join(map(str, drawn.cbrs)), phase, " ".join(str(packet) for packet in lost if packet < last_packet), f"{case['ns2']:.6g}"]
            runs.append(",".join(columns(cell) + row))
    means = [*head, "flow,network,delays,limit_packets,loss,runs,mean_mbps,sd_mbps"]
    means += [",".join([*columns(cell), str(case["runs"]), f"{case['ns2']:.6g}", f"{case['ns2_sd']:.4g}"]) for cell, case in found]
    for file, text in (("runs.csv", runs), ("cells.csv", means)):
        (DATA / file).write_text("".join(f"{row}\n" for row in text))
    return DATA
