"""Compares a local network, where clients share the link of one server, in ns-2 (lan.tcl) and in Headway.

Each cell (a queue; TCP, UDP or both; a number of clients) is run ten times. The random starts and the phases of TCP's clocks are the same in both
programs. Each cell of TCP with DropTail is run once more with all starts at 0. Every run is compared separately.
"""

import collections
import pathlib
import random
import subprocess

from common import program
import agreement

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 100
SEEDS = range(1, 11)
# Limits of the queues in packets: at the clients' links; at the server's link with a TCP client, and without one.
ACCESS_LIMIT, BOTTLENECK_LIMIT, UDP_BOTTLENECK_LIMIT = 16, 10, 4
METRICS = ["throughput_kbps", "throughput_min_kbps", "throughput_max_kbps", "delay_a_ms", "delay_b_ms", "delay_c_ms", "delay_d_ms",
           "loss_pct", "loss_all_pct", "utilisation_pct"]
# Delay B is delay C plus a constant.
COMPARED = [metric for metric in METRICS if metric != "delay_b_ms"]
# The columns of the table.
SHOWN = [metric for metric in COMPARED if metric not in ("throughput_min_kbps", "throughput_max_kbps")]

Cell = collections.namedtuple("Cell", "name queue tcp udp")
# The results of both programs for one seed, and their common inputs.
Run = collections.namedtuple("Run", "seed starts phases ns2 headway")


def cells():
    """Yields all cells: the queue of all links, the numbers of TCP and UDP clients."""
    found = []
    for queue in ("DropTail", "RED"):
        found += [Cell(f"{queue.lower()}.tcp.{clients}", queue, clients, 0) for clients in (3, 5, 8, 10, 25, 35, 50)]
        found += [Cell(f"{queue.lower()}.udp.{clients}", queue, 0, clients) for clients in (3, 5, 8, 10)]
    return found + [Cell(f"droptail.mix.{tcp + udp}", "DropTail", tcp, udp) for tcp, udp in ((1, 2), (2, 3), (6, 2), (9, 1))]


def starts(cell, seed):
    """Returns the start of each client in s: uniform from 0 to 0.1 s, in whole nanoseconds. A client has the same start in all cells of a seed."""
    draw = random.Random(seed)
    return [f"{draw.randrange(100_000_000) / 1e9:.9f}" for _ in range(cell.tcp + cell.udp)]


def bottleneck_limit(cell):
    return BOTTLENECK_LIMIT if cell.tcp else UDP_BOTTLENECK_LIMIT


