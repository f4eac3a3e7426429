"""The tables of docs/src/l4s.md, and which cells miss a target."""

import study

FACTORS = {
    "marks": ("more marks in a round trip", "fewer marks in a round trip"),
    "round_trip": ("longer round trip of CUBIC", "shorter round trip of CUBIC"),
    "equation": ("CUBIC below 1.22/(R sqrt(p_C))", "CUBIC above 1.22/(R sqrt(p_C))"),
    "coupling": ("p_C varies", "marks of the ramp"),
    "l4s_round_trip": ("shorter round trip of Prague", "longer round trip of Prague"),
}
# Factor from which a cause is named.
NAMED = 1.1
# Largest error of a percentile of delay, relative to the delay.
HISTOGRAM = 1 / 128
LAMBDA_AT_RANDOM = 2.73


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def interval(row, name, digits=2):
    """Returns a mean and half of its 95 % interval, if it has one that is visible."""
    half = row.get(f"{name}_ci95")
    shown = f"{half:.{digits}f}" if half else ""
    return number(row.get(name), digits) + (f" ± {shown}" if shown and float(shown) else "")


def markdown(titles, rows):
    return ["| " + " | ".join(map(str, line)) + " |" for line in [titles, ["---"] * len(titles), *rows]]


def mbps_of(part, row):
    return {"ratio": study.RATIO_MBPS, "bursts": study.BURSTS_MBPS}.get(part) or row["mbps"]


def judged(part, row):
    """Returns the targets of a row: (target, measured figure, limit, whether it is met)."""
    found = []
    if part == "calls":
        return found
    if part == "ratio" and row.get("ratio") and row["p_c_pct"] < 100 * study.SATURATED:
        formula = study.formula(row["rtt_ms"])
        found.append(("ratio", row["ratio"], formula, abs(row["ratio"] / formula - 1) <= study.TOLERANCE))
    with_bursts = part == "bursts" and row["prague_bursts"] != "none"
    if study.is_dualpi2(row) and not with_bursts and "wait_p99_ms" in row:
        mbps = mbps_of(part, row)
        limit = study.wait_target_ms(mbps)
        error = HISTOGRAM * (row["wait_p99_ms"] + 8 * study.PACKET_B / (1e3 * mbps))
        found.append(("wait", row["wait_p99_ms"], limit, row["wait_p99_ms"] - error <= limit))
    return found


def reason_of_ratio(row):
    if row["l4s_window"] < study.AT_LEAST_WINDOW:
        return "window of Prague at its minimum"
    too_high = row["ratio"] > study.formula(row["rtt_ms"])
    causes = []
    for name, (raises, lowers) in FACTORS.items():
        value = row.get(name)
        if value and (value if too_high else 1 / value) >= NAMED:
            causes.append((value if too_high else 1 / value, raises if too_high else lowers))
    return ", ".join(cause for _, cause in sorted(causes, reverse=True)) or "not explained"


def reason_of_wait(part, row):
    """Returns why packets wait in queue L, which the page explains."""
    packet = 8 * study.PACKET_B / (1e3 * mbps_of(part, row))
    if study.WAIT_MS < packet and row["wait_p99_ms"] <= 2 * packet:
        return "one or two packets wait"
    return {"prague": "faster growth", "scream2": "late reaction"}.get(row.get("flow"), "not explained")


def cell_name(part, row):
    if part == "ratio":
        return f"{row['rtt_ms']:g} ms, {row['cubic_flows']:g} CUBIC"
    if part == "queues":
        return f"{row['mbps']:g} Mb/s, {row['rtt_ms']:g} ms, `{row['flow']}`" + (f" next to {row['next_to']}" if row["next_to"] else " alone")
    return f"{row['rtt_ms']:g} ms, bursts {row['prague_bursts']}, CUBIC {row['cubic']}"


def failures(rows):
    """Returns the cells that miss a target, by part, worst first."""
    ratios, waits, fallbacks = [], [], []
    for part in ("ratio", "queues", "bursts"):
        for row in rows[part]:
            if row.get("fallbacks"):
                fallbacks.append([part, cell_name(part, row), f"{row['fallbacks']:g} of {row['fallbacks'] + row['runs']:g}"])
            for target, measured, limit, met in judged(part, row):
                if not met and target == "ratio":
                    quotient = measured / limit
                    ratios.append((max(quotient, 1 / quotient), [f"{row['rtt_ms']:g} ms", f"{row['cubic_flows']:g}", interval(row, "ratio"), number(limit), number(quotient)]
                                   + [number(row.get(name)) for name in FACTORS] + [reason_of_ratio(row)]))
                elif not met:
                    waits.append((measured / limit, [part, cell_name(part, row), interval(row, "wait_p99_ms"), number(limit), reason_of_wait(part, row)]))
    return [[line for _, line in sorted(found, key=lambda one: -one[0])] for found in (ratios, waits)] + [fallbacks]


def counts(rows, target):
    verdicts = [met for part in rows for row in rows[part] for name, _, _, met in judged(part, row) if name == target]
    return verdicts.count(False), len(verdicts)


