"""The cases and their expected results.

A session uses a path of 20 ms in each direction unless the case has another one. The expected results of a case are defined with it, by
sections of the RFC and by the sources of Linux (net/dccp of 6.1).
"""

import dataclasses
import errno

from judge import (accounted, agreed, all_sent, calm, arrivals_in, closed, connected, count, delivered, equation_of, exchange, gaps, gaps_in_numbers, honest, ignored, kernel_end, like, missing,
                   quick, refused, resets, renegotiated, resumes, round_trip, some_spoilt, spoilt, took, unanswered)

DELAY = "delay 20ms"
# Features by their numbers (section 6.4).
CCID, SEQUENCE_WINDOW, ACK_RATIO = 1, 3, 5


@dataclasses.dataclass
class Case:
    """One session: the actions of both ends, the path, and the expected results."""

    name: str
    # The client: "headway", "kernel", or "both" for a session between two sockets of the kernel, for comparison.
    client: str
    headway: dict
    kernel: dict
    expect: list
    v6: bool = False
    to_kernel: str = DELAY
    to_headway: str = DELAY
    # Headway's packets are damaged on purpose.
    tampered: bool = False
    # Data are only partly covered by the checksum.
    partial: bool = False
    port: int = 0


def ends(client, ccids, headway=None, kernel=None):
    """Returns the actions of both ends: their CCIDs and the given further keys."""
    to_kernel, to_headway = [ccid if isinstance(ccid, list) else [ccid] for ccid in ccids]
    ours = {"dialect": "rfc", "send_ccids": to_kernel, "receive_ccids": to_headway, **(headway or {})}
    theirs = {"send_ccids": to_headway, "receive_ccids": to_kernel, **(kernel or {})}
    return {"client": client, "headway": ours, "kernel": theirs}


def send(packets=40, size=300, interval_us=10_000, **more):
    """Datagrams to send."""
    return {"send": {"packets": packets, "bytes": size, "interval_us": interval_us, **more}}


def session(name, client, ccids=(2, 2), agree=None, also=(), headway=None, kernel=None, closer="client", packets=40, skip=(), ending=None,
            close_after_ms=1000, **keys):
    """Returns a whole connection without losses: the client sends, the server echoes, one closes."""
    ours, theirs = dict(headway or {}), dict(kernel or {})
    clients, servers = (ours, theirs) if client == "headway" else (theirs, ours)
    clients.setdefault("send", send(packets)["send"])
    servers.setdefault("echo", True)
    theirs.setdefault("queue", 0)  # without a limit: a full queue rejects data of the application
    (clients if closer == "client" else servers)["close_after_ms"] = close_after_ms if closer == "client" else 2 * close_after_ms
    # A server that closes asks the client for its Close. The receiver of the Close sends the Reset.
    ending = ending or closed("peer" if client == "headway" else "us", 1)
    expect = {connected: connected, quick: quick, round_trip: round_trip, agreed: agreed(*(agree or ccids)), delivered: delivered(packets, packets),
              honest: honest, calm: calm, closed: ending}
    expect = [question for key, question in expect.items() if key not in skip]
    return Case(name, **ends(client, ccids, ours, theirs), expect=[*expect, *also], **keys)


def failing(name, client, expect, ccids=(2, 2), headway=None, kernel=None, **keys):
    """Returns a connection that is not established."""
    return Case(name, **ends(client, ccids, headway, kernel), expect=list(expect), **keys)


ROLES = ("headway", "kernel")
IS = {"headway": "client", "kernel": "server"}  # Headway's role by the client

CASES = []

