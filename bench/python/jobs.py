"""Runs one job of bench/python in a separate process; `run` reads its output.

loop SECONDS, threads MANY, gap BUILT_IN_OR_OWN, queue BUILT_IN_OR_OWN, sweep FOLDER MANY, dask FOLDER MANY
"""

import sys
import threading
import time

import headway
from headway import Controller, Flow, Link, Scenario, SendQueue, SenderHalf


def star(seconds, clients=50):
    """Returns a scenario with files of this many clients through one RED queue, without series: only the event loop is measured."""
    return Scenario(
        duration=f"{seconds}s",
        record={"series": False},
        links=[
            *(Link((f"c{n}", "r1"), rate="100Mbps", delay="5ms") for n in range(clients)),
            Link(("r1", "r2"), rate=f"{clients}Mbps", delay="20ms", queue={"kind": "red", "limit": "200packets"}),
        ],
        flows=[Flow(f"f{n}", f"c{n}", "r2", transport="tcp-newreno", source="ftp") for n in range(clients)],
    )


def loop(seconds):
    scenario = star(seconds)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as file:
            file.write(scenario.toml)
        return
    record = scenario.run(progress=lambda *_: None)
    print(record.summary["packet_hops"])


def threads(many):
    """Returns the seconds of four runs on this many threads."""
    work = [star(400, clients) for clients in (21, 21, 21, 21)]

    def some(first):
        for scenario in work[first::many]:
            scenario.run()

    begin = time.perf_counter()
    running = [threading.Thread(target=some, args=(first,)) for first in range(many)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(time.perf_counter() - begin)


EVEN = {"kind": "spacing-fixed", "line_rate": "1Gbps", "controller": {"spacing": "100us"}}


class Even(SenderHalf):
    def __init__(self, context):
        self.next_ns = context.now_ns

    def poll_send(self, now_ns, size_bytes):
        return self.next_ns

    def on_send(self, now_ns, number, size_bytes):
        self.next_ns = max(now_ns, self.next_ns) + 100_000


class Fifo(SendQueue):
    def choose(self, now_ns, waiting, travel_ns):
        return 0


def sender(transport, queue=None, seconds=20):
    return Scenario(
        duration=f"{seconds}s",
        record={"series": False},
        links=[Link(("a", "b"), rate="1Gbps", delay="10ms")],
        flows=[
            Flow("f", "a", "b", transport=transport, send_queue=queue, source={"kind": "cbr", "rate": "88Mbps", "size": "1000B"})
        ],
    )


def per_packet(scenario, **own):
    """Returns nanoseconds per packet."""
    begin = time.perf_counter()
    record = scenario.run(**own)
    took = time.perf_counter() - begin
    print(took * 1e9 / record.summary["flows"][0]["sent_packets"])


def gap(which):
    """Sends a packet each 100 us with a built-in controller or one in Python; the source always has data."""
    if which == "own":
        per_packet(sender("tfrc"), controllers={"f": Controller(Even)})
    else:
        per_packet(sender(EVEN))


def queue(which):
    """Does the same with a first-in first-out queue of ten waiting packets."""
    own = {"queues": {"f": Fifo}} if which == "own" else {}
    waits = {"kind": "fifo", "limit": "10packets"} if own else {"kind": "edf", "limit": "10packets"}
    per_packet(sender(EVEN, waits), **own)


VARIED = {"link[0].delay": [f"{ms}ms" for ms in range(1, 25)]}


def sweep(folder, many):
    begin = time.perf_counter()
    headway.sweep(study(), VARIED, seeds=2, out=folder, jobs=int(many))
    print(time.perf_counter() - begin)


def study():
    return Scenario(
        duration="800s",
        links=[Link(("r1", "r2"), rate="30Mbps", delay="5ms")],
        flows=[Flow("f", "r1", "r2", transport="tcp-newreno", source="ftp", count=10, start={"uniform": ["0s", "1s"]})],
    )


def dask(folder, many):
    import distributed

    with distributed.LocalCluster(n_workers=int(many), threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        begin = time.perf_counter()
        headway.sweep(study(), VARIED, seeds=2, out=folder, cluster=client)
        print(time.perf_counter() - begin)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["loop", seconds, *_]:
            loop(float(seconds))
        case ["threads", many]:
            threads(int(many))
        case ["gap", which]:
            gap(which)
        case ["queue", which]:
            queue(which)
        case ["sweep", folder, many]:
            sweep(folder, many)
        case ["dask", folder, many]:
            dask(folder, many)
        case _:
            sys.exit(__doc__)
