"""Compares Headway with ns-2.35 on random paths, packet by packet.

Every run is made twice, by `ns` (path.tcl) and by `headway run --trace ns2`. The two traces are compared line by line: each packet offered,
sent, received and dropped on each link, with its type, size, flags and number, and the time within 2 us. A run counts as equal if all lines
are equal; no difference is allowed.
"""

import collections
import pathlib
import random
import shutil
import subprocess

from common import program

HERE = pathlib.Path(__file__).resolve().parent
# ns-2 rounds to 1 us, Headway to 1 ns and then to 1 us.
TOLERANCE_US = 2
SENDERS = {"tcp-tahoe": "Agent/TCP", "tcp-reno": "Agent/TCP/Reno", "tcp-newreno": "Agent/TCP/Newreno", "tcp-sack": "Agent/TCP/Sack1"}
# Congestion controls of Agent/TCP/Linux, which use timestamps.
LINUX = {"tcp-veno": "veno", "tcp-bic": "bic"}
AGENTS = {**SENDERS, "tcp-vegas": "Agent/TCP/Vegas", **dict.fromkeys(LINUX, "Agent/TCP/Linux")}


# The random cases. Each draw makes one case: links, the queue under test, flows.


def draw_links(draw, case):
    """Draws the links n0-n1, n1-n2, n2-n3, n4-n1. Rates are in kb/s with one decimal, so that both programs read the same number."""
    access = draw.choice(["10000", "10000", "100000", "4500", "3333.3"])
    case["rates"] = [access, draw.choice(["2000", "2000", "1500", "768", "3333.3", "1000", "250"]),
                     draw.choice(["10000", "10000", "5000", "1544", "100000"]), draw.choice([access, "8000"])]
    case["delays"] = [draw.choice(["2", "2", "1", "3.7", "17", "50"]), draw.choice(["10", "10", "1", "5.5", "33", "50"]),
                      draw.choice(["2", "2", "1", "7.3", "25"]), draw.choice(["2", "4.1", "11"])]
    case["limits"] = [draw.choice([10000, 10000, 50, 10]), draw.choice([2, 3, 4, 5, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50]),
                      draw.choice([50, 10000]), 10000]
    case["red"] = None


def draw_tcp(draw, senders, from_node, start):
    """Draws one TCP flow."""
    flow = {"kind": draw.choice(senders), "from": from_node, "start": start, "stop": "",
            "window": draw.choice([1, 2, 3, 4, 5, 8, 12, 15, 20, 25, 30, 40, 60, 100, 300, 1000]),
            "payload": draw.choice([1000, 1000, 1000, 500, 1460, 200]), "segments": 0, "options": {}}
    fate = draw.random()
    if fate < 0.25:
        flow["segments"] = draw.randint(1, 500)
    elif fate < 0.35:
        stop = draw.uniform(2, 6)
        # A stop before the start is no stop.
        flow["stop"] = f"{stop:.4f}" if stop > float(start) else ""
    if draw.random() < 0.3:
        flow["delay"] = draw.choice(["0.1", "0.1", "0.04", "0.2"])
    # Differences from ns-2's defaults, each at random.
    for chance, key, values in [(0.15, "maxburst", [1, 2, 4, 8]), (0.2, "timestamps", [1]), (0.15, "singledup", [0]),
                                (0.15, "windowInit", [1, 3, 4]), (0.15, "minrto", ["1", "0.5"]), (0.15, "tcpTick", ["0.1", "0.001"]),
                                (0.1, "windowOption", [0]), (0.1, "numdupacks", [2, 5])]:
        if draw.random() < chance:
            flow["options"][key] = draw.choice(values)
    if flow["kind"] == "tcp-newreno" and draw.random() < 0.3:
        flow["options"]["newreno_changes1"] = 0
    if flow["kind"] == "tcp-vegas":
        # After the end of a transfer ns-2's Vegas answers a duplicate with a segment that the source did not write.
        flow["segments"], flow["stop"] = 0, ""
    return flow


