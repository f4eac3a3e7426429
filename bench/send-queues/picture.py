"""Draws the shares on time of send-queues.csv: audio, and audio and video, a line for each queue, and the bound above them."""

# Colors of Okabe and Ito; the bound is black.
COLORS = {"bound": "#000000", "sure-first": "#009E73", "ring-sfdps2": "#0072B2", "sfdps2": "#56B4E9", "prio": "#E69F00", "fifo": "#D55E00"}
WIDTH, HEIGHT, TOP, BOTTOM = 860, 360, 64, 50
PANEL, LEFT, GAP = 300, 60, 50
PANELS = [("audio", "replayed_audio_pct"), ("audio and video", "replayed_both_pct")]
RTT, LENGTH = 80, 32
FROM, TO = 200, 1500


def x(panel, rate):
    return LEFT + panel * (PANEL + GAP) + (rate - FROM) / (TO - FROM) * PANEL


def y(percent):
    return TOP + (1 - min(max(percent, 0), 100) / 100) * (HEIGHT - TOP - BOTTOM)


def text(at_x, at_y, words, anchor="middle", more=""):
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'


def svg(cases):
    """Returns the picture as SVG."""
    cases = [case for case in cases if (case["rtt_ms"], case["length"]) == (RTT, LENGTH)]
    rates = sorted({case["rate_kbps"] for case in cases})
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT + PANEL + GAP / 2, 22, f"Packets on time by send queue, over the same opportunities; {RTT} ms, {LENGTH} packets", more='font-size="15"'),
             text(LEFT + PANEL + GAP / 2, HEIGHT - 12, "bottleneck in kb/s, shared with two Reno flows"),
             text(16, HEIGHT / 2, "on time, %", more=f'transform="rotate(-90 16 {HEIGHT / 2:.1f})"')]
    for panel, (title, key) in enumerate(PANELS):
        parts.append(text((x(panel, FROM) + x(panel, TO)) / 2, 48, title))
        for tick in range(0, 101, 20):
            parts.append(f'<line x1="{x(panel, FROM):.1f}" x2="{x(panel, TO):.1f}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>')
            parts.append(text(x(panel, FROM) - 8, y(tick) + 4, str(tick), "end"))
        parts += [text(x(panel, rate), HEIGHT - BOTTOM + 18, str(rate)) for rate in rates]
        for queue, color in reversed(COLORS.items()):
            points = [(x(panel, case["rate_kbps"]), case[key], case[f"{key}_ci95"]) for case in cases if case["queue"] == queue]
            path = " ".join(f"{at:.1f},{y(percent):.1f}" for at, percent, _ in points)
            style = f'stroke="{color}" stroke-width="2"' + (' stroke-dasharray="6 4"' if queue == "bound" else "")
            parts.append(f'<polyline points="{path}" fill="none" {style}/>')
            parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(percent - ci):.1f}" y2="{y(percent + ci):.1f}" stroke="{color}" stroke-width="2"/>'
                      for at, percent, ci in points if ci]
    for number, (queue, color) in enumerate(COLORS.items()):
        label_x, label_y = x(1, TO) + 14, TOP + 20 + 22 * number
        dashes = ' stroke-dasharray="6 4"' if queue == "bound" else ""
        parts.append(f'<line x1="{label_x}" x2="{label_x + 24}" y1="{label_y - 4}" y2="{label_y - 4}" stroke="{color}" stroke-width="2"{dashes}/>')
        parts.append(text(label_x + 30, label_y, queue, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"
