/** Reads `events.arrow`: drops, timeouts, discarded packets and late packets. */
import { numbers, readTable, words, type Words } from "./arrow.ts";

export interface Events {
  /** Times in seconds, ascending. */
  time: Float64Array;
  event: Words;
  /** The link of a drop; the flow of any other event. */
  entity: Words;
  flow: Words;
  kind: Words;
  cause: Words;
  sequence: Float64Array;
  bytes: Float64Array;
  /** Lateness in seconds; for a discarded packet, that of its expected arrival. */
  late: Float64Array;
  /** Number of events that the record omits. */
  leftOut: number;
}

export function readEvents(bytes: Uint8Array): Events {
  const table = readTable(bytes);
  return {
    time: numbers(table, "time_ns").map((ns) => ns / 1e9),
    event: words(table, "event"),
    entity: words(table, "entity"),
    flow: words(table, "flow"),
    kind: words(table, "kind"),
    cause: words(table, "cause"),
    sequence: numbers(table, "sequence"),
    bytes: numbers(table, "bytes"),
    late: numbers(table, "late_ns").map((ns) => ns / 1e9),
    leftOut: sum(JSON.parse(table.schema.metadata?.get("left_out") ?? "{}")),
  };
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);

/** Returns the string of a row, or null. */
export const word = (words: Words, row: number): string | null =>
  words.codes[row] < 0 ? null : words.names[words.codes[row]];

/** Returns the rows whose event is one of `names`, in the order of time. */
export function rowsOf(events: Events, ...names: string[]): number[] {
  const codes = new Set(names.map((name) => events.event.names.indexOf(name)));
  const rows: number[] = [];
  for (let row = 0; row < events.time.length; row++) if (codes.has(events.event.codes[row])) rows.push(row);
  return rows;
}