def draw_cbr(draw, case):
    """Draws one or two constant-rate flows, together about the rate of the bottleneck."""
    rate = float(case["rates"][1])
    flows = []
    for number, node in enumerate(draw.choice([[0], [0], [0, 4]])):
        factor = draw.choice([1.5, 1.25, 2, 1.618034, 1.0473, 0.8217])
        flows.append({"kind": "udp", "from": node, "start": f"{0.5 + 0.3017 * number:.4f}", "stop": f"{draw.uniform(4, 7):.4f}",
                      "rate": f"{rate * factor:.1f}", "payload": draw.choice([1000, 1000, 210, 1480, 64])})
    return flows


def draw_case(draw, senders):
    """Draws one run: its kind and all its parameters."""
    case = {"duration": draw.choice([8, 10, 15])}
    draw_links(draw, case)
    what = draw.random()
    if what < 0.15:
        case["what"] = "cbr"
        case["flows"] = draw_cbr(draw, case)
        if draw.random() < 0.4:
            case["what"] = "cbr-red"
            draw_red(draw, case)
    elif what < 0.3:
        case["what"] = "two-tcp"
        case["flows"] = [draw_tcp(draw, senders, 0, "0"), draw_tcp(draw, senders, 4, f"{draw.uniform(0, 3):.4f}")]
    else:
        case["what"] = "tcp"
        case["flows"] = [draw_tcp(draw, senders, 0, draw.choice(["0", "0", "0.1", "0.7301"]))]
        if what > 0.85:
            case["what"] = "tcp-red"
            draw_red(draw, case)
            if draw.random() < 0.7:
                case["what"] = "tcp-ecn"
                case["red"]["ecn"] = True
                for flow in case["flows"]:
                    flow["options"]["ecn"] = 1
    return case


def draw_red(draw, case):
    """Draws a RED queue without random decisions. Without ECN it drops all packets above one threshold. With ECN it marks with probability 1
    from there to twice the threshold (gentle), and drops above. The range between the two thresholds is too narrow to be hit."""
    case["limits"][1] = draw.choice([20, 50, 100])
    case["red"] = {"threshold": draw.choice([3, 5, 8, 12]), "weight": draw.choice(["0.002", "0.02", "0.1", "1"]), "ecn": False}


# The inputs of ns-2 and of Headway for a case.


def thresholds(red):
    """Returns the two thresholds, and whether the queue marks and is gentle in the syntax of Tcl and TOML. With `mark_p` there is a step above
    which every packet is selected."""
    ecn = str(red["ecn"]).lower()
    if "mark_p" in red:
        return red["threshold"], red["threshold"], ecn, "false"
    return red["threshold"], f"{red['threshold']}.000001" if red["ecn"] else red["threshold"], ecn, ecn


def settings(flow):
    """Returns the agent's settings other than sizes."""
    return " ".join(f"{key}_ {value}" for key, value in flow["options"].items())


