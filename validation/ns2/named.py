"""Compares systems that the papers name but do not run: Veno and BIC of ns-2.35's Agent/TCP/Linux, packet by packet as in paths.py.

Chosen runs with listed losses (including a lost SYN, and many losses in a window), ECN and short queues; then random runs over the paths of
paths.py.
"""

import pathlib
import random
import tempfile

from common import program
import details
import paths

DATA = program.ROOT / "crates" / "simulator" / "tcp" / "tests" / "data"
LOST = [5, 6, 12, 130, 131, 350, 351, 352, 580, 1120, 1121, 1123]


def tcp(kind, **more):
    """Returns an endless transfer. It starts after time 0, which Linux does not use as a timestamp."""
    flow = {"kind": kind, "from": 0, "start": "0.1", "stop": "", "window": 100, "payload": 1000, "segments": 0, "options": {"timestamps": "true"}}
    return {**flow, **more, "options": {**flow["options"], **more.get("options", {})}}


def chosen():
    """Returns runs over a path of 2 Mb/s, and over one of 10 Mb/s and 100 ms with a window of hundreds of segments."""
    long = {**details.PATH, "rates": ["100000", "10000", "100000", "10000"], "delays": ["2", "50", "2", "2"], "limits": [10000, 100, 1000, 10000],
            "duration": 60}
    for kind in paths.LINUX:
        yield {**details.PATH, "what": "queue", "flows": [tcp(kind)]}
        # With a lost SYN ns-2 samples the time since 0.
        yield {**details.PATH, "what": "lost", "flows": [tcp(kind, start="0")], "lost": {0: [0, *LOST]}}
        yield {**details.PATH, "what": "burst", "flows": [tcp(kind, window=40)], "lost": {1: [*range(20, 40), *range(160, 177)]}}
        yield {**details.PATH, "what": "marked", "flows": [tcp(kind, options={"ecn": 1})], "lost": {1: LOST}, "limits": [10000, 50, 50, 10000],
               "red": {"threshold": 8, "weight": "1", "ecn": True}}
        yield {**long, "what": "long", "flows": [tcp(kind, window=2000)]}
        yield {**long, "what": "lost", "flows": [tcp(kind, window=2000)], "lost": {1: [900, 4000, 4100, 9000, 20000, 20500, 30000]}}


def drawn(runs, seed):
    """Draws random paths with one or two transfers."""
    draw = random.Random(f"named {seed}")
    for number in range(runs):
        kind = list(paths.LINUX)[number % len(paths.LINUX)]
        case = {"duration": 15, "what": kind[4:]}
        paths.draw_links(draw, case)
        case["limits"][1] = draw.choice([5, 10, 20, 30, 50, 100])
        case["flows"] = [tcp(kind, window=draw.choice([20, 100, 1000]), payload=draw.choice([1000, 1000, 1460, 500]))]
        if draw.random() < 0.3:
            case["flows"].append(tcp(draw.choice(list(paths.LINUX)), **{"from": 4, "start": f"{draw.uniform(0, 3):.4f}"}))
        if draw.random() < 0.3:
            case["lost"] = {1: sorted(draw.sample(range(1, 1500), draw.randint(1, 30)))}
        yield case


def compare(headway, runs, seed, folder, keep, show):
    """Returns the chosen runs and this many drawn ones."""
    return paths.compare_all(headway, [*chosen(), *drawn(runs, seed)], folder, keep, show)


# The runs that an ordinary test replays (crates/simulator/tcp/tests/ns2.rs).


def stored():
    """Yields name, case, and the losses on the first link. SYNs are not lost: all times are relative to the start."""
    long = {**details.PATH, "rates": ["10000", "6000", "10000", "10000"], "delays": ["2", "40", "2", "2"], "limits": [10000, 25, 50, 10000], "duration": 12}
    for kind in paths.LINUX:
        yield f"{kind[4:]}-q20", {**details.PATH, "flows": [tcp(kind, window=60)]}
        yield f"{kind[4:]}-lost", {**long, "flows": [tcp(kind)], "lost": {0: [120, 410, 411, 412, 900, 1500, 1503]}}
        yield f"{kind[4:]}-burst", {**details.PATH, "flows": [tcp(kind, window=40)], "lost": {0: [*range(20, 40), *range(160, 177)]}}