# Both roles, both CCIDs, both IP versions. The server answers the client's Close with a Reset (RFC 4340 section 8.3).
for role in ROLES:
    for ccid in (2, 3):
        for v6 in (False, True):
            other = "kernel" if role == "headway" else "headway"
            order = exchange(f"{role} Request", f"{other} Response", f"{role} Close", f"{other} Reset")
            CASES.append(session(f"plain-ccid{ccid}-{IS[role]}{'-v6' if v6 else ''}", role, (ccid, ccid), v6=v6, also=[resets((other, 1)), order]))
    # A different CCID in each half-connection.
    for ccids in ((3, 2), (2, 3)):
        CASES.append(session(f"ccid{ccids[0]}-there-ccid{ccids[1]}-back-{IS[role]}", role, ccids))
    CASES.append(session(f"dialect-linux-ccid2-{IS[role]}", role, (2, 2), headway={"dialect": "linux"}))
    CASES.append(session(f"dialect-linux-ccid3-{IS[role]}", role, (3, 3), headway={"dialect": "linux"}))
    CASES.append(session(f"ndp-counts-{IS[role]}", role, (3, 3), headway={"options": {"ndp_counts": True}}))
    CASES.append(session(f"timestamps-{IS[role]}", role, (3, 3), headway={"options": {"timestamps": True}}))
    CASES.append(session(f"sequence-window-300-{IS[role]}", role, (2, 2), headway={"options": {"sequence_window": 300}}))
    CASES.append(session(f"mtu-{IS[role]}", role, (2, 2), packets=30, headway=send(30, 1424) if role == "headway" else None,
                         kernel=send(30, 1424) if role == "kernel" else None))
    # The initial Sequence Window of Linux is 100 packets. With more packets per round trip both Linux and Headway ask for a larger
    # window (section 7.5.2).
    changed = [("headway", SEQUENCE_WINDOW), ("kernel", SEQUENCE_WINDOW), ("kernel", ACK_RATIO)] + [("headway", ACK_RATIO)] * (role == "headway")
    CASES.append(session(f"fast-{IS[role]}", role, (2, 2), packets=1500, also=[renegotiated(*change) for change in changed],
                         **({"headway": send(1500, 300, 1000)} if role == "headway" else {"kernel": send(1500, 300, 1000)})))

# The server's preferences decide (section 6.3.1).
CASES += [
    session("lists-client", "headway", (2, 2), (3, 3), headway={"send_ccids": [2, 3], "receive_ccids": [2, 3]},
            kernel={"send_ccids": [3, 2], "receive_ccids": [3, 2]}),
    session("lists-server", "kernel", (2, 2), (3, 3), headway={"send_ccids": [3, 2], "receive_ccids": [3, 2]},
            kernel={"send_ccids": [2, 3], "receive_ccids": [2, 3]}),
    session("lists-server-prefers-2", "kernel", (2, 2), (2, 2), headway={"send_ccids": [2, 3], "receive_ccids": [2, 3]},
            kernel={"send_ccids": [3, 2], "receive_ccids": [3, 2]}),
    # The kernel does not support CCID 4.
    session("lists-ccid4-client", "headway", (3, 3), (3, 3), headway={"send_ccids": [4, 3], "receive_ccids": [4, 3]}),
    session("lists-ccid4-server", "kernel", (3, 3), (3, 3), headway={"send_ccids": [4, 3], "receive_ccids": [4, 3]}),
    # Headway's Change is Mandatory, Linux's is not (sections 10 and 6.6.9).
    failing("ccid-none-in-common-client", "headway", [closed("peer", 6), resets(("kernel", 6))], headway={"send_ccids": [3], "receive_ccids": [3]}),
    failing("ccid-none-in-common-server", "kernel", [refused(errno.EILSEQ), resets(("headway", 5))], headway={"send_ccids": [3], "receive_ccids": [3]}),
]

# Refusals, in both directions. Linux converts Reset codes to errnos (dccp_reset_code_convert). Without a listener it sends No Connection,
# not Connection Refused.
CODES = {2: errno.ECONNRESET, 3: errno.ECONNREFUSED, 4: errno.ENOMSG, 5: errno.EILSEQ, 6: errno.EOPNOTSUPP, 7: errno.ECONNREFUSED, 8: errno.EBADRQC,
         9: errno.EUSERS, 10: errno.EBADR, 11: errno.EDQUOT}