def run_ns(case, folder, window=""):
    """Returns ns-2's trace and the phases of its TCP clocks in ticks. Writes the windows of the last TCP to the file `window`."""
    red = ""
    if case["red"]:
        least, most, ecn, gentle = thresholds(case["red"])
        mark_p = f"mark_p_ {case['red']['mark_p']}" if "mark_p" in case["red"] else "use_mark_p_ false"
        red = (f"thresh_ {least} maxthresh_ {most} q_weight_ {case['red']['weight']} queue_in_bytes_ false bytes_ false "
               f"mean_pktsize_ 500 linterm_ 1 gentle_ {gentle} {mark_p} setbit_ {ecn}")
    flows = []
    for flow in case["flows"]:
        if flow["kind"] == "udp":
            changes = " ".join(f"{at} {rate}kb" for at, rate in flow.get("changes", []))
            flows.append(f"agent Agent/UDP sink Agent/Null from {flow['from']} start {flow['start']} stop {flow['stop']} "
                         f"set {{packetSize_ 2000}} size {flow['payload']} rate {round(float(flow['rate']) * 1000)} changes {{{changes}}}")
            continue
        if flow["kind"] == "rap":
            flows.append(f"agent Agent/RAP sink Agent/RAP from {flow['from']} start {flow['start']} stop {{{flow['stop']}}} "
                         f"set {{packetSize_ {flow['payload']} {settings(flow)}}}")
            continue
        sack = "/Sack1" if flow["kind"] in ("tcp-sack", *LINUX) else ""
        sink = "Agent/TCPSink" + sack + ("/DelAck" if "delay" in flow else "")
        # ns-2's Vegas counts the SYN as the first segment.
        segments = flow["segments"] + (1 if flow["segments"] and flow["kind"] == "tcp-vegas" else 0)
        flows.append(f"agent {AGENTS[flow['kind']]} sink {sink} from {flow['from']} start {flow['start']} stop {{{flow['stop']}}} "
                     f"set {{window_ {flow['window']} packetSize_ {flow['payload']} {settings(flow)}}} segments {segments} "
                     f"delay {{{flow.get('delay', '')}}} ca {{{LINUX.get(flow['kind'], '')}}}")
    trace, phases = folder / "ns.tr", folder / "phases.txt"
    subprocess.run(["ns", HERE / "path.tcl", trace, phases, str(case["duration"]),
                    " ".join(f"{rate}kb" for rate in case["rates"]), " ".join(f"{delay}ms" for delay in case["delays"]),
                    " ".join(map(str, case["limits"])),
                    " ".join("{" + " ".join(map(str, case.get("lost", {}).get(link, []))) + "}" for link in range(4)), red, window, *flows],
                   check=True, stdout=subprocess.DEVNULL)
    return trace, [float(line) for line in phases.read_text().split()]


def transport(flow, phase):
    """Returns the `transport` table of a TCP flow."""
    options = flow["options"]
    # With timestamps ns-2 counts 10 B more for data, but not for the SYN and acknowledgements.
    header = 40
    segment = flow["payload"] + header + (10 if "timestamps" in options else 0)
    vegas = flow["kind"] == "tcp-vegas"
    if vegas:
        # Without headers, whatever their options.
        segment = flow["payload"]
    tick = float(options.get("tcpTick", "0.001" if flow["kind"] in LINUX else "0.01"))
    keys = {"kind": f'"{flow["kind"]}"', "window": f'"{flow["window"]}packets"', "segment": f'"{segment}B"',
            "header": f'"{header}B"', "tick": f'"{round(tick * 1e9)}ns"', "clock_phase": f'"{round(phase * tick * 1e9)}ns"'}
    if vegas:
        keys["syn_size"] = f'"{segment}B"'
    if "timestamps" in options:
        keys["timestamps"] = "true"
    if "maxburst" in options:
        keys["max_burst"] = f'"{options["maxburst"]}packets"'
    if "singledup" in options:
        keys["limited_transmit"] = "false"
    if "windowInit" in options:
        keys["initial_window"] = f'"{options["windowInit"]}packets"'
    if "minrto" in options:
        keys["min_rto"] = f'"{options["minrto"]}s"'
    if "windowOption" in options:
        keys["increase"] = '"whole"'
    if "precisionReduce" in options:
        keys["halved_window"] = '"whole"'
    if "numdupacks" in options:
        keys["dupack_threshold"] = options["numdupacks"]
    if "newreno_changes1" in options:
        keys["partial_ack_timer"] = '"slow-but-steady"'
    # ns-2's Vegas never announces ECN.
    if "ecn" in options and not vegas:
        keys["ecn"] = "true"
    if "delay" in flow:
        keys["delayed_ack"] = f'"{flow["delay"]}s"'
    return ", ".join(f"{key} = {value}" for key, value in keys.items())


