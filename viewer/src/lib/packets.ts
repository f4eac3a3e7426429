/**
 * Reads `packets.arrow`: every packet at every link. A run may have millions, so batches of 65,536 are loaded on
 * demand, and the least recently used ones are discarded.
 */
import { column, readTable } from "./arrow.ts";
import { firstAtLeast, firstAbove } from "./search.ts";
import type { Source } from "./source.ts";

export interface PacketLink {
  name: string;
  from: string;
  to: string;
  /** Delay at the start of the run. */
  delay_ns: number;
  rate_bps: number;
}

interface IndexEntry {
  base_ns: number;
  /** Time of the last event of a packet in the batch. */
  until_ns: number;
  tick_ns: number;
  offset: number;
  length: number;
  rows: number;
}

/** Adjacent rows of one link, ascending by `offered`. */
export interface LinkRows {
  link: number;
  start: number;
  end: number;
  /** Longest duration of a hop, from `offered` to the arrival at the far end, in ticks. */
  longest: number;
}

/** A batch of packet-hops, sorted by link. Times are in ticks since `base`; `base` and `tick` are in ns. */
export interface Batch {
  base: number;
  tick: number;
  rows: number;
  offered: ArrayLike<number>;
  wait: ArrayLike<number>;
  transmission: ArrayLike<number>;
  /** Time from the end of the transmission. */
  propagation: ArrayLike<number>;
  flow: ArrayLike<number>;
  kind: ArrayLike<number>;
  fate: ArrayLike<number>;
  bytes: ArrayLike<number>;
  sequence: ArrayLike<number>;
  mark: ArrayLike<number>;
  /** Deadline in ms after `offered`, or null. */
  deadline: ArrayLike<number | null>;
  linkRows: LinkRows[];
  /** Kinds of the packets in the batch. */
  kinds: Set<number>;
}

/** Row of a batch: a packet at one link. */
export interface Hop {
  batch: Batch;
  row: number;
}

/** Number of batches in memory, about 100 MB. */
const MAX_BATCHES = 48;

export class Packets {
  private readonly batches = new Map<number, Batch>();
  private readonly loading = new Map<number, Promise<Batch>>();
  /** Kinds of packets in the batches that were loaded so far. */
  readonly seen = new Set<number>();
  /** Called when a batch was loaded or could not be read. */
  onload: () => void = () => {};
  failure: Error | null = null;
  constructor(
    readonly links: PacketLink[],
    readonly flows: string[],
    readonly kinds: string[],
    readonly fates: string[],
    private readonly index: IndexEntry[],
    private readonly load: (entry: IndexEntry) => Promise<Batch>,
  ) {}

  get rows(): number {
    return this.index.reduce((sum, entry) => sum + entry.rows, 0);
  }

  /** Returns the batches with hops between two times (ns). Fetches those that are missing, and the batch after them. */
  between(from: number, to: number): { batches: Batch[]; missing: boolean } {
    const batches: Batch[] = [];
    let missing = false;
    let last = -1;
    for (let i = 0; i < this.index.length; i++) {
      // The index is not sorted: packets with a long delay are in later batches.
      if (this.index[i].until_ns < from || this.index[i].base_ns > to) continue;
      last = i;
      const batch = this.batches.get(i);
      if (batch) {
        // Move the batch to the end of the Map: the first entry is the least recently used one.
        this.batches.delete(i);
        this.batches.set(i, batch);
        batches.push(batch);
      } else {
        missing = true;
        void this.fetch(i);
      }
    }
    if (last + 1 < this.index.length && last >= 0 && !this.batches.has(last + 1)) void this.fetch(last + 1);
    return { batches, missing };
  }

  /** Returns all batches with hops between two times (ns), or null if they have more than `most` hops. */
  async allBetween(from: number, to: number, most: number): Promise<Batch[] | null> {
    const found = [...this.index.keys()].filter((i) => this.index[i].until_ns >= from && this.index[i].base_ns <= to);
    if (found.reduce((sum, i) => sum + this.index[i].rows, 0) > most) return null;
    return Promise.all(found.map((i) => this.batches.get(i) ?? this.fetch(i)));
  }

