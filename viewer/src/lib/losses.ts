/** Counts the lost data packets by cause over time, from the drops in `events.arrow`. */
import { rowsOf, word, type Events } from "./events.ts";
import type { Line } from "./series.ts";

export type Losses = Pick<Line, "times" | "values"> & { cause: string };

/**
 * Returns a line for each cause with the number of packets of a flow, or of all flows, that were lost since the start of
 * the run. The lines begin at 0 and end at `end`, or with the last drop if the record omits events. Drops on the reverse
 * path are not counted, as in `lost_packets`.
 */
export function lossesByCause(events: Events, flow: string | null, end: number): Losses[] {
  const found = new Map<string, number[]>();
  for (const row of rowsOf(events, "drop")) {
    if (word(events.kind, row) === "feedback") continue;
    if (flow !== null && word(events.flow, row) !== flow) continue;
    const cause = word(events.cause, row) ?? "";
    if (!found.has(cause)) found.set(cause, [0]);
    found.get(cause)!.push(events.time[row]);
  }
  return [...found.keys()].sort().map((cause) => {
    const times = found.get(cause)!;
    const last = times.length - 1;
    if (events.leftOut === 0) times.push(Math.max(end, times[last]));
    return { cause, times: Float64Array.from(times), values: Float64Array.from(times, (_, i) => Math.min(i, last)) };
  });
}