def rap(flow):
    """Returns a flow of RAP, which always has data. `packetSize_` is the whole packet, `rap_base_hdr_size_` is the size of an acknowledgement."""
    names = {"alpha": "alpha", "beta": "beta", "useFineGrain": "fine_grain"}
    values = {"useFineGrain": lambda value: str(bool(value)).lower()}
    options = ", ".join(f"{names[key]} = {values.get(key, str)(value)}" for key, value in flow["options"].items())
    return (f'transport = {{ kind = "rap", datagram = "{flow["payload"]}B", header = "0B", feedback = "44B", controller = {{ {options} }} }}\n'
            'source = { kind = "ftp" }\n')


def changes(flow):
    """Returns the changes of a constant rate, as a key of its source."""
    each = ", ".join(f'{{ at = "{at}s", rate = "{rate}kbps" }}' for at, rate in flow.get("changes", []))
    return f", changes = [{each}]" if each else ""


def scenario(case, phases):
    """Returns the case as a scenario."""
    text = [f'name = "case"\nduration = "{case["duration"]}s"\ndialect = "ns2"\nrecord.series = false\n']
    text.append("".join(f'[[node]]\nname = "n{number}"\n' for number in range(5)))
    for number, (one, other) in enumerate([(0, 1), (1, 2), (2, 3), (4, 1)]):
        queue = f'{{ kind = "droptail", limit = "{case["limits"][number]}packets" }}'
        if number == 1 and case["red"]:
            least, most, ecn, gentle = thresholds(case["red"])
            queue = (f'{{ kind = "red", limit = "{case["limits"][1]}packets", min_threshold = "{least}packets", '
                     f'max_threshold = "{most}packets", queue_weight = {case["red"]["weight"]}, in_bytes = false, weigh_size = false, '
                     f'mean_packet = "500B", max_probability = 1, gentle = {gentle}, mark_limit = {case["red"].get("mark_p", "false")}, ecn = {ecn} }}')
        for ends, its_queue in [((one, other), queue), ((other, one), '{ kind = "droptail", limit = "10000packets" }')]:
            text.append(f'[[link]]\nbetween = ["n{ends[0]}", "n{ends[1]}"]\none_way = true\nrate = "{case["rates"][number]}kbps"\n'
                        f'delay = "{case["delays"][number]}ms"\nqueue = {its_queue}\n')
            if ends == (one, other) and number in case.get("lost", {}):
                text.append(f'loss = {{ kind = "list", packets = {case["lost"][number]} }}\n')
    phases = iter(phases)
    for number, flow in enumerate(case["flows"]):
        text.append(f'[[flow]]\nname = "f{number}"\nfrom = "n{flow["from"]}"\nto = "n3"\nstart = "{flow["start"]}s"\n')
        if flow["stop"]:
            text.append(f'stop = "{flow["stop"]}s"\n')
        if flow["kind"] == "udp":
            text.append('transport = { kind = "udp", datagram = "2000B" }\n'
                        f'source = {{ kind = "cbr", rate = "{flow["rate"]}kbps", size = "{flow["payload"]}B"{changes(flow)} }}\n')
        elif flow["kind"] == "rap":
            text.append(rap(flow))
        else:
            segments = f', segments = {flow["segments"]}' if flow["segments"] else ""
            text.append(f'transport = {{ {transport(flow, next(phases))} }}\nsource = {{ kind = "ftp"{segments} }}\n')
    return "".join(text)


def run_headway(headway, case, phases, folder):
    """Returns Headway's trace."""
    path = folder / "case.toml"
    path.write_text(scenario(case, phases))
    program.simulate(headway, path, folder / "record", "--trace", "ns2")
    return folder / "record" / "trace.tr"


# The comparison.


def read(trace, case):
    """Returns the events of each link and kind in their order: (us, description of the packet). Events at exactly the end are left out."""
    events = collections.defaultdict(list)
    until_us = case["duration"] * 1_000_000 - TOLERANCE_US
    ecn = case["red"] is not None and case["red"]["ecn"]
    for line in trace.open():
        event, at, one, other, kind, size, flags, fid, source, _, sequence, _ = line.split()
        at = round(float(at) * 1e6)
        if not ecn:
            # ns-2 records its window reductions in every packet; without ECN the flag has no effect.
            flags = flags.replace("A", "-")
        if at < until_us:
            node = source.split(".")[0]
            events[f"{event} n{one}->n{other}"].append((at, f"{kind} {sequence} of flow {fid} from n{node}, {size} B {flags}"))
    return events


