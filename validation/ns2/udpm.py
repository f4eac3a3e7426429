"""Compares UDPm in ns-2 (udpm.tcl) and in Headway's dialect ns2: media next to one NewReno flow in a dumbbell.

Lines: random ladders, rounds, links and queues of DropTail, most in multiples of one another. Nothing is random, and every line of the two traces
must be the same, with the time within 2 us. The numbers of the receiver's answers are not compared: ns-2 numbers the answers, and Headway's have
the number that they acknowledge.

Means: RED, whose random numbers differ between the programs. There are enough seeds that chance is small: the Welch 95 % interval of the difference
of the means must be within the margin, 1 % of arrivals, waiting packets and both throughputs, 5 % of drops.
"""

import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess

from common import program
import paths
import tfrc

HERE = pathlib.Path(__file__).resolve().parent
NODES = ["s1", "s2", "r1", "r2", "s3", "s4"]
MARGINS = {"arrived_packets": 0.01, "dropped_packets": 0.05, "waiting_packets": 0.01, "media_kbps": 0.01, "tcp_kbps": 0.01}
SECONDS = 50
# The throughput of a single run has a standard deviation of 3 %; TCP's next to steps of 0.3 Mb/s has 6 %.
SEEDS = 300
MORE_SEEDS = {"executed.0.3-rtt": 1200}
# ns-2's defaults.
RED = ("RED", 20, ())
# The values of the paper's Table 1.
STATED = ("RED", 20, (("thresh_", 5), ("maxthresh_", 10), ("q_weight_", 0.002), ("queue_in_bytes_", "false"), ("bytes_", "false")))

# access, bottleneck: rate in kb/s and delay in ms. queue: kind, limit, options of ns-2's RED. media: ("cbr", size, rate in kb/s), or
# ("udpm", size, decide, seconds or how the round trip is measured, rates in kb/s).
Case = collections.namedtuple("Case", "name access bottleneck queue window media duration")


def udpm(step, decide="interval", rtt=0.1, size=1000, levels=10):
    return ("udpm", size, decide, rtt, tuple(round(step * 1000) * (scale + 1) / 1000 for scale in range(levels)))


def cells():
    table, appendix, bottleneck = (6000, 2), (5000, 3), (2000, 10)
    def cell(name, queue, media, access=table):
        return Case(name, access, bottleneck, queue, 15, media, SECONDS)
    yield cell("executed", RED, udpm(200))
    yield cell("executed.appendix", RED, udpm(200), appendix)
    yield cell("executed.0.15-rtt", RED, udpm(150, "round-trip", "least-one-way"))
    yield cell("executed.0.3-rtt", RED, udpm(300, "round-trip", "one-way"))
    yield cell("executed.0.2-packet", RED, udpm(200, "packet"))
    yield cell("stated", STATED, udpm(200))
    yield cell("cbr.3.0", RED, ("cbr", 1000, 3000))
    yield cell("cbr.0.8", RED, ("cbr", 500, 800))


def draw_case(draw, number):
    """Draws a case with DropTail and random other parameters."""
    step = draw.choice([200, 200, 150, 300, 64, 128.125, 333.3])
    decide = draw.choice(["interval", "interval", "round-trip", "round-trip", "packet"])
    rtt = draw.choice([0.1, 0.04, 0.25]) if decide == "interval" else draw.choice(["one-way", "least-one-way"])
    media = udpm(step, decide, rtt, draw.choice([1000, 1000, 500, 1200]), draw.choice([10, 10, 5, 3]))
    # A measured round trip is in whole nanoseconds in Headway and a difference of doubles in ns-2. It decides the order of an answer
    # and an acknowledgement in the same nanosecond; with these delays there is none.
    odd = 0.0 if decide != "round-trip" else round(draw.uniform(0, 0.01), 6)
    access = (draw.choice([6000, 5000, 10000]), round(draw.choice([2, 3, 7.3]) + odd, 6))
    bottleneck = (draw.choice([2000, 1500, 1000]), round(draw.choice([10, 33, 100]) + 1.7 * odd, 6))
    return Case(f"{number:03}", access, bottleneck, ("DropTail", draw.choice([8, 20, 50]), ()), draw.choice([15, 40]), media, 20)


