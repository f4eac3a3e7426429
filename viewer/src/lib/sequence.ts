/** Packets of a flow over time by number: when they are sent, dropped, received and acknowledged. */
import type { Batch, Packets } from "./packets.ts";
import type { Line } from "./series.ts";
import type { FlowSummary } from "./types.ts";

/** In the order of `headway plot --kind sequence`. */
export const MARKS = ["sent", "dropped", "received", "acknowledged"] as const;
export type Mark = (typeof MARKS)[number];
export type PacketMarks = Pick<Line, "times" | "values"> & { mark: Mark };

/** Of the marks in one cell of a grid of the chart, the first is kept. */
const [COLUMNS, ROWS] = [300, 100];

/**
 * Returns the marks of a flow's packets between two times in seconds. Numbers are counted from `first`, and 32-bit
 * numbers wrap. Feedback of DCCP has no marks: the trace does not have the number that it acknowledges.
 */
export function packetMarks(
  { links, flows, kinds, fates }: Packets,
  batches: Batch[],
  flow: FlowSummary,
  first: number,
  [from, to]: [number, number],
): PacketMarks[] {
  const [own, feedback, delivered] = [flows.indexOf(flow.name), kinds.indexOf("feedback"), fates.indexOf("delivered")];
  const inFlight = fates.indexOf("in_flight");
  const found = new Map<Mark, { times: number[]; values: number[] }>();
  const add = (mark: Mark, time: number, sequence: number) => {
    if (time < from || time > to) return;
    if (!found.has(mark)) found.set(mark, { times: [], values: [] });
    const { times, values } = found.get(mark)!;
    times.push(time);
    values.push((sequence - first) | 0);
  };
  for (const batch of batches) {
    for (const { link, start, end } of batch.linkRows) {
      const [leaves, enters] = [links[link].from === flow.from, links[link].to === flow.to];
      const returns = links[link].to === flow.from && !flow.kind.startsWith("dccp");
      for (let row = start; row < end; row++) {
        if (batch.flow[row] !== own) continue;
        const sequence = batch.sequence[row];
        const offered = batch.offered[row];
        const ended = offered + batch.wait[row] + batch.transmission[row] + batch.propagation[row];
        const seconds = (ticks: number) => (batch.base + ticks * batch.tick) / 1e9;
        const fate = batch.fate[row];
        if (batch.kind[row] === feedback) {
          if (returns && fate === delivered) add("acknowledged", seconds(ended), sequence);
          continue;
        }
        if (leaves) add("sent", seconds(offered), sequence);
        if (fate === delivered) {
          if (enters) add("received", seconds(ended), sequence);
        } else if (fate !== inFlight) add("dropped", seconds(ended), sequence);
      }
    }
  }
  const shown = MARKS.flatMap((mark) => (found.has(mark) ? { mark, ...found.get(mark)! } : []));
  // Spreading a long list would exceed the maximum number of arguments.
  const all = shown.flatMap(({ values }) => values);
  const low = all.reduce((least, value) => Math.min(least, value), Infinity);
  const high = all.reduce((most, value) => Math.max(most, value), -Infinity);
  return shown.map(({ mark, times, values }) => ({ mark, ...thinned(times, values, [from, to], [low, high]) }));
}

/** Keeps the first mark in each cell of the grid, in the order of time. */
function thinned(times: number[], values: number[], [from, to]: [number, number], [low, high]: [number, number]) {
  const cell = (value: number, start: number, end: number, cells: number) =>
    Math.min(cells - 1, Math.floor(((value - start) / (end - start || 1)) * cells));
  const order = times.map((_, i) => i).sort((a, b) => times[a] - times[b]);
  const used = new Set<number>();
  const kept = order.filter((i) => {
    const place = cell(times[i], from, to, COLUMNS) * ROWS + cell(values[i], low, high, ROWS);
    return !used.has(place) && used.add(place);
  });
  return { times: Float64Array.from(kept, (i) => times[i]), values: Float64Array.from(kept, (i) => values[i]) };
}