CASES += [failing(f"reset-{code}-to-request", "kernel", [refused(number), resets(("headway", code))], headway={"refuse": code})
          for code, number in CODES.items()]
CASES += [
    failing("service-wrong-server", "kernel", [refused(errno.EBADRQC), resets(("headway", 8))], headway={"services": [42]}, kernel={"services": [43]}),
    failing("service-wrong-client", "headway", [closed("peer", 8)], headway={"services": [43]}, kernel={"services": [42], "limit_ms": 1000}),
    session("service-list-client", "headway", headway={"services": [0x48656164]}, kernel={"services": [42, 0x48656164, 7]}),
    session("service-list-server", "kernel", headway={"services": [42, 0x48656164, 7]}, kernel={"services": [0x48656164]}),
    failing("busy-server", "kernel", [refused(errno.EUSERS), resets(("headway", 9))], headway={"options": {"backlog": 0, "init_cookies": "never"}}),
    failing("no-listener-client", "headway", [closed("peer", 3), resets(("kernel", 3))], kernel={"deaf": True}),
    failing("no-listener-client-v6", "headway", [closed("peer", 3), resets(("kernel", 3))], kernel={"deaf": True}, v6=True),
    # Linux sends seven Requests, the second one 3 s after the first, and a Reset at the end (section 8.1.1).
    failing("unanswered-server", "kernel", [refused(errno.ETIMEDOUT), gaps("Request", "kernel", 3, 6, 12, 24, 48, 64), resets(("kernel", 2))],
            headway={"lose": [{"kind": "Request"}], "limit_ms": 240_000}, kernel={"limit_ms": 240_000}),
    # Headway waits 1 s and doubles the time after each Request, up to 64 s. At 180 s it gives up with a Reset, which is lost too.
    failing("unanswered-client", "headway", [closed("none", None), took(180, 180.1), resets()],
            headway={"lose": [{"sent": True}], "limit_ms": 240_000}, kernel={"limit_ms": 200_000}),
]

# Lost packets of the handshake.
LATE = (quick, round_trip)
CASES += [
    session("request-lost-client", "headway", headway={"lose": [{"sent": True, "kind": "Request", "first": 1}]}, skip=LATE, also=[took(1.04, 1.06)]),
    session("request-lost-server", "kernel", headway={"lose": [{"kind": "Request", "first": 1}]}, skip=LATE,
            also=[took(3.04, 3.45), gaps("Request", "kernel", 3)]),
    session("response-lost-client", "headway", headway={"lose": [{"kind": "Response", "first": 1}]}, skip=LATE, also=[took(1.04, 1.06),
            count("Response", "kernel", 2, 2)]),
    session("response-lost-server", "kernel", headway={"lose": [{"sent": True, "kind": "Response", "first": 1}]}, skip=LATE, also=[took(3.04, 3.45)]),
    # The client has no data: its Ack must be repeated until the server answers (section 8.1.5).
    session("acks-lost-client", "headway", headway={"lose": [{"sent": True, "kind": "Ack", "first": 3}], **send(40, within_ms=0)}),
    session("acks-lost-server", "kernel", headway={"lose": [{"kind": kind, "until_ms": 1000} for kind in ("Ack", "DataAck")]}, close_after_ms=5000,
            skip=(delivered, round_trip), also=[accounted]),
    # No packet of the client arrives for 4 s. Linux repeats its Response after 3 s, then 2 s later.
    session("partopen-lost-client", "headway", headway={"lose": [{"sent": True, "kind": kind, "until_ms": 4000} for kind in ("Ack", "DataAck", "Data")],
            **send(40, gap_us=5_000_000)}, skip=(delivered,), also=[accounted]),
]

