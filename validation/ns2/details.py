"""Compares rules that random paths rarely reach with ns-2.35, packet by packet as in paths.py.

Lists of lost packets (including a lost SYN), windows that are halved in whole segments down to none, packets that RED marks and then drops because
its queue is full, a RED that marks or drops every packet above a step (`mark_p_`), constant rates that are set again, and stops at the time at
which a packet is due.
"""

import paths

# The calibration path: every transmission needs a whole number of nanoseconds.
PATH = {"rates": ["10000", "2000", "10000", "10000"], "delays": ["2", "10", "2", "2"], "limits": [10000, 20, 50, 10000], "red": None,
        "duration": 10}
LOST = [5, 6, 12, 30, 31, 50, 51, 52, 80, 120, 121, 123]


def tcp(kind, **options):
    """Returns an endless transfer."""
    return {"kind": kind, "from": 0, "start": "0", "stop": "", "window": 30, "payload": 1000, "segments": 0, "options": options}


def cbr(rate, size, start, stop, changes=()):
    """Returns a constant-rate flow, in kb/s."""
    return {"kind": "udp", "from": 0, "start": start, "stop": stop, "rate": rate, "payload": size, "changes": list(changes)}


def cases():
    """Yields all cases."""
    for kind in paths.SENDERS:
        yield {**PATH, "what": "halves", "flows": [tcp(kind, precisionReduce=0)], "lost": {1: LOST}}
        yield {**PATH, "what": "lost syn", "flows": [tcp(kind, ecn=1)], "lost": {0: [0, *LOST]},
               "red": {"threshold": 5, "weight": "1", "ecn": True}}
        for whole in ({}, {"precisionReduce": 0}):
            yield {**PATH, "what": "marked", "flows": [tcp(kind, ecn=1, windowInit=20, **whole)], "lost": {1: LOST},
                   "limits": [10000, 6, 50, 10000], "red": {"threshold": 3, "weight": "1", "ecn": True}}
        for mark_p in ("2.0", "1.0"):
            yield {**PATH, "what": "step", "flows": [{**tcp(kind, ecn=1), "window": 1000}], "limits": [10000, 200, 50, 10000],
                   "red": {"threshold": 20, "weight": "1", "ecn": True, "mark_p": mark_p}}
    for more in ({}, {"delay": "0.1"}, {"segments": 300, "window": 7}):
        yield {**PATH, "what": "vegas", "flows": [{**tcp("tcp-vegas"), **more}], "lost": {0: [0, *LOST]}}
    yield {**PATH, "what": "rates", "flows": [cbr("1600", 1000, "0.1", "9", [("1", "2500"), ("3.003", "400"), ("6", "800")])]}
    # By the sum of doubles, the packet due at 4.01 s is sent before the change.
    yield {**PATH, "what": "rates", "flows": [cbr("800", 1000, "0.01", "9", [("4.01", "400")])]}
    # At the first stop ns-2 does not send the packet that is due; at the others it does.
    for rate, size, start, stop in [("1000", 1250, "0", "1"), ("800", 1000, "0.01", "4.01"), ("500", 1250, "5", "5.8")]:
        yield {**PATH, "what": "stop", "flows": [cbr(rate, size, start, stop)]}


def compare(headway, folder, keep, show):
    """Compares all cases."""
    return paths.compare_all(headway, cases(), folder, keep, show)
