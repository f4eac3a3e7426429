"""Compares Headway with ns-2.35 on ties, which are events at exactly the same time, packet by packet.

All times are whole numbers of nanoseconds, and starts, delays and transmission times are multiples of one another. So the order of events is often
the order in which ns-2 scheduled them. There are three families of random runs: equal constant rates over access links into a bottleneck; one
TCP whose access link needs the transmission time of the bottleneck, or a simple fraction or multiple of it; and a star of equal TCPs. Flows and
links are listed in a random order, which is the same in ns-2's script and in the scenario. Runs are compared by the lines of their traces, as in
paths.py; no difference is allowed.
"""

import random
import shutil
import subprocess
from fractions import Fraction

from common import program
import paths

HERE = paths.HERE
FAMILIES = ["cbr", "one-tcp", "star"]
STORED = program.ROOT / "crates" / "simulator" / "sim" / "tests" / "data" / "ns2-ties" / "runs.csv"
# Acknowledgements of 40 B need a whole number of nanoseconds at all of these rates too.
KBPS = ["500", "1000", "1600", "2000", "4000", "5000", "8000", "10000", "16000"]


def ms(bits, kbps):
    """Returns the exact transmission time of this many bits."""
    return Fraction(bits) / Fraction(kbps)


def decimal(number):
    """Returns a number in the format that both programs read, exact to the nanosecond."""
    return f"{float(number):.6f}".rstrip("0").rstrip(".")


def draw_cbr(draw):
    """Draws 2 to 8 equal sources on access links to node 0, and a bottleneck from 0 to 1."""
    count, size = draw.randint(2, 8), draw.choice([250, 500, 1000])
    bottleneck = draw.choice(KBPS)
    access = draw.choice(KBPS)
    # Whole numbers of nanoseconds: the transmission time of the bottleneck times a simple number, the share of a source or slightly less.
    interval = ms(8 * size, bottleneck) * draw.choice([count, count, count - Fraction(1, 2), count - Fraction(1, 4), 2, Fraction(count, 2)])
    bps = Fraction(8000 * size) / interval
    if bps.denominator != 1 or ms(8 * size, access) > interval:
        return draw_cbr(draw)
    step = draw.choice([Fraction(0), Fraction(0), Fraction(1, 10), Fraction(1), Fraction(10), interval / 2])
    delay = draw.choice(["1", "2", "3", "10"])
    links = [[2 + number, 0, access, delay, 50] for number in range(count)]
    links.append([0, 1, bottleneck, draw.choice(["1", "5", "10"]), draw.choice([1, 2, 3, 5, 10, 20])])
    flows = [["Agent/UDP", 2 + number, 1, decimal(number * step / 1000), size, int(bps)] for number in range(count)]
    return {"nodes": 2 + count, "links": links, "flows": flows, "duration": draw.choice([2, 5])}


def draw_tcp(draw):
    """Draws the kind, window and payload of a TCP."""
    return [draw.choice(list(paths.SENDERS.values())), draw.choice([10, 20, 40, 100, 1000])], draw.choice([460, 960, 1210, 1460])


def draw_one_tcp(draw):
    """Draws a TCP from 0 through 1 to 2. The transmission time and the delay of the access link are the transmission time of the bottleneck times a
    simple number."""
    (kind, window), payload = draw_tcp(draw)
    bits = 8 * (payload + 40)
    access, bottleneck = draw.choice(KBPS), draw.choice(KBPS)
    delay = ms(bits, bottleneck) * draw.choice([1, 1, 2, 3, 5, Fraction(1, 2), Fraction(3, 2)]) - ms(bits, access)
    if delay <= 0 or (delay * 1_000_000).denominator != 1:
        return draw_one_tcp(draw)
    links = [[0, 1, access, decimal(delay), draw.choice([5, 20, 1000])],
             [1, 2, bottleneck, draw.choice([decimal(delay), "1", "10"]), draw.choice([2, 3, 5, 8, 15, 30])]]
    return {"nodes": 3, "links": links, "flows": [[kind, 0, 2, draw.choice(["0", "0.1", "1"]), window, payload]], "duration": 10}


def draw_star(draw):
    """Draws 2 to 20 equal TCPs on access links to node 0, and a bottleneck from 0 to 1."""
    count = draw.choice([2, 3, 4, 5, 8, 12, 20])
    (kind, window), payload = draw_tcp(draw)
    bottleneck = draw.choice(["4000", "8000", "10000", "16000"])
    access, delay = draw.choice(KBPS[3:]), draw.choice(["1", "3", "5"])
    links = [[2 + number, 0, access, delay, 50] for number in range(count)]
    links.append([0, 1, bottleneck, draw.choice(["1", "10", "20"]), draw.choice([3, 5, 10, 20, 50])])
    step = draw.choice([0, 0, 0, Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10)])
    flows = [[kind, 2 + number, 1, decimal(number * step), window, payload] for number in range(count)]
    return {"nodes": 2 + count, "links": links, "flows": flows, "duration": draw.choice([5, 10])}


def draw_case(draw, family):
    """Draws one run with its links and flows in random order."""
    case = {"cbr": draw_cbr, "one-tcp": draw_one_tcp, "star": draw_star}[family](draw)
    draw.shuffle(case["links"])
    draw.shuffle(case["flows"])
    return {"what": family, "red": None, **case}


def run_ns(case, folder):
    """Returns ns-2's trace and the phases of its TCP clocks in ticks."""
    def listed(rows):
        return " ".join("{" + " ".join(map(str, row)) + "}" for row in rows)

    trace, phases = folder / "ns.tr", folder / "phases.txt"
    subprocess.run(["ns", HERE / "ties.tcl", trace, phases, str(case["duration"]), str(case["nodes"]), listed(case["links"]),
                    listed(case["flows"])], check=True, stdout=subprocess.DEVNULL)
    return trace, [float(line) for line in phases.read_text().split()]