# Every way to close (section 8.3).
for role in ROLES:
    server = "kernel" if role == "headway" else "headway"
    CASES.append(session(f"closereq-{IS[role]}", role, closer="server",
                         also=[exchange(f"{server} CloseReq", f"{role} Close", f"{server} Reset"), resets((server, 1))]))
    holder = {"kernel": {"server_time_wait": True}} if role == "headway" else {"headway": {"options": {"server_time_wait": True}}}
    CASES.append(session(f"server-time-wait-{IS[role]}", role, closer="server", ending=closed("us" if role == "headway" else "peer", 1),
                         also=[exchange(f"{server} Close", f"{role} Reset"), count("CloseReq", server, 0, 0)], **holder))
    # The Close is lost once, the CloseReq is lost once, the Reset is lost once.
    lost = {"sent": role == "headway", "kind": "Close", "first": 1}
    CASES.append(session(f"close-lost-{IS[role]}", role, headway={"lose": [lost]}, also=[gaps("Close", "kernel", 3)] if role == "kernel" else []))
    lost = {"sent": server == "headway", "kind": "CloseReq", "first": 1}
    CASES.append(session(f"closereq-lost-{IS[role]}", role, closer="server", headway={"lose": [lost]},
                         also=[gaps("CloseReq", "kernel", 3)] if server == "kernel" else []))
    lost = {"sent": server == "headway", "kind": "Reset", "first": 1}
    # The connection of a repeated Close no longer exists (section 8.3.1).
    CASES.append(session(f"reset-lost-{IS[role]}", role, headway={"lose": [lost], "linger_ms": 5000}, skip=(calm,),
                         ending=closed("peer", 3) if role == "headway" else closed("us", 1),
                         also=[resets(("kernel", 1), ("kernel", 3)) if role == "headway" else resets(("headway", 3))]))
    # Aborts: Reset 2.
    for by in ROLES:
        aborts = {"abort": True, "close_after_ms": 1000}
        both = ends(role, (2, 2))
        both[role].update(send())
        both[by].update(aborts)
        CASES.append(Case(f"abort-by-{by}-{IS[role]}", **both, expect=[connected, honest, resets((by, 2)), closed("us" if by == "headway" else "peer", 2),
                                  kernel_end(errno.ECONNRESET if by == "headway" else None)]))

# Packets that Headway does not normally send. 32 04 63 01: Change L of feature 99; 3c 04 01 02: option 60, which is undefined.
ODD = {"tampered": True}
CASES += [
    session("unknown-option", "headway", headway={"change": [{"kind": kind, "options": "3c040102"} for kind in ("Request", "DataAck")]}, **ODD),
    session("unknown-feature", "headway", headway={"change": [{"kind": "Request", "options": "20046301"}]}, **ODD),
    failing("unknown-mandatory", "headway", [closed("peer", 6)], headway={"change": [{"kind": "Request", "options": "0000000120046301"}]}, **ODD),
    failing("not-confirmed", "headway", [closed("peer", 9)], headway={"change": [{"kind": kind, "bare": True} for kind in ("Ack", "DataAck")], **send(3)},
            **ODD),
    session("checksum-wrong", "headway", headway={"change": [{"kind": "Request", "count": 1, "checksum": True}]}, skip=LATE, also=[took(1.04, 1.06)],
            **ODD),
    # Changes of the CCID within the session. Linux ignores them, Mandatory or not; sections 6.6.1 and 6.6.9 require an answer.
    session("ccid-change-ignored", "headway", headway={"change": [{"kind": "DataAck", "skip": 5, "count": 1, "options": "20040103"}]},
            also=[unanswered("headway", CCID)], **ODD),
    session("ccid-change-mandatory", "headway", headway={"change": [{"kind": "DataAck", "skip": 5, "count": 1, "options": "0000000120040103"}]},
            also=[unanswered("headway", CCID)], **ODD),
    session("far-ahead", "headway", (3, 3), headway={"change": [{"kind": "Data", "skip": 5, "count": 1, "ahead": 1_000_000}]}, skip=(calm,),
            also=[count("Sync", "kernel", 1, 1), ignored("sequence or acknowledgement number outside its window", 1)], **ODD),
]