def rows(key, words):
    """Returns lines that start with the key, of at most 170 characters."""
    line = key
    for word in words:
        if len(line) + len(word) > 168:
            yield line
            line = key
        line += f" {word}"
    yield line


def steps(received):
    """Returns differences of microseconds and of numbers to the previous event, with their number of repetitions."""
    found, last = [], (0, 0)
    for at, number in received:
        step = f"{at - last[0]}{number - last[1]:+}"
        last = (at, number)
        if found and found[-1][0] == step:
            found[-1][1] += 1
        else:
            found.append([step, 1])
    return [step if times == 1 else f"{step}x{times}" for step, times in found]


def record(version, name, case, folder):
    """Returns one run of ns-2 in the format of the data of crates/simulator/tcp/tests/ns2.rs."""
    start = round(float(case["flows"][0]["start"]) * 1e6)
    flow = case["flows"][0]
    trace, _ = paths.run_ns(case, folder, folder / "window.txt")
    sent, drops, received = 0, [], []
    for line in trace.open():
        event, at, one, other, kind, _, _, _, _, _, number, _ = line.split()
        at = round(float(at) * 1e6) - start
        if kind == "tcp":
            # Packets that are lost on the first link do not reach its queue.
            sent += event in "+d" and (one, other) == ("0", "1")
            if event == "d":
                drops.append(f"{at}:{number}")
            if (event, other) == ("r", "3"):
                received.append((at, int(number)))
    windows, values = [], {}
    for line in (folder / "window.txt").open():
        at, _, _, _, _, variable, value = line.split()
        before = values.get("cwnd_", 0)
        values[variable] = float(value)
        # While a rate is being halved, cwnd_ is the allowed number of packets in flight, and falls.
        if variable == "cwnd_" and before and float(value) == before + 1:
            windows.append(f"{round(float(at) * 1e5) - start // 10}:{float(value):.3f}/{values['ssthresh_']:.0f}")
    path = f"{float(case['rates'][1]) / 1000:g}Mbps {case['delays'][1]}ms {case['limits'][1]}"
    options = {"timestamps": "true", "segment": f'"{flow["payload"] + 50}B"', "header": '"50B"', "syn_size": '"40B"', "window": f'"{flow["window"]}packets"'}
    lost = case.get("lost", {}).get(0, [])
    text = [f"# {version}, ns-random 1: Agent/TCP/Linux, select_ca {paths.LINUX[flow['kind']]}, Agent/TCPSink/Sack1, ts_echo_rfc1323_.",
            "# The window only where it grows: while a rate is being halved, ns-2's cwnd_ is what may be in flight.",
            "# `validation/ns2/run --only named --store` writes this file. The agent starts at 0.1 s, which is 0 here.",
            f"kind {flow['kind']}", f"path {path}", "segments 0", f"until {case['duration'] - 0.1:g}s", *(f"option {key} {value}" for key, value in options.items()),
            *(rows("lost", map(str, lost)) if lost else ()), f"sent {sent}", *(rows("drops", drops) if drops else ()),
            "# receptions at n3: microseconds and numbers since the one before, and how often", *rows("received", steps(received)),
            "# cwnd and ssthresh and when they changed, in units of 10 us", *rows("window", windows[::max(1, len(windows) // 60)])]
    (DATA / f"ns2-{name}.txt").write_text("".join(f"{line}\n" for line in text))


def store(version):
    """Writes all of them, and returns the folder."""
    for name, case in stored():
        with tempfile.TemporaryDirectory() as folder:
            record(version, name, case, pathlib.Path(folder))
    return DATA
