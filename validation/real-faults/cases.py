"""The faults, each with its bars. A case gets a lab and returns its measurements; it raises `Missed` if a bar is not met."""

import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import threading
import time

import hostile
from lab import CLIENT, PORT, ROUTER, SERVER

HERE = pathlib.Path(__file__).resolve().parent
INTERVAL_MS = 10
# With a heap for each thread, the allocator would keep more free memory than is in use.
ONE_HEAP = {"MALLOC_ARENA_MAX": "1"}
# Delay that this machine may add, since the cable is a program too.
SLACK_MS = 5


class Missed(Exception):
    """A bar is not met. The second argument has the measurements."""


def check(holds, why, figures):
    if not holds:
        raise Missed(why, figures)


def rtt(lab):
    """Returns the median round-trip time of the path, in ms."""
    with lab.server.inside():
        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with lab.client.inside():
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far.bind((SERVER, 9))
    for end in (near, far):
        end.settimeout(2)
    trips = []
    for _ in range(11):
        began = time.monotonic()
        near.sendto(b"ping", (SERVER, 9))
        far.sendto(*far.recvfrom(64))
        near.recv(64)
        trips.append((time.monotonic() - began) * 1e3)
    near.close(), far.close()
    return statistics.median(trips)


def again(end, since, before=0.0):
    """Returns the time from `since` until media resumed, in ms. Of the gaps that began before `since`, or up to 60 ms later, the longest counts.
    Returns 0 if there was no gap of two intervals. `before`: the fault began this many seconds before `since`."""
    began = lambda line: line["at"] - line["ms"] / 1e3
    gaps = [line for line in end.all("gap", since) if since - before - 0.1 < began(line) < since + 0.06]
    return (max(gaps, key=lambda line: line["ms"])["at"] - since) * 1e3 if gaps else 0.0


def continues(end, seconds=30.0):
    """Waits until media arrive."""
    received = end.last()["received"]
    return end.wait_for("status", after=time.monotonic(), seconds=seconds, such=lambda line: line["received"] > received + 5)


def first(lab):
    """Without losses the first datagram arrives within 1.5 round trips and 2 ms."""
    trip, took = rtt(lab), []
    server, print_ = lab.serve()
    for _ in range(11):
        client = lab.call(print_, "--seconds", 1)
        began = client.wait_for("calls")
        received = began and server.wait_for("first", after=began["at"])
        check(received, "no media arrive", {})
        took.append((received["at"] - began["at"]) * 1e3)
        client.finish()
    server.kill()
    figures = {"rtt_ms": trip, "first_ms": statistics.median(took), "slowest_ms": max(took)}
    check(figures["first_ms"] <= 1.5 * trip + 2, "later than 1.5 round trips and 2 ms", figures)
    return figures


def loss(lab):
    """With 5 % loss in each direction all datagrams that are not lost arrive, and the call continues."""
    # TFRC allows 90 datagrams of 200 B a second on such a path (RFC 5348 section 3.1).
    with lab.pair("--interval", 2 * INTERVAL_MS) as (server, client):
        before = {end: end.last() for end in (server, client)}
        lab.set(loss=5)
        time.sleep(15)
        lab.set(loss=0)
        time.sleep(1)
        now = {end: end.last() for end in (server, client)}
        share = {name: (now[to]["received"] - before[to]["received"]) / (now[by]["sent"] - before[by]["sent"])
                 for name, by, to in (("to_server", client, server), ("to_client", server, client))}
        check(min(share.values()) >= 0.9, "more than a tenth does not arrive", share)
        check(max(share.values()) < 0.99, "nothing is lost: the cable has no losses", share)
        check(not client.all("closed") and not server.all("closed"), "the call ended", share)
        return share