# Options that Linux does not support. It ignores data on the Request. It does not return Init Cookies, so the server has no connection for
# its Ack. It has no ECN. It agrees to check Data Checksums (section 9.3.1), but delivers data whose Data Checksum is wrong.
CASES += [
    session("data-checksum-client", "headway", headway={"options": {"data_checksum": True}}),
    session("data-checksum-wrong", "headway", (3, 2), headway={"options": {"data_checksum": True},
            "change": [{"kind": "Data", "skip": 3, "count": 1, "bare": True, "options": "2c06deadbeef0000"}]}, **ODD),
    session("data-on-request-client", "headway", headway={"options": {"handshake_data": True}}, skip=(delivered,), also=[delivered(39, 39)]),
    failing("cookies-server", "kernel", [kernel_end(errno.ECONNREFUSED), count("Reset", "kernel", 0, 0)],
            headway={"options": {"init_cookies": "always"}, "limit_ms": 3000}, kernel={**send(3), "limit_ms": 3000}),
    session("ecn-blind-client", "headway", headway={"options": {"ecn": False}}),
]

# Partial checksums (section 9.2).
CASES += [
    session("coverage-1-client", "headway", headway={"options": {"send_coverage": 1}}, kernel={"minimum_coverage": 1}),
    session("coverage-4-server", "kernel", (3, 3), headway={"options": {"minimum_coverage": 3}}, kernel={"send_coverage": 4}),
    session("coverage-1-corrupt-client", "headway", headway={"options": {"send_coverage": 1}}, kernel={"minimum_coverage": 1}, to_kernel=f"{DELAY} corrupt 5%",
            partial=True, packets=300, skip=(calm, delivered), also=[some_spoilt]),
    session("coverage-1-corrupt-server", "kernel", headway={"options": {"minimum_coverage": 1}}, kernel={"send_coverage": 1}, to_headway=f"{DELAY} corrupt 5%",
            partial=True, packets=300, skip=(calm, delivered), also=[some_spoilt]),
]

# Headway skips one sequence number in twenty to verify the receiver (RFC 4342 section 9). Linux's Ack Vectors report the skipped numbers
# correctly, the reported losses have no effect, and there is no Reset 11. CCID 3 is not tested: Linux sends no Loss Intervals.
for role in ROLES:
    CASES.append(session(f"passed-over-{IS[role]}", role, packets=400, headway={"options": {"passed_over_interval": 20}, **(send(400) if role == "headway" else {})},
                         kernel=send(400) if role == "kernel" else None, also=[gaps_in_numbers(5)]))

# Idle senders and blackouts.
for role in ROLES:
    for ccid in (2, 3):
        CASES.append(session(f"idle-gap-ccid{ccid}-{IS[role]}", role, (ccid, ccid), close_after_ms=20_000,
                             **{role: send(40, 300, 20_000, gap_us=5_000_000)}))

# Paths that lose, reorder, duplicate or damage packets; 300 datagrams in one direction, in the dialect that has Linux's timers. Up to 40 of
# 300 packets are affected with a probability of 5 %; acknowledgements are affected too. Neither end may deliver damaged packets
# (section 9.1). Linux delivers duplicates.
PATHS = {"loss1": ("loss 1%", [accounted]), "loss5": ("loss 5%", [accounted]), "reorder": ("reorder 5% 25%", [missing(0, 0)]),
         "jitter": ("5ms", [missing(0, 0)]), "duplicate": ("duplicate 5%", [missing(0, 0)]), "corrupt": ("corrupt 5%", [missing(1, 40), spoilt])}
