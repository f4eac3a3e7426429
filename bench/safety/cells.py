"""Scenarios and criteria of the safety case."""

import dataclasses
import statistics
from collections.abc import Callable

PACKET_B = 1500
RENO, CUBIC, BBR = 'kind = "tcp-reno"', 'kind = "tcp-cubic"', 'kind = "tcp-bbr"'
# What `headway send` uses by default (TFRC with the guarded loss filter), and with peers that do not know this controller (TFRC), with the keys for
# real networks. CUBIC and BBR v3 show what is deployed.
REAL = 'nofeedback = "four-rtt-bounded", expert = { t_gran = "100us"'
CANDIDATES = {
    "guarded": f'kind = "dccp", ccid = 250, controller = {{ {REAL}, initial_window = "ten", pacing = "pairs" }} }}',
    "TFRC": f'kind = "dccp", ccid = 3, controller = {{ {REAL} }} }}',
    "CUBIC": CUBIC,
    "BBR v3": BBR,
}
RIVALS = {"Reno": RENO, "CUBIC": CUBIC, "BBR": BBR}
# Rate of the bottleneck in Mb/s, round trip without queues in ms, and time in s: start of the measurement, end.
MBPS, RTT_MS, SPAN = 10, 40, (30, 150)
# Flows next to a candidate.
OTHERS = 4


def bdp(mbps, rtt_ms):
    """Returns the number of packets of one bandwidth-delay product."""
    return max(3, round(mbps * 1e3 * rtt_ms / 8 / PACKET_B))


def droptail(packets):
    return f'queue = {{ kind = "droptail", limit = "{packets}packets" }}'