def scenario(case, phases):
    """Returns the case as a scenario."""
    text = [f'name = "case"\nduration = "{case["duration"]}s"\ndialect = "ns2"\nrecord.series = false\n']
    text.append("".join(f'[[node]]\nname = "n{number}"\n' for number in range(case["nodes"])))
    for one, other, kbps, delay, packets in case["links"]:
        text.append(f'[[link]]\nbetween = ["n{one}", "n{other}"]\nrate = "{kbps}kbps"\ndelay = "{delay}ms"\n'
                    f'queue = {{ kind = "droptail", limit = "{packets}packets" }}\n')
    phases = iter(phases)
    kinds = {agent: kind for kind, agent in paths.SENDERS.items()}
    for number, (agent, start_node, end_node, start, one, other) in enumerate(case["flows"]):
        text.append(f'[[flow]]\nname = "f{number}"\nfrom = "n{start_node}"\nto = "n{end_node}"\nstart = "{start}s"\n')
        if agent == "Agent/UDP":
            text.append(f'transport = {{ kind = "udp", datagram = "{one}B" }}\n'
                        f'source = {{ kind = "cbr", rate = "{other}bps", size = "{one}B" }}\n')
        else:
            text.append(f'transport = {{ kind = "{kinds[agent]}", window = "{one}packets", segment = "{other + 40}B", '
                        f'clock_phase = "{round(next(phases) * 10_000_000)}ns" }}\nsource = {{ kind = "ftp" }}\n')
    return "".join(text)


def rows(table):
    """Returns links or flows on one line."""
    return " ".join("/".join(map(str, row)) for row in table)


def describe(case):
    """Returns a case on one line."""
    return "; ".join([f"{case['duration']} s", rows(case["links"]), rows(case["flows"])])


def check(headway, number, case, folder):
    """Runs a case twice and compares."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, phases = run_ns(case, folder)
    path = folder / "case.toml"
    path.write_text(scenario(case, phases))
    program.simulate(headway, path, folder / "record", "--trace", "ns2")
    theirs = paths.read(trace, case)
    difference = paths.first_difference(theirs, paths.read(folder / "record" / "trace.tr", case))
    return {"name": f"{case['what']} {number:03}", "pass": difference is None, "parameters": describe(case),
            "events": sum(map(len, theirs.values())), "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")),
            "first_difference": None if difference is None else f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}"}


def stored(case, folder):
    """Returns ns-2's results as a line for machines without ns-2: the received and dropped data of each flow, and a hash (FNV-1a, 64 bits) of the
    order of the flows whose packets reached the end of the bottleneck. Returns None if there is an event at exactly the end."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, phases = run_ns(case, folder)
    numbers = {str(flow[1]): number for number, flow in enumerate(case["flows"])}
    received, dropped, order = [0] * len(numbers), [0] * len(numbers), 0xCBF29CE484222325
    end = str(case["flows"][0][2])
    for line in trace.open():
        event, at, one, other, kind, _, _, _, source, _, _, _ = line.split()
        if float(at) >= case["duration"] - 1e-5:
            return None
        if kind == "ack" or event not in "rd":
            continue
        flow = numbers[source.split(".")[0]]
        if event == "d":
            dropped[flow] += 1
        elif other == end:
            received[flow] += 1
            order = (order ^ flow) * 0x100000001B3 % 2**64
    counts = [" ".join(map(str, values)) for values in (phases, received, dropped)]
    return ",".join([case["what"], str(case["duration"]), str(case["nodes"]), rows(case["links"]), rows(case["flows"]), *counts,
                     f"{order:016x}"])


def store(source, folder):
    """Writes twelve runs of each family to the file that an ordinary test reads."""
    lines = [f"# {source}: ties, drawn and run by validation/ns2/ties.py; made by `validation/ns2/run --only ties --store`.",
             "# links: one/other/kb/s/ms/packets; flows: agent/from/to/start in s/bytes/bit/s (UDP) or window/payload (TCP).",
             "# clock_phases: in ticks of 10 ms, of each TCP. received, dropped: data, of each flow. order: FNV-1a (64 bits) of the numbers of",
             "# the flows whose data reached the end of the path, one after another.",
             "family,duration_s,nodes,links,flows,clock_phases,received,dropped,order"]
    for family in FAMILIES:
        draw = random.Random(f"{family} stored")
        kept = []
        while len(kept) < 12:
            case = draw_case(draw, family)
            case["duration"] = 4.03
            line = stored(case, folder)
            kept += [line] if line else []
        lines += kept
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text("".join(f"{line}\n" for line in lines))
    return STORED


def compare(headway, runs, seed, folder, keep, show):
    """Draws and compares this many runs of each family."""
    cases = []
    for family in FAMILIES:
        draw = random.Random(f"{family} {seed}")
        found = []
        for number in range(runs):
            place = folder / f"{family}-{number:03}"
            found.append(check(headway, number, draw_case(draw, family), place))
            if not keep:
                shutil.rmtree(place)
            if show and not found[-1]["pass"]:
                print(f"DIFFERS {found[-1]['name']}: {found[-1]['parameters']}\n    {found[-1]['first_difference']}", flush=True)
        if show:
            print(f"ties, {family}: {sum(case['pass'] for case in found)} of {len(found)} runs equal; "
                  f"{sum(case['events'] for case in found)} events, {sum(case['drops'] for case in found)} drops in ns-2", flush=True)
        cases += found
    return cases