  /** Returns the first packet of a flow, or of any flow, that is offered at or after `from` (ns), and when. */
  async nextAfter(from: number, flow: string | null = null): Promise<(Hop & { at: number }) | null> {
    const wanted = flow === null ? null : this.flows.indexOf(flow);
    let next: (Hop & { at: number }) | null = null;
    for (let i = 0; i < this.index.length; i++) {
      const entry = this.index[i];
      if (entry.until_ns < from || (next !== null && entry.base_ns >= next.at)) continue;
      const batch = this.batches.get(i) ?? (await this.fetch(i));
      for (const { start, end } of batch.linkRows) {
        let row = firstAtLeast(batch.offered, (from - batch.base) / batch.tick, end, start);
        while (wanted !== null && row < end && batch.flow[row] !== wanted) row++;
        if (row === end) continue;
        const offered = batch.base + batch.offered[row] * batch.tick;
        if (next === null || offered < next.at) next = { at: offered, batch, row };
      }
    }
    return next;
  }

  private fetch(i: number): Promise<Batch> {
    let loading = this.loading.get(i);
    if (!loading) {
      loading = this.load(this.index[i]);
      this.loading.set(i, loading);
      loading.then(
        (batch) => {
          this.batches.set(i, batch);
          for (const kind of batch.kinds) this.seen.add(kind);
          if (this.batches.size > MAX_BATCHES) this.batches.delete(this.batches.keys().next().value!);
          this.loading.delete(i);
          this.onload();
        },
        (error: Error) => {
          // Keep the entry in `loading`, so that a missing file is not requested at every frame.
          this.failure = error;
          this.onload();
        },
      );
    }
    return loading;
  }
}

/** Returns the rows that are offered between two times (ns, both included), as a half-open range. */
export function rowsBetween(batch: Batch, { start, end }: LinkRows, from: number, to: number): [number, number] {
  return [
    firstAtLeast(batch.offered, (from - batch.base) / batch.tick, end, start),
    firstAbove(batch.offered, (to - batch.base) / batch.tick, end, start),
  ];
}

interface Index {
  /** Position of the schema message. The schema followed by a batch is a readable stream. */
  schema: { offset: number; length: number };
  batches: IndexEntry[];
}

export async function openPackets(source: Source, id: string): Promise<Packets> {
  const index: Index = JSON.parse(new TextDecoder().decode(await source.file(id, "packets.index.json")));
  const schema = await source.range(id, "packets.arrow", index.schema.offset, index.schema.length);
  const metadata = readTable(schema).schema.metadata ?? new Map<string, string>();
  const list = (key: string) => JSON.parse(metadata.get(key) ?? "[]");
  const links: PacketLink[] = list("links");
  const load = async (entry: IndexEntry) => {
    const bytes = await source.range(id, "packets.arrow", entry.offset, entry.length);
    return readBatch([schema, bytes], entry, links);
  };
  return new Packets(links, list("flows"), list("kinds"), list("fates"), index.batches, load);
}

function readBatch(messages: Uint8Array[], { base_ns: base, tick_ns: tick }: IndexEntry, links: PacketLink[]): Batch {
  const table = readTable(messages);
  const plain = (name: string) => column(table, name).toArray() as ArrayLike<number>;
  const batch: Batch = {
    base,
    tick,
    rows: table.numRows,
    offered: plain("offered"),
    wait: plain("wait"),
    transmission: plain("transmission"),
    propagation: plain("propagation"),
    flow: plain("flow"),
    kind: plain("kind"),
    fate: plain("fate"),
    bytes: plain("bytes"),
    sequence: plain("sequence"),
    mark: plain("mark"),
    deadline: column(table, "deadline").toArray() as ArrayLike<number | null>,
    linkRows: [],
    kinds: new Set(),
  };
  const link = plain("link");
  let rows: LinkRows | undefined;
  for (let i = 0; i < batch.rows; i++) {
    if (rows?.link !== link[i] || batch.offered[i] < batch.offered[i - 1]) {
      if (link[i] >= links.length) throw new Error("a packet refers to an unknown link");
      rows = { link: link[i], start: i, end: i, longest: 0 };
      batch.linkRows.push(rows);
    }
    rows.end = i + 1;
    const duration = batch.wait[i] + batch.transmission[i] + batch.propagation[i];
    if (duration > rows.longest) rows.longest = duration;
    if (!batch.kinds.has(batch.kind[i])) batch.kinds.add(batch.kind[i]);
  }
  return batch;
}
