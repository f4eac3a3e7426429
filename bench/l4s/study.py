"""Cells, scenarios and figures of the study of L4S. A cell is a dictionary of its parameters; a scenario belongs to a cell and a seed."""

import itertools
import statistics

PACKET_B = 1500
# Target of DualPI2 for Classic packets, virtual round trip of Prague, and target of this study for the 99th percentile of the wait in queue L.
TARGET_MS, VIRTUAL_MS, WAIT_MS = 15, 25, 1
TOLERANCE = 0.25
# p_C above which DualPI2 marks all L4S packets (1/k^2).
SATURATED = 0.25
ACCESS_RATE = 1e9
# Mean window in packets up to which the minimum of Prague (2) is taken as the cause of its rate.
AT_LEAST_WINDOW = 2.5

L4S = {
    "tcp-prague": 'kind = "tcp-prague"',
    "prague": 'kind = "prague", datagram = "1500B", ecn = true',
    "scream2": 'kind = "scream2", datagram = "1500B", ecn = true',
}
# In dialect rfc CUBIC may stay in start-up at DualPI2 for 45 s; the part `bursts` has cells with it.
CUBIC = 'kind = "tcp-cubic", dialect = "linux"'


def queues(mbps):
    """Returns the queues of the parts `queues` and `calls` for a link. DropTail holds 100 ms."""
    return {
        "DualPI2": 'kind = "dualpi2"',
        "FQ-CoDel, CE threshold": 'kind = "fq-codel", ecn = true, ce_threshold = "1ms", ce_threshold_marks = "ect1"',
        "CAKE": f'kind = "cake", bandwidth = "{mbps}Mbps"',
        "DropTail": f'kind = "droptail", limit = "{round(mbps * 1e6 * 0.1 / 8 / PACKET_B)}packets"',
    }


# Ratio: round trip in ms -> start and end of the measured interval in s. 500 rounds until Prague is independent of the round trip take 12.5 s
# at 25 ms. At 100 ms a Prague flow that is alone needs 85 s from half of the link to the whole link.
SPANS = {5: (40, 100), 10: (40, 100), 15: (40, 100), 25: (40, 100), 50: (80, 200), 100: (150, 350)}
COUNTS = [0, 1, 2, 5, 10, 20, 50]
RATIO_MBPS = 200
BURSTS_MBPS, BURSTS_S = 100, (30, 90)
BURSTS = {"none": "", "250us": ', segmentation_offload = "250us"', "1ms": ', segmentation_offload = "1ms"', "4ms": ', segmentation_offload = "4ms"',
          "unpaced": ", paced = false", "link, 1ms": "", "link, 4ms": ""}
CUBIC_OF_RFC = 'kind = "tcp-cubic"'
NEIGHBORS = {"": "", "CUBIC": CUBIC, "CUBIC, dialect rfc": CUBIC_OF_RFC}
AS_RFC = "unpaced, dialect rfc"
RIVALS = {"unpaced": CUBIC, AS_RFC: CUBIC_OF_RFC, "paced": f"{CUBIC}, paced = true", "paced, 1ms": f'{CUBIC}, paced = true, segmentation_offload = "1ms"'}
QUEUES_S = (20, 60)
CALL_MBPS, CALL_RTT_MS, CALLS_S = 10, 40, (20, 80)
CALLS = {
    "scream2": 'kind = "scream2", datagram = "1200B", ecn = true, controller = { max_rate = "3Mbps" }',
    "prague": 'kind = "prague", datagram = "1200B", ecn = true, controller = { max_rate = "3Mbps" }',
    "gcc": 'kind = "gcc", datagram = "1200B", controller = { max_rate = "3Mbps" }',
    "nada": 'kind = "nada", datagram = "1200B", controller = { max_rate = "3Mbps" }',
}
DOWNLOADS = {"BBRv1": 'kind = "tcp-bbr", version = "v1-linux"', "BBRv3": 'kind = "tcp-bbr", version = "v3"', "CUBIC": CUBIC, "Prague": L4S["tcp-prague"]}