def rebinding(lab):
    """The NAT loses its mapping of the client: media resume within one round trip and one packet's interval, in both directions."""
    trip, figures = rtt(lab), {"to_server_ms": [], "to_client_ms": []}
    with lab.pair("--interval", INTERVAL_MS) as (server, client):
        ports = set()
        for _ in range(7):
            time.sleep(1.5)
            table = lab.router.run("cat", "/proc/net/nf_conntrack")
            ports |= set(re.findall(rf"dst={ROUTER} sport={PORT} dport=(\d+)", table))
            since = time.monotonic()
            lab.forget()
            time.sleep(1)
            check(continues(server) and continues(client), "no media arrive any more", figures)
            figures["to_server_ms"].append(again(server, since))
            figures["to_client_ms"].append(again(client, since))
    figures = {key: max(values) for key, values in figures.items()} | {"rtt_ms": trip, "ports": len(ports)}
    check(len(ports) > 1, "the NAT assigned the same port again", figures)
    bar = trip + INTERVAL_MS + SLACK_MS
    check(max(figures["to_server_ms"], figures["to_client_ms"]) <= bar, f"later than {bar:.0f} ms", figures)
    return figures


def narrow(lab, change, back):
    with lab.pair("--size", 2000) as (server, client):
        wide = lambda line: line["largest"] > 1350
        check(server.wait_for("status", such=wide) and client.wait_for("status", such=wide), "the path's MTU is not found", {})
        since = time.monotonic()
        change()
        try:
            small = lambda line: line["largest"] < 1272
            lines = [end.wait_for("status", after=since, such=small) for end in (server, client)]
            check(all(lines), "datagrams stay too large", {})
            check(continues(server) and continues(client), "no media arrive any more", {})
            figures = {"seconds": max(line["at"] for line in lines) - since, "largest": max(line["largest"] for line in lines)}
            check(figures["seconds"] < 15, "later than 15 s", figures)
            return figures
        finally:
            back()


def mtu(lab):
    """A link of the path carries at most 1300 bytes and reports this by ICMP, which may be forged: within 15 s datagrams are small enough."""
    def set_mtu(size):
        lab.router.ip("link", "set", "r1", "mtu", str(size))
        lab.server.ip("link", "set", "s0", "mtu", str(size))
    return narrow(lab, lambda: set_mtu(1300), lambda: set_mtu(1500))


def mtu_hole(lab):
    """A link of the path carries at most 1300 bytes and does not report it: within 15 s datagrams are small enough."""
    return narrow(lab, lambda: lab.set(limit=1300), lambda: lab.set(limit=0))


def killed(lab):
    """A peer is killed: the other end reports after its patience of 5 s that the peer does not answer, and keeps no state."""
    figures = {}
    for name in ("server", "client"):
        with lab.pair("--patience", 5) as (server, client):
            gone, left = (server, client) if name == "server" else (client, server)
            since = time.monotonic()
            gone.kill()
            closed = left.wait_for("closed", after=since)
            check(closed, f"the {name} was killed, and the other end does not report it", figures)
            figures[f"{name}_s"] = closed["at"] - since
            check("does not answer" in closed["why"] and figures[f"{name}_s"] < 6, closed["why"], figures)
            nothing = lambda line: line["connections"] == line["sessions"] == 0
            check(left.wait_for("status", after=since, such=nothing), "connections or sessions are left", figures)
    return figures


def down(lab):
    """The server's interface is down for 3 s: media continue."""
    with lab.pair() as (server, client):
        lab.server.ip("link", "set", "s0", "down")
        time.sleep(3)
        lab.server.ip("link", "set", "s0", "up")
        lab.server.ip("route", "replace", "default", "via", ROUTER)
        since = time.monotonic()
        check(continues(server) and continues(client), "no media arrive any more", {})
        return {"to_server_ms": again(server, since, 3.1), "to_client_ms": again(client, since, 3.1)}


def clock(lab):
    """The wall clock jumps forward or back by a day each time that it is read: it is read only once, for the unused dates of a certificate."""
    with tempfile.TemporaryDirectory() as scratch:
        shim = pathlib.Path(scratch) / "stepping.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "stepping.c", "-ldl"], check=True)
        preload = {"LD_PRELOAD": str(shim)}
        server, print_ = lab.serve()
        client = lab.call(print_, "--seconds", 5, environment=preload)
        check(client.wait_for("first"), "no media arrive", {})
        status, said = client.finish()
        server.kill()
        walls, others = map(int, re.search(r"clocks: (\d+) wall, (\d+) other", said).groups())
        figures = {"wall": walls, "monotonic": others, "gaps": len(client.all("gap"))}
        check(status == 0 and walls <= 1 and others > 100, "the wall clock is read", figures)
        return figures


