/** Writes the Arrow files of a record from arrays, in the format of `headway`. */
import {
  columnFromArray,
  dictionary,
  float64,
  int32,
  int64,
  Table,
  tableFromColumns,
  tableToIPC,
  uint16,
  uint32,
  uint64,
  uint8,
  utf8,
} from "@uwdata/flechette";
import type { DataType } from "@uwdata/flechette";

export type Sample = [time_s: number, entity: string, metric: string, value: number];

const word = () => dictionary(utf8(), int32());
const ns = (seconds: number) => BigInt(Math.round(seconds * 1e9));

function file(
  columns: Record<string, [unknown[], DataType]>,
  metadata: Record<string, string> = {},
  format: "file" | "stream" = "file",
): Uint8Array {
  const made = Object.entries(columns).map(([name, [values, type]]) => [name, columnFromArray(values as never, type)]);
  const table = tableFromColumns(Object.fromEntries(made));
  const schema = { ...table.schema, metadata: new Map(Object.entries(metadata)) };
  return tableToIPC(new Table(schema, table.children), { format })!;
}

/** The server sends a stream for a file that is still being written. */
export function seriesFile(samples: Sample[], format: "file" | "stream" = "file"): Uint8Array {
  const columns: Parameters<typeof file>[0] = {
    time_ns: [samples.map(([time]) => ns(time)), uint64()],
    entity: [samples.map(([, entity]) => entity), word()],
    metric: [samples.map(([, , metric]) => metric), word()],
    value: [samples.map(([, , , value]) => value), float64()],
  };
  return file(columns, {}, format);
}

export interface EventRow {
  time_s: number;
  event: string;
  entity: string;
  flow?: string;
  kind?: string;
  cause?: string;
  sequence?: number;
  bytes?: number;
  late_s?: number;
}

export function eventsFile(rows: EventRow[], leftOut: Record<string, number> = {}): Uint8Array {
  const columns: Parameters<typeof file>[0] = {
    time_ns: [rows.map((row) => ns(row.time_s)), int64()],
    event: [rows.map((row) => row.event), word()],
    entity: [rows.map((row) => row.entity), word()],
    flow: [rows.map((row) => row.flow ?? null), word()],
    kind: [rows.map((row) => row.kind ?? null), word()],
    cause: [rows.map((row) => row.cause ?? null), word()],
    sequence: [rows.map((row) => (row.sequence === undefined ? null : BigInt(row.sequence))), uint64()],
    bytes: [rows.map((row) => row.bytes ?? null), uint32()],
    late_ns: [rows.map((row) => (row.late_s === undefined ? null : ns(row.late_s))), int64()],
  };
  return file(columns, { left_out: JSON.stringify(leftOut) });
}

/** A packet at a link, times in ns. */
export interface Hop {
  offered: number;
  wait: number;
  transmission: number;
  propagation: number;
  link: number;
  flow: number;
  kind: number;
  fate: number;
  bytes: number;
  sequence: number;
  queue: number;
  mark: number;
  deadline: number | null;
}

export interface PacketsMeta {
  links: { name: string; from: string; to: string; delay_ns: number; rate_bps: number }[];
  flows: string[];
  kinds: string[];
  fates: string[];
}

export const BATCH = 65_536;

/** Returns the contents of `packets.arrow` and `packets.index.json`. */
export function packetsFile(hops: Hop[], meta: PacketsMeta): { arrow: Uint8Array; index: string } {
  const metadata = new Map([
    ["headway.packets", "2"],
    ...Object.entries(meta).map(([key, value]): [string, string] => [key, JSON.stringify(value)]),
  ]);
  const parts: Uint8Array[] = [new TextEncoder().encode("ARROW1\0\0")];
  const batches: object[] = [];
  const place = { offset: 8, length: 0 };
  let offset = 8;
  for (let first = 0; first < hops.length; first += BATCH) {
    const rows = hops.slice(first, first + BATCH);
    const base = rows[0].offered;
    // Rows of a batch are sorted by link.
    rows.sort((a, b) => a.link - b.link || a.offered - b.offered);
    const numbers = (name: keyof Hop, type: DataType) => columnFromArray(rows.map((row) => row[name]) as never, type);
    const table = tableFromColumns({
      offered: columnFromArray(rows.map((row) => row.offered - base) as never, uint32()),
      wait: numbers("wait", uint32()),
      transmission: numbers("transmission", uint32()),
      propagation: numbers("propagation", uint32()),
      link: numbers("link", uint16()),
      flow: numbers("flow", uint16()),
      kind: numbers("kind", uint8()),
      fate: numbers("fate", uint8()),
      bytes: numbers("bytes", uint16()),
      sequence: numbers("sequence", uint32()),
      queue: numbers("queue", uint16()),
      mark: numbers("mark", uint8()),
      deadline: numbers("deadline", int32()),
    });
    const stream = tableToIPC(new Table({ ...table.schema, metadata }, table.children), { format: "stream" })!;
    const [schema, batch] = messages(stream);
    if (first === 0) {
      parts.push(schema);
      place.length = schema.length;
      offset += schema.length;
    }
    parts.push(batch);
    const until = Math.max(...rows.map((row) => row.offered + row.wait + row.transmission + row.propagation));
    batches.push({ base_ns: base, until_ns: until, tick_ns: 1, offset, length: batch.length, rows: rows.length });
    offset += batch.length;
  }
  const arrow = new Uint8Array(offset);
  let at = 0;
  for (const part of parts) {
    arrow.set(part, at);
    at += part.length;
  }
  return { arrow, index: JSON.stringify({ version: 2, rows: hops.length, schema: place, batches }) };
}

/**
 * Splits an Arrow stream into messages. Each has a marker, the length of the metadata, the metadata, and a body
 * whose length is the fourth field of the metadata (Message.fbs).
 */
function messages(stream: Uint8Array): Uint8Array[] {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const found: Uint8Array[] = [];
  for (let at = 0; at + 8 <= stream.length;) {
    const length = view.getInt32(at + 4, true);
    if (length === 0) break;
    const table = at + 8 + view.getInt32(at + 8, true);
    const vtable = table - view.getInt32(table, true);
    const field = view.getUint16(vtable, true) > 10 ? view.getUint16(vtable + 10, true) : 0;
    const body = field === 0 ? 0 : Number(view.getBigInt64(table + field, true));
    found.push(stream.subarray(at, at + 8 + length + body));
    at += 8 + length + body;
  }
  return found;
}
