/** Sum, median and worst of the flows of a group: of numbers of the summary, and of lines over time. */
import type { Line } from "./series.ts";

/** The worst value is the lowest one, as of throughput, or the highest one, as of delay. */
export type Worst = "lowest" | "highest";

export type Statistic = "sum" | "median" | "worst";

export interface Aggregates {
  sum: number;
  median: number;
  worst: number;
}

/** Returns the aggregates of the finite values. They are NaN if there are none. */
export function aggregate(values: Iterable<number>, worst: Worst): Aggregates {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  const count = sorted.length;
  if (count === 0) return { sum: NaN, median: NaN, worst: NaN };
  const middle = count >> 1;
  return {
    sum: sorted.reduce((sum, value) => sum + value, 0),
    median: count % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2,
    worst: sorted[worst === "lowest" ? 0 : count - 1],
  };
}

type Samples = Pick<Line, "times" | "values">;

/**
 * Returns the aggregates at each time of a sample, of the lines that have a sample at exactly this time: a run
 * samples all flows at the same times, and a flow that has not started has no sample.
 */
export function aggregateLines(lines: Samples[], worst: Worst): Record<Statistic, Samples> {
  const samples = new Map<number, number[]>();
  for (const line of lines)
    line.times.forEach((time, i) => {
      const found = samples.get(time);
      if (found) found.push(line.values[i]);
      else samples.set(time, [line.values[i]]);
    });
  const times = Float64Array.from(samples.keys()).sort();
  const all = Array.from(times, (time) => aggregate(samples.get(time)!, worst));
  const column = (name: Statistic): Samples => ({ times, values: Float64Array.from(all, (one) => one[name]) });
  return { sum: column("sum"), median: column("median"), worst: column("worst") };
}