def opening(lab, print_):
    """Returns the first datagram of a client."""
    with lab.client.inside():
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind((CLIENT, PORT))
    silent.settimeout(20)
    trust = ("--trust", print_) if print_ else ("--plain",)
    client = lab.end(lab.client, "client", f"{CLIENT}:{PORT}", *trust, "--seconds", 5)
    payload = silent.recv(4096)
    silent.close()
    client.kill()
    return payload


def flood(lab, plain, most):
    """Floods the server with started handshakes from 2^17 addresses and all ports. `most`: bytes that the server may send per received byte."""
    rate, seconds = 5000, 20
    server, print_ = lab.serve(*(("--plain",) if plain else ()), environment=ONE_HEAP)
    payload = opening(lab, print_)
    calm, memory = server.rss(), []
    flooding = threading.Thread(target=lambda: sent.append(hostile.flood(lab.router, payload, (SERVER, PORT), seconds, rate)))
    sent, counters = [], lambda: [lab.server.counter("s0", which) for which in ("rx_bytes", "tx_bytes")]
    before = counters()
    flooding.start()
    honest = []
    while flooding.is_alive():
        time.sleep(1)
        memory.append(server.rss())
        if len(memory) % 5 == 3:
            # The client closes its connection. The server would keep a killed peer, and send to it, until its patience ends.
            client = lab.call(print_, "--seconds", 1)
            honest.append(bool(client.wait_for("first", seconds=10)))
    flooding.join()
    received, out = (after - was for after, was in zip(counters(), before))
    figures = {"datagrams": sent[0], "in_bytes": received, "out_bytes": out, "ratio": out / received, "calm_kb": calm, "peak_kb": max(memory),
               "growth_kb": max(memory[len(memory) // 2:]) - max(memory[:len(memory) // 2]), "honest": sum(honest)}
    server.kill()
    check(sent[0] > rate * seconds / 4, "too few datagrams were sent", figures)
    check(honest and all(honest), "an honest client is not served", figures)
    check(figures["ratio"] <= most, f"more than {most} bytes are sent per received byte", figures)
    # After the first half all limited tables are full.
    check(figures["growth_kb"] < 512 and figures["peak_kb"] - calm < 32 << 10, "memory grows", figures)
    return figures


def spoofed(lab):
    """With DTLS, under a flood of spoofed handshakes memory does not grow, no more bytes are sent than received, and honest clients are served."""
    return flood(lab, False, 1.0)


def spoofed_plain(lab):
    """Without DTLS, under a flood of spoofed handshakes memory does not grow, at most twice as many bytes are sent as received, which the threat
    model allows, and honest clients are served."""
    return flood(lab, True, 2.0)


def garbage(lab):
    """An on-path attacker injects damaged and random datagrams with the addresses of both ends: the call is not affected."""
    with lab.pair() as (server, client):
        seen = [datagram for datagram in hostile.capture(lab.router, "r1") if datagram[1] == (SERVER, PORT)]
        seen += [datagram for datagram in hostile.capture(lab.router, "r0") if datagram[1][0] == CLIENT]
        before, since = server.rss(), time.monotonic()
        sent = hostile.spoil(lab.router, seen, 15, 2000)
        both_continue = continues(server) and continues(client)
        gaps = [line["ms"] for end in (server, client) for line in end.all("gap", since)]
        figures = {"datagrams": sent, "growth_kb": server.rss() - before, "longest_gap_ms": max(gaps, default=0.0)}
        check(both_continue and not server.all("closed") and not client.all("closed"), "the call ended", figures)
        check(figures["growth_kb"] < 4096, "memory grows", figures)
        return figures


CASES = {case.__name__.replace("_", "-"): case
         for case in (first, loss, rebinding, mtu, mtu_hole, killed, down, clock, spoofed, spoofed_plain, garbage)}
