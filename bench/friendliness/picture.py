"""Draws the ratios of TFRC in friendliness.csv: a line for each kind of TCP and queue, with intervals."""

# Colors of Okabe and Ito.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 60, 190, 40, 50
MAX_RATIO = 2.5


def x(count):
    return LEFT + (count - 1) / 15 * (WIDTH - LEFT - RIGHT)


def y(ratio):
    return TOP + (1 - ratio / MAX_RATIO) * (HEIGHT - TOP - BOTTOM)


def text(at_x, at_y, words, anchor="middle", more=""):
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'


def svg(cases):
    """Returns the picture as SVG."""
    cases = [case for case in cases if case["control"] == "tfrc"]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text((LEFT + WIDTH - RIGHT) / 2, 22, "Throughput of TFRC relative to TCP", more='font-size="15"'),
             text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "flows of each kind"),
             text(16, HEIGHT / 2, "TFRC's throughput / TCP's", more=f'transform="rotate(-90 16 {HEIGHT / 2})"')]
    for tick in range(6):
        ratio = tick * 0.5
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" stroke="{"#555" if ratio == 1 else "#ddd"}"/>')
        parts.append(text(LEFT - 8, y(ratio) + 4, f"{ratio:g}", "end"))
    for count in sorted({case["flows_of_each"] for case in cases}):
        parts.append(text(x(count), HEIGHT - BOTTOM + 18, str(count)))
    lines = list(dict.fromkeys((case["rival"], case["queue"]) for case in cases))
    for number, ((rival, queue), color) in enumerate(zip(lines, COLORS)):
        points = [(x(case["flows_of_each"]), case["ratio"], case["ratio_ci95"]) for case in cases
                  if (case["rival"], case["queue"]) == (rival, queue)]
        path = " ".join(f"{at:.1f},{y(ratio):.1f}" for at, ratio, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(ratio - ci):.1f}" y2="{y(ratio + ci):.1f}" stroke="{color}" stroke-width="2"/>'
                  for at, ratio, ci in points if ci]
        label_y = TOP + 20 + 22 * number
        parts.append(f'<line x1="{WIDTH - RIGHT + 14}" x2="{WIDTH - RIGHT + 38}" y1="{label_y - 4}" y2="{label_y - 4}" stroke="{color}" stroke-width="2"/>')
        parts.append(text(WIDTH - RIGHT + 44, label_y, f"{rival}, {queue}", "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"
