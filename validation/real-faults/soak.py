"""Makes all faults at random."""

import random
import time

import hostile
from cases import ONE_HEAP, Missed, check, opening
from lab import PORT, SERVER


def soak(lab, seconds, seed):
    """Many short calls run while all faults happen at random: no program fails, memory does not grow, and at the end no connection is left."""
    draw, done = random.Random(seed), {}
    server, print_ = lab.serve("--patience", 5, environment=ONE_HEAP)
    hello = opening(lab, print_)
    clients = [lab.call(print_, "--seconds", int(seconds), "--calls", 10, "--churn", seed + n, "--patience", 5, "--interval", 20) for n in range(3)]
    until, memory = time.monotonic() + seconds, []

    def loss():
        lab.set(loss=draw.choice([1, 5, 20]))
        time.sleep(draw.uniform(1, 5))
        lab.set(loss=0)

    def hole():
        lab.set(loss=100)
        time.sleep(draw.uniform(0.5, 8))
        lab.set(loss=0)

    def narrow():
        lab.set(limit=draw.choice([1400, 1300, 900]))
        time.sleep(draw.uniform(1, 8))
        lab.set(limit=0)

    def far():
        lab.set(delay=draw.choice([0, 1, 100]))
        time.sleep(draw.uniform(1, 5))
        lab.set(delay=20)

    def garbage():
        seen = [datagram for datagram in hostile.capture(lab.router, "r1", 0.2) if datagram[1] == (SERVER, PORT)]
        if seen:
            hostile.spoil(lab.router, seen, draw.uniform(1, 3), 2000)

    def spoofed():
        hostile.flood(lab.router, hello, (SERVER, PORT), draw.uniform(1, 3), 3000)

    def killed():
        at = draw.randrange(len(clients))
        clients[at].kill()
        left = max(1, int(until - time.monotonic()))
        clients[at] = lab.call(print_, "--seconds", left, "--calls", 10, "--churn", draw.randrange(1 << 30), "--patience", 5, "--interval", 20)

    faults = [loss, hole, narrow, far, garbage, spoofed, killed, lab.forget]
    while time.monotonic() < until:
        fault = draw.choice(faults)
        fault()
        done[fault.__name__] = done.get(fault.__name__, 0) + 1
        time.sleep(draw.uniform(0, 2))
        if server.process.poll() is not None:
            raise Missed(f"the server failed: {server.finish()[1]}", done)
        memory.append((time.monotonic(), server.rss()))
    for client in clients:
        status, said = client.finish(90)
        check(status == 0, f"a client failed: {said}", done)
    # Connections that were not closed end after the server's patience; then TIMEWAIT.
    nothing = lambda line: line["connections"] == line["sessions"] == 0
    empty = server.wait_for("status", after=time.monotonic(), seconds=60, such=nothing)
    last = server.last()
    quarter = len(memory) // 4
    early, late = (max(kb for _, kb in part) for part in (memory[quarter:2 * quarter + 1], memory[-quarter - 1:]))
    figures = {"calls": last["calls"], "received": last["received"], "early_kb": early, "late_kb": late, "end_kb": server.rss(),
               "connections": last["connections"], "sessions": last["sessions"]} | done
    server.kill()
    check(empty, "connections or sessions are left", figures)
    check(late < 1.25 * early + 1024, "memory grows", figures)
    return figures
