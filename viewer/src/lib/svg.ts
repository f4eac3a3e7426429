/** Charts as SVG with title, units and legend. */
import { quantity } from "./format.ts";
import type { Unit } from "./metrics.ts";
import { thinned } from "./series.ts";

export interface Drawn {
  title: string;
  unit: Unit;
  range: [number, number];
  curves: {
    label: string;
    color: string;
    dash: number[];
    thin: boolean;
    steps: boolean;
    mark?: number;
    times: Float64Array;
    values: Float64Array;
  }[];
}

/** Whether a mark of this diameter is a ring. */
export const isRing = (mark: number) => mark >= 6;

const [WIDTH, HEIGHT] = [960, 420];
const [LEFT, RIGHT, TOP, BOTTOM] = [90, 20, 40, 50];
const LEGEND_ROW = 20;
const LEGEND_COLUMN = 290;

/** Escapes text for XML. Names in records may contain characters that XML does not allow. */
const escaped = (text: string) =>
  text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);

/** Returns at most `most` round values that divide a range evenly. */
export function ticks(from: number, to: number, most: number): number[] {
  const rough = (to - from) / most;
  if (!(rough > 0) || !Number.isFinite(rough)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9))!;
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => (first + i) * step);
}

/** Returns the samples in a time range. */
function within(times: Float64Array, values: Float64Array, from: number, to: number): [time: number, value: number][] {
  const all = [...times].map((time, i): [number, number] => [time, values[i]]);
  return all.filter(([time]) => time >= from && time <= to);
}

export function chartSvg({ title, unit, range: [from, to], curves }: Drawn): string {
  const perRow = Math.floor((WIDTH - LEFT) / LEGEND_COLUMN);
  const height = HEIGHT + LEGEND_ROW * Math.ceil(curves.length / perRow);
  const lines = curves.map(({ times, values, mark }) =>
    mark ? within(times, values, from, to) : thinned(times, values, from, to, WIDTH - LEFT - RIGHT),
  );
  const all = lines.flatMap((line) => line.map(([, value]) => value));
  const lowest = curves.every(({ mark }) => mark) && all.length > 0 ? all[0] : 0;
  const low = all.reduce((least, value) => Math.min(least, value), lowest);
  const high = all.reduce((most, value) => Math.max(most, value), low);
  const top = high > low ? high + (high - low) * 0.05 : low + 1;
  const x = (time: number) => LEFT + ((time - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - ((value - low) / (top - low)) * (HEIGHT - TOP - BOTTOM);
  const at = (value: number) => value.toFixed(2);
  const text = (words: string, left: number, base: number, more = "") =>
    `<text x="${at(left)}" y="${at(base)}"${more}>${escaped(words)}</text>`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13" fill="#222">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text(title, LEFT, 24, ' font-size="17"'),
  ];
  for (const tick of ticks(from, to, 10)) {
    parts.push(`<path d="M${at(x(tick))} ${TOP}V${HEIGHT - BOTTOM}" stroke="#ddd"/>`);
    parts.push(text(String(Number(tick.toFixed(6))), x(tick), HEIGHT - BOTTOM + 18, ' text-anchor="middle"'));
  }
  for (const tick of ticks(low, top, 6)) {
    parts.push(`<path d="M${LEFT} ${at(y(tick))}H${WIDTH - RIGHT}" stroke="#ddd"/>`);
    parts.push(text(quantity(tick, unit), LEFT - 6, y(tick) + 4, ' text-anchor="end"'));
  }
  parts.push(text("Time (s)", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 38, ' text-anchor="middle"'));
  const stroke = (i: number) =>
    `fill="none" stroke="${curves[i].color}" stroke-width="${curves[i].thin ? 1 : 1.75}" stroke-linejoin="round"${curves[i].dash.length > 0 ? ` stroke-dasharray="${curves[i].dash.join(" ")}"` : ""}`;
  const circle = (i: number, left: number, base: number) => {
    const { color, mark = 0 } = curves[i];
    const look = isRing(mark) ? `fill="none" stroke="${color}"` : `fill="${color}"`;
    return `<circle cx="${at(left)}" cy="${at(base)}" r="${mark / 2}" ${look}/>`;
  };
  lines.forEach((line, i) => {
    if (line.length === 0) return;
    if (curves[i].mark) {
      parts.push(...line.map(([time, value]) => circle(i, x(time), y(value))));
      return;
    }
    const [first, ...others] = line.map(([time, value]) => [at(x(time)), at(y(value))]);
    const path = others.map(([x, y]) => (curves[i].steps ? `H${x}V${y}` : `L${x} ${y}`)).join("");
    parts.push(`<path d="M${first.join(" ")}${path}" ${stroke(i)}/>`);
  });
  curves.forEach(({ label }, i) => {
    const [left, base] = [LEFT + LEGEND_COLUMN * (i % perRow), HEIGHT + LEGEND_ROW * Math.floor(i / perRow)];
    parts.push(curves[i].mark ? circle(i, left + 14, base) : `<path d="M${left} ${base}h28" ${stroke(i)}/>`);
    parts.push(text(label, left + 36, base + 4));
  });
  return `${parts.join("\n")}\n</svg>\n`;
}