def run_ns(case, seed, trace):
    """Returns the output of ns-2."""
    if case.media[0] == "udpm":
        media = ["udpm", *case.media[1:4], *(round(rate * 1000) for rate in case.media[4])]
    else:
        media = ["cbr", case.media[1], f"{case.media[2]}kb"]
    kind, limit, options = case.queue
    words = [seed, case.duration, f"{case.access[0]}kb {case.access[1]}ms", f"{case.bottleneck[0]}kb {case.bottleneck[1]}ms",
             " ".join(map(str, [kind, limit, *(word for pair in options for word in pair)])), case.window, " ".join(map(str, media)), trace]
    done = subprocess.run(["ns", HERE / "udpm.tcl", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    return dict(line.partition(" ")[::2] for line in done.stdout.splitlines())


def queue(kind, limit, options):
    """Returns the queue of the bottleneck as a value of a scenario."""
    names = {"thresh_": 'min_threshold = "{}packets"', "maxthresh_": 'max_threshold = "{}packets"', "q_weight_": "queue_weight = {}",
             "queue_in_bytes_": "in_bytes = {}", "bytes_": "weigh_size = {}", "gentle_": "gentle = {}"}
    return "{ " + ", ".join([f'kind = "{kind.lower()}"', f'limit = "{limit}packets"', *(names[key].format(value) for key, value in options)]) + " }"


def scenario(case, seed, phase):
    text = [f'name = "udpm"\nduration = "{case.duration}s"\nmeasure_from = "1s"\nseed = {seed}\ndialect = "ns2"\nrecord.series = false\n']
    text += [f'[[node]]\nname = "{name}"\n' for name in NODES]
    for one, other in [("s1", "r1"), ("s2", "r1"), ("s3", "r2"), ("s4", "r2")]:
        text.append(f'[[link]]\nbetween = ["{one}", "{other}"]\nrate = "{case.access[0]}kbps"\ndelay = "{case.access[1]}ms"\nqueue = {{ kind = "droptail" }}\n')
    kind, limit, options = case.queue
    for one, other, its_limit in [("r1", "r2", limit), ("r2", "r1", 50)]:
        text.append(f'[[link]]\nbetween = ["{one}", "{other}"]\none_way = true\nrate = "{case.bottleneck[0]}kbps"\ndelay = "{case.bottleneck[1]}ms"\n'
                    f'queue = {queue(kind, its_limit, options)}\n')
    size = case.media[1]
    if case.media[0] == "udpm":
        _, _, decide, rtt, ladder = case.media
        how = f'interval = "{rtt}s"' if decide == "interval" else "" if decide == "packet" else f'round_trip = "{rtt}"'
        rates = ", ".join(f'"{rate}kbps"' for rate in ladder)
        controller = f'{{ ladder = [{rates}], decide = "{decide}"{", " if how else ""}{how} }}'
        transport = f'{{ kind = "udpm", datagram = "{size}B", header = "0B", controller = {controller} }}\nsource = {{ kind = "ftp" }}'
    else:
        transport = f'{{ kind = "udp", datagram = "{size}B" }}\nsource = {{ kind = "cbr", rate = "{case.media[2]}kbps", size = "{size}B" }}'
    text.append(f'[[flow]]\nname = "media"\nfrom = "s1"\nto = "s3"\nstart = "1s"\ntransport = {transport}\n')
    text.append(f'[[flow]]\nname = "ftp"\nfrom = "s2"\nto = "s4"\ntransport = {{ kind = "tcp-newreno", window = "{case.window}packets", segment = "1040B", '
                f'clock_phase = "{round(float(phase) * 10_000_000)}ns" }}\nsource = {{ kind = "ftp" }}\n')
    return "".join(text)


def bottleneck(summary):
    return next(link for link in summary["links"] if link["from"] == "r1" and link["to"] == "r2")


def run(headway, case, seed, folder):
    """Returns the figures of ns-2 and of Headway."""
    folder.mkdir(parents=True, exist_ok=True)
    said = run_ns(case, seed, "")
    theirs = {f"{what}_packets": float(said[f"{what}_1"]) + float(said[f"{what}_2"]) for what in ("arrived", "dropped")}
    theirs |= {key: float(said[key]) for key in ("waiting_packets", "media_kbps", "tcp_kbps")}
    path = folder / "udpm.toml"
    path.write_text(scenario(case, seed, said["clock_phase"]))
    # ns-2 counts packets of the whole run. The mean queue and the throughput of the media are those from the start of the media on.
    whole, later = (program.simulate(headway, path, folder / "record", settings=[f"measure_from={start}s"]) for start in (0, 1))
    queue = bottleneck(whole)
    ours = {"arrived_packets": queue["arrived_packets"], "dropped_packets": sum(queue["dropped_packets"].values()),
            "waiting_packets": bottleneck(later)["mean_queue_packets"], "media_kbps": later["flows"][0]["throughput_bps"] / 1e3,
            "tcp_kbps": whole["flows"][1]["throughput_bps"] / 1e3}
    shutil.rmtree(folder)
    return theirs, ours


def read(trace, case):
    """Reads a trace as paths.py does. Headway's datagrams are ns-2's udp, and answers have no common number."""
    events = collections.defaultdict(list)
    for line in trace.open():
        event, at, one, other, kind, size, flags, _, source, _, sequence, _ = line.split()
        at, node = round(float(at) * 1e6), NODES[int(source.split(".")[0])]
        if at >= case.duration * 1_000_000 - paths.TOLERANCE_US:
            continue
        # ns-2 records its window reductions in every packet; without ECN the flag has no effect.
        flags = flags.replace("A", "-")
        if node in ("s1", "s3"):
            kind, sequence = "media", sequence if node == "s1" else ""
        events[f"{event} {one}->{other}"].append((at, f"{kind} {sequence} from {node}, {size} B {flags}"))
    return events


def check(headway, case, folder, keep):
    """Compares every line of a run's two traces."""
    folder.mkdir(parents=True, exist_ok=True)
    phase = run_ns(case, 1, folder / "ns.tr")["clock_phase"]
    path = folder / "udpm.toml"
    path.write_text(scenario(case, 1, phase))
    program.simulate(headway, path, folder / "record", "--trace", "ns2")
    theirs, ours = read(folder / "ns.tr", case), read(folder / "record" / "trace.tr", case)
    difference = paths.first_difference(theirs, ours)
    if not keep:
        shutil.rmtree(folder)
    return {"name": f"udpm.lines.{case.name}", "pass": difference is None, "parameters": " ".join(map(str, case[1:])),
            "events": sum(map(len, theirs.values())), "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")),
            "first_difference": None if difference is None else f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}"}


