"""Draws the ratios of ratio.csv over the round trip: a line for each number of CUBIC flows, and the formula of RFC 9332 with its 25 %."""

import study

# Colors of Okabe and Ito.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 380, 60, 150, 40, 50
MAX_RATIO = 3


def text(at_x, at_y, words, anchor="middle", more=""):
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'


def svg(rows):
    """Returns the picture as SVG."""
    rtts = list(study.SPANS)

    def x(rtt):
        return LEFT + (rtts.index(rtt) + 0.5) / len(rtts) * (WIDTH - LEFT - RIGHT)

    def y(ratio):
        return TOP + (1 - min(ratio, MAX_RATIO) / MAX_RATIO) * (HEIGHT - TOP - BOTTOM)

    def points(values):
        return " ".join(f"{x(rtt):.1f},{y(value):.1f}" for rtt, value in values)

    formula = [(rtt, study.formula(rtt)) for rtt in rtts]
    low, high = ([(rtt, value * (1 + sign * study.TOLERANCE)) for rtt, value in formula] for sign in (-1, 1))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text((LEFT + WIDTH - RIGHT) / 2, 22, "Rate of Prague relative to CUBIC behind DualPI2", more='font-size="15"'),
             text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "base round trip, ms"),
             text(16, HEIGHT / 2, "r_L / r_C", more=f'transform="rotate(-90 16 {HEIGHT / 2})"'),
             f'<polygon points="{points(low)} {points(reversed(high))}" fill="#ddd"/>']
    for tick in range(7):
        ratio = tick * 0.5
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" stroke="{"#555" if ratio == 1 else "#eee"}"/>')
        parts.append(text(LEFT - 8, y(ratio) + 4, f"{ratio:g}", "end"))
    parts += [text(x(rtt), HEIGHT - BOTTOM + 18, str(rtt)) for rtt in rtts]
    lines = [("RFC 9332, 25 %", "#555", [(rtt, value, None) for rtt, value in formula])]
    for count, color in zip([count for count in study.COUNTS if count], COLORS):
        found = [(row["rtt_ms"], row["ratio"], row.get("ratio_ci95")) for row in rows if row["cubic_flows"] == count and "ratio" in row]
        lines.append((f"{count} CUBIC", color, found))
    for place, (label, color, found) in enumerate(lines):
        parts.append(f'<polyline points="{points([one[:2] for one in found])}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<line x1="{x(rtt):.1f}" x2="{x(rtt):.1f}" y1="{y(ratio - ci):.1f}" y2="{y(ratio + ci):.1f}" stroke="{color}" stroke-width="2"/>'
                  for rtt, ratio, ci in found if ci]
        label_y = TOP + 20 + 22 * place
        parts.append(f'<line x1="{WIDTH - RIGHT + 12}" x2="{WIDTH - RIGHT + 32}" y1="{label_y - 4}" y2="{label_y - 4}" stroke="{color}" stroke-width="2"/>')
        parts.append(text(WIDTH - RIGHT + 38, label_y, label, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"