SEEDS = {"ratio": 5, "queues": 5, "bursts": 5, "calls": 10}
# Parameters that name a cell.
KEYS = {"ratio": ["rtt_ms", "cubic_flows"], "queues": ["queue", "mbps", "rtt_ms", "flow", "next_to"], "bursts": ["prague_bursts", "cubic", "rtt_ms"],
        "calls": ["queue", "call", "download"]}


def cells(part):
    """Returns the cells of a part. Cells of `calls` with an empty call or download are the runs alone."""
    if part == "ratio":
        values = itertools.product(SPANS, COUNTS)
    elif part == "queues":
        values = [cell for cell in itertools.product(queues(0), [10, 40], [10, 40], L4S, NEIGHBORS)
                  if cell[4] != "CUBIC, dialect rfc" or (cell[0], cell[3]) == ("DualPI2", "tcp-prague")]
    elif part == "bursts":
        values = [cell for cell in itertools.product(BURSTS, RIVALS, [10, 25, 50]) if cell[1] != AS_RFC or cell[0] == "none"]
    else:
        values = [cell for cell in itertools.product(queues(0), ["", *CALLS], ["", *DOWNLOADS]) if any(cell[1:])]
    return [dict(zip(KEYS[part], value)) for value in values]


def head(part, span, seed):
    return (f'name = "l4s-{part}"\ndialect = "rfc"\nmeasure_from = "{span[0]}s"\nduration = "{span[1]}s"\nseed = {seed}\nrecord.series = false\n')


def flow(name, transport, count=1, source='kind = "ftp"', start='{ uniform = ["0s", "2s"] }', more="", batch=""):
    """Returns a flow from its own nodes through a fast link. Starts are random. A link with a `batch` sends at multiples of this time only."""
    node = f'[[node]]\nname = "{name}-sender"\ncount = {count}\n' if count > 1 else ""
    rate = f'capacity = "{batch}.trace"\noverhead = "0B"\nreverse = {{ rate = "1Gbps" }}' if batch else 'rate = "1Gbps"'
    return (f'{node}[[link]]\nbetween = ["{name}-sender", "west"]\n{rate}\ndelay = "1us"\nqueue = {{ kind = "droptail", limit = "100000packets" }}\n'
            f'[[flow]]\nname = "{name}"\nfrom = "{name}-sender"\nto = "east"\nstart = {start}\ntransport = {{ {transport} }}\nsource = {{ {source} }}\n{more}')


def bottleneck(mbps, rtt_ms, queue):
    """Returns a bottleneck whose reverse direction has the propagation delay, so that one-way delays of data are waits and transmissions:
    percentiles of delay have an error of 0.8 % of the delay."""
    return (f'[[link]]\nname = "bottleneck"\nbetween = ["west", "east"]\nrate = "{mbps}Mbps"\ndelay = "1us"\nby_flow = true\nqueue = {{ {queue} }}\n'
            f'reverse = {{ rate = "8Gbps", delay = "{round(rtt_ms * 1000) - 3}us", queue = {{ kind = "droptail", limit = "100000packets" }} }}\n')


