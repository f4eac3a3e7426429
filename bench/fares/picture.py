"""Draws the shares on time of fares.csv: a field for each call and queue, a panel for each link."""

# Colors of Okabe and Ito: nothing on time, half, all.
NONE, HALF, ALL = (0xD5, 0x5E, 0x00), (0xFF, 0xFF, 0xFF), (0x56, 0xB4, 0xE9)
CELL_W, CELL_H, LEFT, TOP, GAP = 74, 20, 150, 56, 14


def color(percent):
    low, high, part = (NONE, HALF, percent / 50) if percent < 50 else (HALF, ALL, percent / 50 - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high))


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'


def field(x, y, row):
    audio, pictures = row["audio_pct"], row["pictures_pct"]
    title = f'{row["call"]}, {row["queue"]}: {audio:.1f} % of audio and {pictures:.1f} % of pictures on time'
    box = f'<rect x="{x}" y="{y}" width="{CELL_W - 2}" height="{CELL_H - 2}" fill="{color(pictures)}" stroke="#999" stroke-width="0.5"/>'
    return f"<g><title>{title}</title>{box}{text(x + CELL_W / 2 - 1, y + CELL_H / 2 + 3, f'{audio:.0f} / {pictures:.0f}')}</g>"


def panel(rows, queues, calls, top, title):
    parts = [text(LEFT, top - 30, title, "start", 'font-size="14" font-weight="bold"')]
    parts += [text(LEFT + (column + 0.5) * CELL_W, top - 8, queue, more='font-size="10"') for column, queue in enumerate(queues)]
    for line, call in enumerate(calls):
        y = top + line * CELL_H
        parts.append(text(LEFT - 8, y + CELL_H / 2 + 4, call, "end"))
        for column, queue in enumerate(queues):
            row = next(row for row in rows if row["queue"] == queue and row["call"] == call)
            x = LEFT + column * CELL_W
            parts.append(field(x, y, row))
    return parts


def svg(rows, links, queues, calls):
    """Returns the picture as SVG."""
    height_of_one = TOP + len(calls) * CELL_H + GAP
    width, height = LEFT + len(queues) * CELL_W + 12, len(links) * height_of_one + 24
    titles = {"fixed": "constant 6 Mb/s", "outage": "6, 1.5, 0, 3 and 6 Mb/s", "LTE": "model of an LTE cell"}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>', text(LEFT, 18, "Audio / pictures on time, %", "start", 'font-size="15"')]
    for place, link in enumerate(links):
        parts += panel([row for row in rows if row["link"] == link], queues, calls, 24 + place * height_of_one + TOP, titles[link])
    return "\n".join([*parts, "</svg>", ""])