def failed(rows):
    """Returns the tables of cells that miss a target."""
    ratios, waits, fallbacks = failures(rows)
    wrong, all_ratios = counts(rows, "ratio")
    late, all_waits = counts(rows, "wait")
    near = [row["ratio"] / (LAMBDA_AT_RANDOM / 2 / 0.85 * study.formula(row["rtt_ms"])) for row in rows["ratio"] if row.get("ratio")]
    within = sum(abs(one - 1) <= study.TOLERANCE for one in near)
    lines = [f"**{wrong} of {all_ratios} ratios are not within 25 % of the formula of RFC 9332**, worst first. The",
             "quotient is the measured ratio divided by that of the formula. It is the product of the five factors",
             "to its right, except for rounding and the means over the seeds.", ""]
    lines += markdown(["R", "CUBIC flows", "r_L/r_C", "formula", "quotient", "marks", "round trip", "equation", "coupling", "Prague's R", "reason"], ratios)
    lines += ["", f"With λ = {LAMBDA_AT_RANDOM} and R + 15 ms ([Prague](tcp/prague.md#next-to-reno-and-cubic)) in place of 2",
              f"and 0.85 (R + 15 ms), {within} of {len(near)} ratios are within 25 %.", "",
              f"**{late} of {all_waits} waits in queue L are too long** (99th percentile in ms, cells without bursts of",
              "Prague), worst first:", ""]
    lines += markdown(["part", "cell", "wait", "target", "reason"], waits)
    lines += ["", "**TCP Prague stopped using ECN in these cells.** Such runs are in no mean of the other tables.", ""]
    lines += markdown(["part", "cell", "runs"], fallbacks) if fallbacks else ["None."]
    return lines


def mark(part, row):
    return "" if all(met for *_, met in judged(part, row)) else " **✗**"


def ratio(rows):
    by_cell = {(row["rtt_ms"], row["cubic_flows"]): row for row in rows}
    lines = []
    for rtt in study.SPANS:
        line = [f"{rtt} ms", number(study.formula(rtt))]
        for count in study.COUNTS:
            row = by_cell[rtt, count]
            missed = any(target == "ratio" and not met for target, *_, met in judged("ratio", row))
            line.append(f"{row['l4s_mbps']:.0f} Mb/s" if not count else interval(row, "ratio") + (" **✗**" if missed else ""))
        lines.append(line)
    return markdown(["R", "formula", *(f"{count} CUBIC" for count in study.COUNTS)], lines)


def waits(rows):
    by_cell = {(row["rtt_ms"], row["cubic_flows"]): row for row in rows}
    return markdown(["R", *(f"{count} CUBIC" for count in study.COUNTS)],
                    [[f"{rtt} ms", *(number(by_cell[rtt, count].get("wait_p99_ms")) for count in study.COUNTS)] for rtt in study.SPANS])


def queues(rows):
    by_cell = {tuple(row[key] for key in study.KEYS["queues"]): row for row in rows}
    links = list(dict.fromkeys((row["mbps"], row["rtt_ms"]) for row in rows))
    lines = []
    for queue, flow, next_to in dict.fromkeys((row["queue"], row["flow"], row["next_to"]) for row in rows):
        line = [queue, f"`{flow}`", next_to or "–"]
        for link in links:
            row = by_cell[queue, *link, flow, next_to]
            if not row["runs"]:
                line.append("–")
                continue
            line.append(f"{row['l4s_mbps']:.1f}" + (f" / {row['classic_mbps']:.1f}" if next_to else "") + f", {row['wait_p99_ms']:.1f} ms{mark('queues', row)}")
        lines.append(line)
    return markdown(["queue", "sender", "next to", *(f"{mbps:g} Mb/s, {rtt:g} ms" for mbps, rtt in links)], lines)


def bursts(rows):
    by_cell = {tuple(row[key] for key in study.KEYS["bursts"]): row for row in rows}
    rtts = list(dict.fromkeys(row["rtt_ms"] for row in rows))
    lines = []
    for burst, cubic in dict.fromkeys((row["prague_bursts"], row["cubic"]) for row in rows):
        line = [burst, cubic]
        for rtt in rtts:
            row = by_cell[burst, cubic, rtt]
            wait = f"{row['wait_p99_ms']:.2f} ms" if "wait_p99_ms" in row else "–"
            line.append(f"{interval(row, 'ratio')}, {wait}, {row['marked_pct']:.1f} %{mark('bursts', row)}")
        lines.append(line)
    return markdown(["bursts of Prague", "CUBIC", *(f"R = {rtt:g} ms" for rtt in rtts)], lines)


def calls(rows):
    by_cell = {tuple(row[key] for key in study.KEYS["calls"]): row for row in rows}
    lines = []
    for queue in dict.fromkeys(row["queue"] for row in rows):
        for call in dict.fromkeys(row["call"] for row in rows if row["call"]):
            alone = by_cell[queue, call, ""]
            line = [queue, f"`{call}`", f"{alone['call_mbps']:.2f} Mb/s, {alone['frames_pct']:.0f} %"]
            for download in study.DOWNLOADS:
                row = by_cell[queue, call, download]
                line.append(" / ".join(f"{row[name]:.0f}" if abs(row[name]) >= 0.5 else "0" for name in ("harm_to_call_rate_pct", "harm_to_call_frames_pct", "harm_to_download_pct")))
            lines.append(line)
        lines.append([queue, "none", "", *(f"{by_cell[queue, '', download]['download_mbps']:.2f} Mb/s" for download in study.DOWNLOADS)])
    return markdown(["queue", "call", "call alone", *study.DOWNLOADS], lines)


TABLES = {"ratio": ratio, "queues": queues, "bursts": bursts, "calls": calls}


def table(part, rows):
    """Returns the table of a part as lines of Markdown."""
    return TABLES[part](rows)


def write(path, rows):
    """Replaces the tables between the markers of the page. Parts without rows keep their tables."""
    text = path.read_text()
    tables = {part: TABLES[part](rows[part]) for part in TABLES if rows[part]}
    if rows["ratio"]:
        tables["waits"] = waits(rows["ratio"])
    if all(rows.values()):
        tables["failures"] = failed(rows)
    for name, lines in tables.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, rest = text.split(begin, 1)
        text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1]
    path.write_text(text)
