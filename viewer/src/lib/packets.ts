/**
 * `packets.arrow`: every packet at every link. A run may have millions, so batches of 65,536 are read as the animation
 * comes to them, and the oldest are forgotten.
 */
import { column, readTable } from "./arrow.ts";
import { firstAtLeast, firstAbove } from "./search.ts";
import type { Source } from "./source.ts";

export interface PacketLink {
  name: string;
  from: string;
  to: string;
  /** The first one, where it changes. */
  delay_ns: number;
  rate_bps: number;
}

interface IndexEntry {
  base_ns: number;
  /** The last thing that happens to one of its packets. */
  until_ns: number;
  tick_ns: number;
  offset: number;
  length: number;
  rows: number;
}

/** Rows of one link that are neighbours, ascending by `offered`. */
export interface Stretch {
  link: number;
  start: number;
  end: number;
  /** The longest that one of its hops takes, from offered to the far end, in ticks. */
  longest: number;
}

/** One batch of packet-hops, link by link. Times are in ticks since `base`; instants and `tick` are in ns. */
export interface Batch {
  base: number;
  tick: number;
  rows: number;
  offered: ArrayLike<number>;
  wait: ArrayLike<number>;
  transmission: ArrayLike<number>;
  /** From the end of the transmission on. */
  propagation: ArrayLike<number>;
  flow: ArrayLike<number>;
  kind: ArrayLike<number>;
  fate: ArrayLike<number>;
  bytes: ArrayLike<number>;
  sequence: ArrayLike<number>;
  mark: ArrayLike<number>;
  /** In ms from `offered` on, null where there is none. */
  deadline: ArrayLike<number | null>;
  stretches: Stretch[];
  /** Those of its hops. */
  kinds: Set<number>;
}

/** 48 batches are about 100 MB. */
const KEPT = 48;

export class Packets {
  private readonly batches = new Map<number, Batch>();
  private readonly loading = new Map<number, Promise<Batch>>();
  /** The kinds of packets that have come so far. */
  readonly seen = new Set<number>();
  /** Told when a batch has come. */
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

  /** The batches that have hops between two instants (ns). Those that are not here yet are fetched, and the one behind them. */
  between(from: number, to: number): { batches: Batch[]; missing: boolean } {
    const batches: Batch[] = [];
    let missing = false;
    let last = -1;
    for (let i = 0; i < this.index.length; i++) {
      // Those of packets that were long on their way come late: the index does not ascend.
      if (this.index[i].until_ns < from || this.index[i].base_ns > to) continue;
      last = i;
      const batch = this.batches.get(i);
      if (batch) {
        // What is used last is forgotten last.
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

  /** The instant of the first packet that is offered at or after `from` (ns). */
  async nextAfter(from: number): Promise<number | null> {
    let next: number | null = null;
    for (let i = 0; i < this.index.length; i++) {
      const entry = this.index[i];
      if (entry.until_ns < from || (next !== null && entry.base_ns >= next)) continue;
      const batch = this.batches.get(i) ?? (await this.fetch(i));
      for (const { start, end } of batch.stretches) {
        const row = firstAtLeast(batch.offered, (from - batch.base) / batch.tick, end, start);
        if (row === end) continue;
        const offered = batch.base + batch.offered[row] * batch.tick;
        if (next === null || offered < next) next = offered;
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
          if (this.batches.size > KEPT) this.batches.delete(this.batches.keys().next().value!);
          this.loading.delete(i);
          this.onload();
        },
        (error: Error) => {
          // It stays in `loading`, so that a file that is gone is not asked for at every frame.
          this.failure = error;
          this.onload();
        },
      );
    }
    return loading;
  }
}

/** The rows of a stretch that are offered between two instants (ns, both included), as a half-open range. */
export function rowsBetween(batch: Batch, { start, end }: Stretch, from: number, to: number): [number, number] {
  return [
    firstAtLeast(batch.offered, (from - batch.base) / batch.tick, end, start),
    firstAbove(batch.offered, (to - batch.base) / batch.tick, end, start),
  ];
}

interface Index {
  /** Where the schema's message lies. With it before it, a batch is a stream that can be read. */
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
    stretches: [],
    kinds: new Set(),
  };
  const link = plain("link");
  let stretch: Stretch | undefined;
  for (let i = 0; i < batch.rows; i++) {
    if (stretch?.link !== link[i] || batch.offered[i] < batch.offered[i - 1]) {
      if (link[i] >= links.length) throw new Error("a packet is at a link that has no name");
      stretch = { link: link[i], start: i, end: i, longest: 0 };
      batch.stretches.push(stretch);
    }
    stretch.end = i + 1;
    const takes = batch.wait[i] + batch.transmission[i] + batch.propagation[i];
    if (takes > stretch.longest) stretch.longest = takes;
    if (!batch.kinds.has(batch.kind[i])) batch.kinds.add(batch.kind[i]);
  }
  return batch;
}