# Link and round trip without queues in ms of the paths on which rivals share a bottleneck.
PATHS = {
    "one BDP of queue": (droptail(bdp(MBPS, RTT_MS)), RTT_MS),
    "a quarter BDP of queue": (droptail(bdp(MBPS, RTT_MS) // 4), RTT_MS),
    "one BDP of queue, 160 ms": (droptail(bdp(MBPS, 160)), 160),
    "CoDel": ('queue = { kind = "codel" }', RTT_MS),
    "FQ-CoDel": ('queue = { kind = "fq-codel" }', RTT_MS),
    "1 % of random loss": (droptail(bdp(MBPS, RTT_MS)) + '\nloss = { kind = "bernoulli", probability = "1%" }', RTT_MS),
}
SHORT_QUEUE = PATHS["one BDP of queue"][0]


@dataclasses.dataclass
class Scenario:
    """A scenario: groups of flows (name, number, transport, round trip in ms), and the figure that it gives."""

    groups: list
    link: str
    figure: Callable
    mbps: float = MBPS

    def text(self, seed):
        start, end = SPAN
        text = (f'name = "safety"\nduration = "{end}s"\ndialect = "headway-1"\nmeasure_from = "{start}s"\nseed = {seed}\nrecord.series = false\n'
                f'[[link]]\nbetween = ["r1", "r2"]\nrate = "{self.mbps}Mbps"\ndelay = "5ms"\n{self.link}\n'
                '[[link]]\nbetween = ["r2", "receiver"]\nrate = "1Gbps"\ndelay = "1ms"\n')
        for name, count, transport, rtt_ms in self.groups:
            # Without a random delay of up to one packet time, segments of ACK-clocked TCPs arrive just after departures, and others are dropped in
            # their place: the phase effect of Floyd and Jacobson (1992, "On traffic phase effects in packet-switched gateways").
            if transport in (RENO, CUBIC):
                transport += f', overhead = "{8 * PACKET_B / self.mbps:.0f}us"'
            text += (f'[[node]]\nname = "{name}"\ncount = {count}\n[[link]]\nbetween = ["{name}", "r1"]\nrate = "100Mbps"\ndelay = "{rtt_ms / 2 - 6}ms"\n'
                     f'[[flow]]\nname = "{name}"\nfrom = "{name}"\nto = "receiver"\nstart = {{ uniform = ["0s", "5s"] }}\n'
                     f'transport = {{ {transport} }}\nsource = {{ kind = "ftp" }}\n')
        return text


def bottleneck(summary):
    return next(link for link in summary["links"] if link["name"] == "r1->r2")


def rates(summary, name):
    return [flow["throughput_bps"] for flow in summary["flows"] if flow["name"].startswith(name)]


def loss_pct(summary):
    """Packets that the queue dropped, of those that arrived there."""
    link = bottleneck(summary)
    return 100 * (link["dropped_packets"]["queue_full"] + link["dropped_packets"]["early"]) / link["arrived_packets"]


def queue_ms(summary):
    """Mean queueing delay by Little's law."""
    link = bottleneck(summary)
    return 1e3 * 8 * link["mean_queue_bytes"] / (MBPS * 1e6 * link["utilisation"])


def packets_per_rtt(summary):
    """Packets that a flow sends in a round trip of the empty path."""
    flow = summary["flows"][0]
    start, end = SPAN
    return flow["sent_packets"] / (end - start) * RTT_MS / 1e3


@dataclasses.dataclass
class Criterion:
    section: str
    title: str
    candidate: str
    mine: tuple
    other: tuple
    bound_text: str
    # How much worse the candidate is than the bound; 0 or less is within it.
    excess: Callable


def criteria(scenarios):
    """Yields the criteria, and adds their scenarios by name."""

    def add(*name, **fields):
        scenarios.setdefault(name, Scenario(**fields))
        return name

    for candidate, transport in CANDIDATES.items():
        one = lambda kind, count=1, rtt=RTT_MS: [("flow", count, kind, rtt)]

        def against(section, title, reference, make, bound_text, excess):
            mine, other = (add(title, kind, **make(kind)) for kind in (transport, reference))
            return Criterion(section, title, candidate, mine, other, bound_text, excess)

        yield against(
            "5.1.1", "packets per round trip at 30 % of random loss", RENO,
            lambda kind: {"groups": one(kind), "link": droptail(100) + '\nloss = { kind = "bernoulli", probability = "30%" }', "figure": packets_per_rtt},
            "at most 1", lambda mine, _: mine - 1,
        )
        yield against(
            "5.1.1", "loss of 50 flows on 1 Mb/s (%)", RENO,
            lambda kind: {"groups": one(kind, 50), "link": droptail(20), "figure": loss_pct, "mbps": 1},
            "that of Reno", lambda mine, other: mine - other,
        )
        yield against(
            "5.1.2", "queueing delay of one flow, queue of 1 s (ms)", CUBIC,
            lambda kind: {"groups": one(kind), "link": droptail(bdp(MBPS, 1000)), "figure": queue_ms},
            "that of CUBIC", lambda mine, other: mine - other,
        )
        for count in (1, 8, 32):
            yield against(
                "5.1.3", f"loss of {count} flow{'s'[:count != 1]}, one BDP of queue (%)", CUBIC,
                lambda kind, count=count: {"groups": one(kind, count), "link": SHORT_QUEUE, "figure": loss_pct},
                "that of CUBIC + 1 point", lambda mine, other: mine - other - 1,
            )
        for count in (2, 8, 32):
            yield against(
                "5.1.4", f"Jain's index of {count} flows", CUBIC,
                lambda kind, count=count: {"groups": one(kind, count), "link": SHORT_QUEUE, "figure": lambda summary: summary["jain_index"]},
                "that of CUBIC - 0.05", lambda mine, other: other - 0.05 - mine,
            )
        yield against(
            "5.1.4", "rate at 20 ms over rate at 100 ms, two flows of each", RENO,
            lambda kind: {"groups": [("short", 2, kind, 20), ("long", 2, kind, 100)], "link": SHORT_QUEUE,
                          "figure": lambda summary: statistics.fmean(rates(summary, "short")) / statistics.fmean(rates(summary, "long"))},
            "that of Reno", lambda mine, other: mine - other,
        )
        for rival, kind in RIVALS.items():
            for path, (link, rtt_ms) in PATHS.items():
                fields = {"link": link, "figure": lambda summary: sum(rates(summary, "rival")) / 1e6}
                mine = add("harm", rival, path, transport, groups=[("rival", OTHERS, kind, rtt_ms), ("guest", 1, transport, rtt_ms)], **fields)
                other = add("harm", rival, path, kind, groups=[("rival", OTHERS, kind, rtt_ms), ("guest", 1, kind, rtt_ms)], **fields)
                yield Criterion("5.2.1", f"rate of {OTHERS} {rival}, {path} (Mb/s)", candidate, mine, other,
                                f"9/10 of next to one more {rival}", lambda mine, other: 0.9 - mine / other)
        for rival, kind in RIVALS.items():
            share = lambda summary: rates(summary, "guest")[0] * (OTHERS + 1) / sum(rates(summary, ""))
            fields = {"link": SHORT_QUEUE, "figure": share}
            mine = add("share", rival, transport, groups=[("rival", OTHERS, kind, RTT_MS), ("guest", 1, transport, RTT_MS)], **fields)
            other = add("share", rival, kind, groups=[("rival", OTHERS, kind, RTT_MS), ("guest", 1, kind, RTT_MS)], **fields)
            yield Criterion("5.2.1", f"own share of a fair one next to {OTHERS} {rival}", candidate, mine, other, "at least 0.2", lambda mine, _: 0.2 - mine)
