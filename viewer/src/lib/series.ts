/** Reads `series.arrow`: splits its rows into one line for each entity and metric. */
import { numbers, readTable, words } from "./arrow.ts";
import { firstAbove } from "./search.ts";

export interface Line {
  entity: string;
  metric: string;
  /** Times in seconds, ascending. */
  times: Float64Array;
  values: Float64Array;
}

export function readSeries(bytes: Uint8Array): Line[] {
  const table = readTable(bytes);
  const time = numbers(table, "time_ns");
  const value = numbers(table, "value");
  const entity = words(table, "entity");
  const metric = words(table, "metric");
  const pair = (row: number) => entity.codes[row] * metric.names.length + metric.codes[row];

  const counts = new Map<number, number>();
  for (let row = 0; row < time.length; row++) counts.set(pair(row), (counts.get(pair(row)) ?? 0) + 1);
  const lines = new Map<number, Line & { filled: number }>();
  for (const [key, count] of counts) {
    lines.set(key, {
      entity: entity.names[Math.floor(key / metric.names.length)],
      metric: metric.names[key % metric.names.length],
      times: new Float64Array(count),
      values: new Float64Array(count),
      filled: 0,
    });
  }
  for (let row = 0; row < time.length; row++) {
    const line = lines.get(pair(row))!;
    line.times[line.filled] = time[row] / 1e9;
    line.values[line.filled++] = value[row];
  }
  return [...lines.values()];
}

/** Returns the latest sample at `time`, or NaN before the first sample. */
export function valueAt(line: Pick<Line, "times" | "values">, time: number): number {
  const count = firstAbove(line.times, time);
  return count === 0 ? NaN : line.values[count - 1];
}

/**
 * Aligns lines to one list of times, as uPlot requires. Records may have different sample times: a line without a
 * sample at a time has `undefined`, which uPlot bridges.
 */
export function align(lines: Pick<Line, "times" | "values">[]): [number[], ...(number | null | undefined)[][]] {
  const all = new Float64Array(lines.reduce((sum, line) => sum + line.times.length, 0));
  let filled = 0;
  for (const line of lines) {
    all.set(line.times, filled);
    filled += line.times.length;
  }
  // Typed arrays sort fast: a run may have a million samples.
  const times = Array.from(all.sort()).filter((time, i) => i === 0 || time !== all[i - 1]);
  const columns = lines.map((line) => {
    const column: (number | null | undefined)[] = new Array(times.length).fill(undefined);
    let at = 0;
    for (let i = 0; i < line.times.length; i++) {
      while (times[at] < line.times[i]) at++;
      // Values that are not finite are gaps.
      column[at] = Number.isFinite(line.values[i]) ? line.values[i] : null;
    }
    return column;
  });
  return [times, ...columns];
}

/**
 * Returns the finite samples in a time range, and at most the first, the least, the greatest and the last one of each of
 * `columns` equal parts, so that the size of a picture does not depend on the length of the run.
 */
export function thinned(
  times: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
  columns: number,
): [time: number, value: number][] {
  const parts: number[][] = [];
  let last = -1;
  for (let i = 0; i < times.length; i++) {
    if (times[i] < from || times[i] > to || !Number.isFinite(values[i])) continue;
    const part = Math.floor(((times[i] - from) / (to - from || 1)) * columns);
    if (part !== last) parts.push([]);
    last = part;
    parts[parts.length - 1].push(i);
  }
  return parts.flatMap((part) => {
    const least = part.reduce((best, i) => (values[i] < values[best] ? i : best));
    const most = part.reduce((best, i) => (values[i] > values[best] ? i : best));
    const kept = new Set([part[0], least, most, part[part.length - 1]]);
    return [...kept].sort((a, b) => a - b).map((i): [number, number] => [times[i], values[i]]);
  });
}