for role in ROLES:
    for ccid in (2, 3):
        for path, (impairment, questions) in PATHS.items():
            netem = f"{DELAY} {impairment}"
            sender = {**send(300, 300, 8000), "close_after_ms": 1500}
            both = ends(role, (ccid, ccid), headway={"dialect": "linux"}, kernel={"queue": 0})
            both[role].update(sender)
            CASES.append(Case(f"{path}-ccid{ccid}-{IS[role]}", **both, expect=[connected, agreed(ccid, ccid), honest, all_sent, *questions], to_kernel=netem,
                              to_headway=netem))
        # No packet arrives for 3 s.
        both = ends(role, (ccid, ccid), headway={"lose": [{"sent": way, "from_ms": 2000, "until_ms": 5000} for way in (False, True)]})
        both[role].update({**send(300, 300, 20_000), "close_after_ms": 1500})
        CASES.append(Case(f"blackout-ccid{ccid}-{IS[role]}", **both, expect=[connected, agreed(ccid, ccid), honest, resumes(5, 10)]))

        # Data in both directions.
        both = ends(role, (ccid, ccid), headway={"dialect": "linux"}, kernel={"queue": 0})
        both[role].update({**send(300, 300, 8000), "close_after_ms": 1500})
        both["kernel" if role == "headway" else "headway"]["echo"] = True
        CASES.append(Case(f"both-ways-loss1-ccid{ccid}-{IS[role]}", **both, expect=[connected, agreed(ccid, ccid), honest, all_sent, accounted],
                          to_kernel=f"{DELAY} loss 1%", to_headway=f"{DELAY} loss 1%"))

# As fast as possible, for 20 s. With random losses the result is compared with the equation of RFC 5348 section 3.1, since two sockets of
# the kernel may almost stop there: under CCID 2 in most runs, under CCID 3 in some. At a bottleneck it is compared with two such sockets.
GREEDY = {**send(1_000_000, 1000, 0, within_ms=20_000), "close_after_ms": 1000}
PAIRS = [(f"loss{loss}", f"{DELAY} loss {loss}%", loss / 100) for loss in (1, 5)] + [("bottleneck", f"{DELAY} rate 1mbit limit 20", None)]
for name, netem, p in PAIRS:
    for ccid in (2, 3):
        reference = f"greedy-{name}-ccid{ccid}-kernels"
        lists = {"send_ccids": [ccid], "receive_ccids": [ccid]}
        CASES.append(Case(reference, "both", lists, {**lists, **GREEDY}, [honest], to_kernel=netem, to_headway=netem))
        pace = equation_of(p, ccid) if p else like(reference)
        for role in ROLES:
            both = ends(role, (ccid, ccid), headway={"dialect": "linux"})
            both[role].update(GREEDY)
            CASES.append(Case(f"greedy-{name}-ccid{ccid}-{IS[role]}", **both, expect=[connected, honest, accounted, pace], to_kernel=netem,
                              to_headway=netem))

# The first loss is an outage of 20 s. Linux's receiver sets the loss interval before it to one packet, which is its mean until a second
# loss. So it reports p = 1 permanently, and a sender with this p sends a packet per 243 round trips. With Headway's receiver the kernel's
# sender recovers in 19 of 24 runs (seeds 1 to 24). In the others it does not recover; the cause was not found.
for role, ranges in {"headway": [(200, 300)], "kernel": [(1800, 4000), (150, 300)]}.items():
    both = ends(role, (3, 3), headway={"lose": [{"sent": way, "from_ms": 4000, "until_ms": 24_000} for way in (False, True)], "limit_ms": 160_000},
                kernel={"limit_ms": 160_000})
    both[role].update({**send(5000, 300, 20_000, within_ms=100_000), "close_after_ms": 1500})
    CASES.append(Case(f"outage-ccid3-{IS[role]}", **both, expect=[connected, agreed(3, 3), honest, arrivals_in(*ranges)]))