def compare(headway, runs, seed, folder, keep, show):
    """Compares all lines of this many random runs, and the means of all cells."""
    draw = random.Random(seed)
    cases = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        drawn = [draw_case(draw, number) for number in range(runs)]
        for case in pool.map(lambda case: check(headway, case, folder / f"lines-{case.name}", keep), drawn):
            cases.append(case)
            if show and not case["pass"]:
                print(f"{case['name']} DIFFERS  {case['parameters']}\n{'':13}{case['first_difference']}", flush=True)
        if show:
            print(f"{sum(case['pass'] for case in cases)} of {len(cases)} runs of UDPm over DropTail equal; "
                  f"{sum(case['events'] for case in cases)} events, {sum(case['drops'] for case in cases)} drops in ns-2", flush=True)
        for cell in cells():
            both = list(pool.map(lambda seed: run(headway, cell, seed, folder / f"{cell.name}-{seed}"), range(1, 1 + MORE_SEEDS.get(cell.name, SEEDS))))
            for figure, margin in MARGINS.items():
                theirs, ours = ([one[side][figure] for one in both] for side in (0, 1))
                cases.append({"name": f"udpm.{cell.name} {figure}", "cell": cell.name, "metric": figure, **tfrc.within(theirs, ours, margin)})
                if show:
                    print(line(cases[-1]), flush=True)
    return cases


def line(case):
    word = "" if case["pass"] else "  MISSED"
    return (f"{case['name']:48} ns-2 {case['ns2']:<10.6g} headway {case['headway']:<10.6g} {case['difference_percent']:+.2f} %, "
            f"chance {case['chance_percent']:.2f} %, bound {case['bound']}{word}")
