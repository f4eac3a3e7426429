"""Compares Headway with ns-2.35 on sessions, which are short transfers, packet by packet.

ns-2 makes an agent for each session, which sends its bytes at its time. Headway has one flow whose source lists times and sizes. Times are
drawn to 0.1 us; sometimes timers and packets of several sessions have exactly the same time. Runs are compared by the lines of their traces,
as in paths.py, and by their completion times: number, mean and maximum. No difference is allowed except a rounded microsecond.
"""

import random
import shutil
import statistics
import subprocess

from common import program
import paths

HERE = paths.HERE
TOLERANCE_S = paths.TOLERANCE_US / 1e6


def draw_case(draw):
    """Draws one run: two links, a TCP, and 10 to 200 sessions whose sizes have a heavy tail."""
    duration = draw.choice([20, 40])
    times = sorted(f"{draw.uniform(0, 0.7 * duration):010.7f}" for _ in range(draw.randint(10, 200)))
    least, shape = draw.choice([500, 1370, 3333]), draw.choice([1.16, 1.5, 2.5])
    sessions = [(at, min(round(least * draw.paretovariate(shape)), 2_000_000)) for at in times]
    links = [[draw.choice(["10000", "100000", "3333.3"]), draw.choice(["2", "3.7", "17"]), draw.choice([50, 1000])],
             [draw.choice(["768", "1000", "1999.1", "2000", "3333.3"]), draw.choice(["5.5", "10", "33"]), draw.choice([3, 5, 10, 20, 50])]]
    return {"what": "sessions", "red": None, "duration": duration, "links": links, "kind": draw.choice(list(paths.SENDERS)),
            "window": draw.choice([2, 8, 20, 100]), "payload": draw.choice([500, 1000, 1460]), "sessions": sessions}


def run_ns(case, folder):
    """Returns ns-2's trace, the phase of its clocks in ticks, and the completion times in s."""
    def listed(rows):
        return " ".join("{" + " ".join(map(str, row)) + "}" for row in rows)

    trace, done = folder / "ns.tr", folder / "done.txt"
    subprocess.run(["ns", HERE / "sessions.tcl", trace, done, str(case["duration"]), listed(case["links"]), paths.SENDERS[case["kind"]],
                    str(case["window"]), str(case["payload"]), listed(case["sessions"])], check=True, stdout=subprocess.DEVNULL)
    phase, *rows = done.read_text().splitlines()
    return trace, float(phase), [float(end) - float(at) for at, end in (row.split() for row in rows)]


def scenario(case, phase):
    """Returns the case as a scenario."""
    text = [f'name = "case"\nduration = "{case["duration"]}s"\ndialect = "ns2"\nrecord.series = false\n']
    for number, (kbps, ms, packets) in enumerate(case["links"]):
        text.append(f'[[link]]\nbetween = ["n{number}", "n{number + 1}"]\nrate = "{kbps}kbps"\ndelay = "{ms}ms"\n'
                    f'queue = {{ kind = "droptail", limit = "{packets}packets" }}\n')
    times = ", ".join(f'"{at}s"' for at, _ in case["sessions"])
    sizes = ", ".join(f'"{size}B"' for _, size in case["sessions"])
    text.append(f'[[flow]]\nname = "web"\nfrom = "n0"\nto = "n2"\n'
                f'transport = {{ kind = "{case["kind"]}", window = "{case["window"]}packets", segment = "{case["payload"] + 40}B", '
                f'clock_phase = "{round(phase * 10_000_000)}ns" }}\n'
                f'source = {{ kind = "sessions", arrivals = {{ at = [{times}] }}, sizes = {{ list = [{sizes}] }} }}\n')
    return "".join(text)


def completions_differ(theirs, ours):
    """Returns the difference in the completion times, if there is one."""
    figures = {"completed": (len(theirs), ours["completed"])}
    if theirs and ours["completion_s"]:
        figures["mean"] = statistics.fmean(theirs), ours["completion_s"]["mean"]
        figures["max"] = max(theirs), ours["completion_s"]["max"]
    return next((f"{name}: ns-2 {one}, headway {other}" for name, (one, other) in figures.items() if abs(one - other) > TOLERANCE_S), None)


def check(headway, number, case, folder):
    """Runs a case twice and compares."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, phase, completions = run_ns(case, folder)
    path = folder / "case.toml"
    path.write_text(scenario(case, phase))
    summary = program.simulate(headway, path, folder / "record", "--trace", "ns2")
    theirs = paths.read(trace, case)
    difference = paths.first_difference(theirs, paths.read(folder / "record" / "trace.tr", case))
    said = f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}" if difference else \
        completions_differ(completions, summary["flows"][0]["sessions"])
    parameters = (f"{case['duration']} s; {' '.join('/'.join(map(str, link)) for link in case['links'])}; {case['kind'][4:]} window {case['window']} "
                  f"payload {case['payload']}; {len(case['sessions'])} sessions, {sum(size for _, size in case['sessions'])} B")
    return {"name": f"sessions {number:03}", "pass": said is None, "parameters": parameters, "events": sum(map(len, theirs.values())),
            "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")), "completed": len(completions), "first_difference": said}


def compare(headway, runs, seed, folder, keep, show):
    """Draws and compares this many runs."""
    draw = random.Random(f"sessions {seed}")
    found = []
    for number in range(runs):
        place = folder / f"{number:03}"
        found.append(check(headway, number, draw_case(draw), place))
        if not keep:
            shutil.rmtree(place)
        if show and not found[-1]["pass"]:
            print(f"DIFFERS {found[-1]['name']}: {found[-1]['parameters']}\n    {found[-1]['first_difference']}", flush=True)
    if show:
        print(f"sessions: {sum(case['pass'] for case in found)} of {len(found)} runs equal; {sum(case['completed'] for case in found)} sessions complete, "
              f"{sum(case['events'] for case in found)} events, {sum(case['drops'] for case in found)} drops in ns-2", flush=True)
    return found