def scenario(part, cell, seed):
    if part == "ratio":
        text = head(part, SPANS[cell["rtt_ms"]], seed) + bottleneck(RATIO_MBPS, cell["rtt_ms"], 'kind = "dualpi2"') + flow("l4s", L4S["tcp-prague"])
        return text + (flow("classic", CUBIC, cell["cubic_flows"]) if cell["cubic_flows"] else "")
    if part == "queues":
        text = head(part, QUEUES_S, seed) + bottleneck(cell["mbps"], cell["rtt_ms"], queues(cell["mbps"])[cell["queue"]]) + flow("l4s", L4S[cell["flow"]])
        return text + (flow("classic", NEIGHBORS[cell["next_to"]]) if cell["next_to"] else "")
    if part == "bursts":
        return (head(part, BURSTS_S, seed) + bottleneck(BURSTS_MBPS, cell["rtt_ms"], 'kind = "dualpi2"')
                + flow("l4s", L4S["tcp-prague"] + BURSTS[cell["prague_bursts"]], batch=batch_of(cell)) + flow("classic", RIVALS[cell["cubic"]]))
    text = head(part, CALLS_S, seed) + (f'[[link]]\nname = "bottleneck"\nbetween = ["west", "east"]\nrate = "{CALL_MBPS}Mbps"\ndelay = "{CALL_RTT_MS // 2}ms"\n'
                                        f'by_flow = true\nqueue = {{ {queues(CALL_MBPS)[cell["queue"]]} }}\nreverse = {{ queue = {{ kind = "droptail" }} }}\n')
    if cell["call"]:
        text += flow("call", CALLS[cell["call"]], source='kind = "encoder", max_rate = "2500kbps", lifetime = "200ms"', start='{ uniform = ["0s", "500ms"] }',
                     more='send_queue = { kind = "sfdps2", limit = "200packets" }\n')
    if cell["download"]:
        text += flow("download", DOWNLOADS[cell["download"]], start='{ uniform = ["5s", "6s"] }')
    return text


def batch_of(cell):
    """Returns the time between two transmissions of Prague's link, or an empty string if the link sends at any time."""
    return cell.get("prague_bursts", "").partition("link, ")[2]


def files(cell):
    """Returns the names and texts of the files that a scenario needs: a batch of 100 packets each 1 or 4 ms."""
    batch = batch_of(cell)
    return {f"{batch}.trace": 100 * f"{batch.removesuffix('ms')}\n"} if batch else {}


def formula(rtt_ms):
    """Returns r_L / r_C of RFC 9332 appendix C for CUBIC in Reno mode and a sender that is independent of round trips below 25 ms."""
    return 0.85 * (rtt_ms + TARGET_MS) / (1.22 * max(rtt_ms, VIRTUAL_MS))


def is_dualpi2(cell):
    return cell.get("queue", "DualPI2") == "DualPI2"


def wait_target_ms(mbps):
    """Returns the target for the 99th percentile of the wait in queue L: 1 ms and the transmission of one packet."""
    return WAIT_MS + 8 * PACKET_B / (1e3 * mbps)


def waits_ms(one, mbps, percentile):
    """Returns the time that the packets of a flow wait in the queue of a bottleneck with its delay in the reverse direction."""
    delay = one["one_way_delay_s"]
    return 1e3 * (delay[percentile] - 2e-6 - 8 * PACKET_B / ACCESS_RATE) - 8 * PACKET_B / (1e3 * mbps)


def reduced(summary):
    """Returns the parts of a summary from which figures are computed."""
    names = ("name", "throughput_bps", "goodput_bps", "one_way_delay_s", "lost_packets", "sent_packets", "loss_ratio", "rtt_s", "timeouts", "frames")
    link, = (one for one in summary["links"] if (one["from"], one["to"]) == ("west", "east"))
    return {"flows": [{name: one[name] for name in names if name in one} for one in summary["flows"]],
            "link": {"utilisation": link["utilisation"], "flows": [one for one in link["flows"] if one["name"] == "l4s"]}}