def run_ns(cell, seed, begins):
    """Returns the metrics of ns-2, and the phase in ticks that it drew for each TCP's clock."""
    arguments = [seed, SECONDS, cell.queue, bottleneck_limit(cell), " ".join(begins[:cell.tcp]), " ".join(begins[cell.tcp:])]
    done = subprocess.run(["ns", HERE / "lan.tcl", *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
    values = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    return {metric: float(values[metric]) for metric in METRICS}, values["clock_phase"].split()


def scenario(cell, seed, begins, phases):
    """Returns the cell as a scenario. Each client has a separate flow, since its clock has a separate phase."""
    def queue(limit):
        return f'{{ kind = "{cell.queue.lower()}", limit = "{limit}packets" }}'

    text = [f'name = "lan"\nduration = "{SECONDS}s"\nseed = {seed}\ndialect = "ns2"\nrecord.series = false\n'
            f'[[node]]\nname = "c"\ncount = {len(begins)}\n'
            f'[[link]]\nbetween = ["c", "r"]\nrate = "10Mbps"\ndelay = "3ms"\nqueue = {queue(ACCESS_LIMIT)}\n'
            f'[[link]]\nbetween = ["r", "s"]\nrate = "50Mbps"\ndelay = "10ms"\nqueue = {queue(bottleneck_limit(cell))}\n']
    for client, begin in enumerate(begins):
        text.append(f'[[flow]]\nname = "f{client + 1}"\nfrom = "c{client + 1}"\nto = "s"\nstart = "{begin}s"\n')
        if client < cell.tcp:
            phase_ns = round(float(phases[client]) * 10_000_000)
            text.append('transport = { kind = "tcp-reno", window = "10000packets", segment = "1500B", '
                        f'clock_phase = "{phase_ns}ns" }}\nsource = {{ kind = "ftp" }}\n')
        else:
            text.append('transport = { kind = "udp", datagram = "1500B" }\n'
                        'source = { kind = "cbr", rate = "10Mbps", size = "1500B" }\n')
    return "".join(text)


def run_headway(headway, cell, seed, begins, phases, folder):
    """Returns the metrics of Headway."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lan.toml"
    path.write_text(scenario(cell, seed, begins, phases))
    return metrics(program.simulate(headway, path, folder / "record"))


def metrics(summary):
    """Returns the metrics of a summary."""
    def waits(link):
        # Waiting time of all packets together, in s.
        return link["mean_queue_packets"] * SECONDS

    def dropped(link):
        return sum(link["dropped_packets"].values())

    def left(link):
        return link["arrived_packets"] - dropped(link)

    flows, links = summary["flows"], summary["links"]
    bottleneck, = (link for link in links if link["name"] == "r->s")
    to_router, = (link for link in links if link["name"] == "s->r")
    to_clients = [link for link in links if link["from"] == "r" and link["to"] != "s"]
    kbps = [flow["throughput_bps"] / 1e3 for flow in flows]
    sent, received = (sum(flow[key] for flow in flows) for key in ("sent_packets", "received_packets"))
    delays = sum(flow["one_way_delay_s"]["mean"] * flow["received_packets"] for flow in flows if flow["received_packets"])
    # Acknowledgements are not a flow: each needs 13 ms, the transmission of 40 B at 50 and at 10 Mb/s, and waits in queues.
    acks = sum(map(left, to_clients))
    ack_delays = acks * (0.013 + 40 * 8 / 50e6 + 40 * 8 / 10e6) + sum(map(waits, [to_router, *to_clients]))
    lost = sum(sum(flow["lost_packets"].values()) for flow in flows)
    acks_lost = sum(map(dropped, [to_router, *to_clients]))
    delay_c = 13.24 + 1e3 * waits(bottleneck) / left(bottleneck)
    return {"throughput_kbps": sum(kbps) / len(kbps), "throughput_min_kbps": min(kbps), "throughput_max_kbps": max(kbps),
            "delay_a_ms": 1e3 * delays / received, "delay_b_ms": delay_c + 1.2, "delay_c_ms": delay_c,
            "delay_d_ms": 1e3 * (delays + ack_delays) / (received + acks),
            "loss_pct": 100 * lost / sent, "loss_all_pct": 100 * (lost + acks_lost) / (sent + to_router["arrived_packets"]),
            "utilisation_pct": 100 * bottleneck["utilisation"]}


def run(headway, cell, seed, begins, folder):
    """Makes one run with both programs."""
    ns2, phases = run_ns(cell, seed, begins)
    return Run(seed, begins, phases, ns2, run_headway(headway, cell, seed, begins, phases, folder))


def judge(name, runs):
    """Yields a case per metric."""
    for metric in COMPARED:
        values = ([getattr(run, side)[metric] for run in runs] for side in ("ns2", "headway"))
        yield {"name": f"{name} {metric}", "cell": name, "metric": metric, **agreement.by_run(*values)}


def compare(headway, folder, show):
    """Compares all cells. Returns their cases and all runs: {cell: [run of each seed]}."""
    cases, all_runs = [], {}
    if show:
        print(f"{'cell':24}" + "".join(f"{metric:>20}" for metric in SHOWN))
    for cell in cells():
        all_runs[cell] = [run(headway, cell, seed, starts(cell, seed), folder / f"{cell.name}-{seed}") for seed in SEEDS]
        cases += judge(cell.name, all_runs[cell])
        if show:
            show_row(cases[-len(COMPARED):])
    for cell in cells():
        if cell.queue == "DropTail" and not cell.udp:
            name = f"{cell.name}.in-phase"
            cases += judge(name, [run(headway, cell, 1, ["0"] * cell.tcp, folder / name)])
            if show:
                show_row(cases[-len(COMPARED):])
    if show:
        show_end(cases)
    return cases, all_runs


def show_row(cases):
    """Prints the row of a cell: ns-2's figure and Headway's difference."""
    print(f"{cases[0]['cell']:24}", end="")
    for case in cases:
        if case["metric"] in SHOWN:
            off = "" if case["difference_percent"] is None else f"{case['difference_percent']:+.2f} %"
            print(f"{case['ns2']:>11.6g}{' ' if case['pass'] else '!'}{off:>8}", end="")
    print(flush=True)


def show_end(cases):
    missed = [case for case in cases if not case["pass"]]
    undecided = sum(case.get("verdict") == "undecided" for case in missed)
    for case in missed:
        word = "UNDECIDED" if case.get("verdict") == "undecided" else "MISSED"
        chance = f", by chance {case['chance_percent']:.2f} %" if case.get("chance_percent") else ""
        print(f"{word} {case['name']}: ns-2 {case['ns2']:.6g}, headway {case['headway']:.6g}{chance}, bound {case['bound']}")
    print(f"{len(cases) - len(missed)} of {len(cases)} figures within their bounds, {len(missed) - undecided} missed, {undecided} undecided",
          flush=True)