def first_difference(theirs, ours):
    """Returns the earliest event that differs: (us, link, text), or None."""
    differences = []
    for key in theirs.keys() | ours.keys():
        one, other = theirs.get(key, []), ours.get(key, [])
        for place in range(max(len(one), len(other))):
            a = one[place] if place < len(one) else None
            b = other[place] if place < len(other) else None
            if a is None or b is None or a[1] != b[1] or abs(a[0] - b[0]) > TOLERANCE_US:
                at = min(event[0] for event in (a, b) if event)
                differences.append((at, key[2:], f"{key[0]} number {place + 1}: ns-2 {a}, headway {b}"))
                break
    return min(differences, default=None)


def describe(case):
    """Returns a case on one line."""
    def of(flow):
        if flow["kind"] == "udp":
            return f"{flow['rate']}kb/s of {flow['payload']}B from n{flow['from']}"
        options = "".join(f" {key}_ {value}" for key, value in flow["options"].items())
        if flow["kind"] == "rap":
            return f"rap payload {flow['payload']} start {flow['start']}{options}"
        more = "".join(f" {key} {flow[key]}" for key in ("segments", "delay", "stop") if flow.get(key))
        return f"{flow['kind'][4:]} window {flow['window']} payload {flow['payload']} start {flow['start']}{more}{options}"

    red = f" red {case['red']}" if case["red"] else ""
    return (f"{case['what']}: {'/'.join(case['rates'])} kb/s, {'/'.join(case['delays'])} ms, limits {'/'.join(map(str, case['limits']))}"
            f"{red}, {case['duration']} s; " + " + ".join(map(of, case["flows"])))


def check(headway, number, case, folder):
    """Runs a case twice and compares."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, phases = run_ns(case, folder)
    theirs = read(trace, case)
    ours = read(run_headway(headway, case, phases, folder), case)
    difference = first_difference(theirs, ours)
    return {"name": f"{number:03} {case['what']}", "pass": difference is None, "parameters": describe(case),
            "events": sum(map(len, theirs.values())), "drops": sum(len(of) for key, of in theirs.items() if key.startswith("d")),
            "first_difference": None if difference is None else f"{difference[0] / 1e6:.6f} s, {difference[1]}, {difference[2]}"}


def compare(headway, runs, seed, folder, keep, show):
    """Draws and compares this many runs, and half as many of Vegas. The files in `folder` are removed unless they are kept."""
    draw, vegas = random.Random(seed), random.Random(f"vegas {seed}")
    drawn = [draw_case(draw, list(SENDERS)) for _ in range(runs)]
    drawn += [draw_case(vegas, ["tcp-vegas"]) for _ in range(runs // 2)]
    return compare_all(headway, drawn, folder, keep, show)


def compare_all(headway, drawn, folder, keep, show):
    """Compares given cases."""
    cases = []
    for number, drawn_case in enumerate(drawn):
        place = folder / f"{number:03}"
        case = check(headway, number, drawn_case, place)
        cases.append(case)
        if not keep:
            shutil.rmtree(place)
        if show:
            verdict = "equal" if case["pass"] else "DIFFERS"
            print(f"{case['name']:12} {verdict:8} {case['events']:7} events {case['drops']:5} drops  {case['parameters']}", flush=True)
            if not case["pass"]:
                print(f"{'':13}{case['first_difference']}", flush=True)
    if show:
        print(f"{sum(case['pass'] for case in cases)} of {len(cases)} runs equal; {sum(case['events'] for case in cases)} events, "
              f"{sum(case['drops'] for case in cases)} drops in ns-2")
    return cases