def figures(part, cell, summary):
    """Returns the figures of a run from its reduced summary."""
    if part == "calls":
        return figures_of_call(cell, summary)
    mbps = {"ratio": RATIO_MBPS, "bursts": BURSTS_MBPS}.get(part) or cell["mbps"]
    l4s, = (one for one in summary["flows"] if one["name"] == "l4s")
    classic = [one for one in summary["flows"] if one["name"].startswith("classic")]
    link = summary["link"]
    own, = link["flows"]
    rate = l4s["throughput_bps"]
    found = {"l4s_mbps": rate / 1e6, "wait_p99_ms": waits_ms(l4s, mbps, "p99"), "wait_mean_ms": waits_ms(l4s, mbps, "mean"),
             "marked_pct": 100 * own["marked_packets"] / own["arrived_packets"], "l4s_lost_pct": 100 * l4s["loss_ratio"],
             "used_pct": 100 * link["utilisation"]}
    if batch_of(cell):  # the wait for a batch is part of the one-way delay
        del found["wait_p99_ms"], found["wait_mean_ms"]
    rtt_l = l4s["rtt_s"] and l4s["rtt_s"]["mean"]
    if rtt_l:
        found["l4s_rtt_ms"] = 1e3 * rtt_l
        found["l4s_window"] = rate * rtt_l / 8 / PACKET_B
    if not classic:
        return found
    # A sender that stopped using ECN waits with the Classic packets.
    found["fell_back"] = is_dualpi2(cell) and not own["marked_packets"]
    found |= {"classic_mbps": statistics.fmean(one["throughput_bps"] for one in classic) / 1e6,
              "classic_wait_ms": statistics.fmean(waits_ms(one, mbps, "mean") for one in classic)}
    found["ratio"] = found["l4s_mbps"] / found["classic_mbps"]
    lost = sum(sum(one["lost_packets"].values()) for one in classic)
    found["p_c_pct"] = 100 * lost / sum(one["sent_packets"] for one in classic)
    found["classic_timeouts"] = sum(one.get("timeouts", 0) for one in classic)
    rtt_c = statistics.fmean(one["rtt_s"]["mean"] for one in classic)
    found["classic_rtt_ms"] = 1e3 * rtt_c
    if part != "queues" and lost and own["marked_packets"]:
        found |= factors(cell["rtt_ms"], found)
    return found


def factors(rtt_ms, found):
    """Returns the factors by which the ratio of a run differs from the formula; their product is ratio / formula.

    marks: marks of the L4S flow in a virtual round trip, relative to 2. round_trip: mean round trip of the Classic flows, relative to
    0.85 (R + 15 ms). equation: 1.22 / (R sqrt(p_C)), relative to the rate of the Classic flows. coupling: 2 sqrt(p_C), relative to the share of marked
    L4S packets. l4s_round_trip: R, relative to the mean round trip of the L4S flow, each at least 25 ms."""
    packets = 1e6 / 8 / PACKET_B
    p_l, root = found["marked_pct"] / 100, (found["p_c_pct"] / 100) ** 0.5
    virtual = max(found["l4s_rtt_ms"], VIRTUAL_MS)
    return {"marks": found["l4s_mbps"] * packets * p_l * virtual / 1e3 / 2,
            "round_trip": found["classic_rtt_ms"] / (0.85 * (rtt_ms + TARGET_MS)),
            "equation": 1.22 / (found["classic_rtt_ms"] / 1e3 * root) / (found["classic_mbps"] * packets),
            "coupling": 2 * root / p_l,
            "l4s_round_trip": max(rtt_ms, VIRTUAL_MS) / virtual}


def figures_of_call(cell, summary):
    found = {}
    for one in summary["flows"]:
        if one["name"] == "call":
            delay = one["frames"]["video"]["delay_s"]
            found |= {"call_mbps": one["throughput_bps"] / 1e6, "frames_pct": 100 * one["frames"]["video"]["on_time_ratio"],
                      "frame_delay_p95_ms": 1e3 * delay["p95"] if delay else None, "call_lost_pct": 100 * one["loss_ratio"]}
        else:
            found |= {"download_mbps": one["goodput_bps"] / 1e6, "download_lost_pct": 100 * one["loss_ratio"]}
    return found


def harm(alone, beside):
    """Returns the harm of Ware et al. (HotNets 2019) in %, for a figure of which more is better; None if there is nothing to lose."""
    return 100 * (alone - beside) / alone if alone else None
